//===- DimClasses.cpp - dims that belong together ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"

using namespace commute::equivalence;

DimClasses::Id DimClasses::add(int64_t size, bool isFixed) {
  Id id = nodes.size();
  // There is nothing to make smaller about one element.
  nodes.push_back({size, size, isFixed || size < 2, id, {}});
  return id;
}

DimClasses::Id DimClasses::addProduct(llvm::ArrayRef<Id> factors) {
  if (factors.size() == 1)
    return factors.front();
  int64_t size = 1;
  for (Id factor : factors)
    size *= getSize(factor);
  Id id = add(size);
  nodes[id].isFixed = false;
  nodes[id].factors.assign(factors.begin(), factors.end());
  return id;
}

DimClasses::Id DimClasses::find(Id id) {
  while (nodes[id].parent != id) {
    nodes[id].parent = nodes[nodes[id].parent].parent;
    id = nodes[id].parent;
  }
  return id;
}

llvm::SmallVector<DimClasses::Id> DimClasses::getAtoms(Id id) {
  llvm::SmallVector<Id> atoms;
  llvm::SmallVector<Id> pending = {find(id)};
  while (!pending.empty()) {
    Id next = pending.pop_back_val();
    if (nodes[next].factors.empty()) {
      atoms.push_back(next);
      continue;
    }
    for (size_t index = nodes[next].factors.size(); index-- > 0;)
      pending.push_back(find(nodes[next].factors[index]));
  }
  return atoms;
}

void DimClasses::fix(Id id) {
  for (Id atom : getAtoms(id))
    nodes[atom].isFixed = true;
}

bool DimClasses::contains(Id whole, Id part) {
  llvm::SmallVector<Id> pending = {find(whole)};
  while (!pending.empty()) {
    Id next = pending.pop_back_val();
    if (next == part)
      return true;
    for (Id factor : nodes[next].factors)
      pending.push_back(find(factor));
  }
  return false;
}

void DimClasses::unite(Id a, Id b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  if (nodes[a].size != nodes[b].size) {
    fix(a);
    fix(b);
    return;
  }
  // One is the other times dims of size 1: a class cannot be a part of itself.
  if (contains(a, b) || contains(b, a)) {
    fix(a);
    fix(b);
    return;
  }
  bool aIsAtom = nodes[a].factors.empty();
  bool bIsAtom = nodes[b].factors.empty();
  if (!aIsAtom && !bIsAtom) {
    llvm::SmallVector<Id> aAtoms = getAtoms(a);
    llvm::SmallVector<Id> bAtoms = getAtoms(b);
    nodes[b].parent = a;
    unitePairwise(std::move(aAtoms), std::move(bAtoms));
    return;
  }
  // The one that is known in more detail stands for both.
  if (aIsAtom && !bIsAtom)
    std::swap(a, b);
  bool isFixed = nodes[b].isFixed;
  nodes[b].parent = a;
  if (isFixed)
    fix(a);
}

DimClasses::Id DimClasses::divide(Id atom, Id major) {
  bool isFixed = nodes[atom].isFixed;
  if (isFixed)
    fix(major);
  Id rest = add(nodes[atom].size / getSize(major), isFixed);
  nodes[atom].factors = {major, rest};
  return rest;
}

void DimClasses::unitePairwise(llvm::SmallVector<Id> a,
                               llvm::SmallVector<Id> b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    // Earlier steps may have joined or divided what was an atom.
    auto refresh = [&](llvm::SmallVector<Id> &list, size_t index) {
      llvm::SmallVector<Id> atoms = getAtoms(list[index]);
      list.erase(list.begin() + index);
      list.insert(list.begin() + index, atoms.begin(), atoms.end());
    };
    refresh(a, i);
    refresh(b, j);
    int64_t aSize = getSize(a[i]);
    int64_t bSize = getSize(b[j]);
    if (aSize == 1) {
      ++i;
    } else if (bSize == 1) {
      ++j;
    } else if (a[i] == b[j]) {
      ++i;
      ++j;
    } else if (aSize == bSize) {
      unite(a[i++], b[j++]);
    } else if (bSize != 0 && aSize % bSize == 0) {
      a[i] = divide(a[i], b[j++]);
    } else if (aSize != 0 && bSize % aSize == 0) {
      b[j] = divide(b[j], a[i++]);
    } else {
      // No common factors: nothing of either may change.
      for (; i < a.size(); ++i)
        fix(a[i]);
      for (; j < b.size(); ++j)
        fix(b[j]);
      return;
    }
  }
}

int64_t DimClasses::getNewSize(Id id) {
  int64_t size = 1;
  for (Id atom : getAtoms(id))
    size *= nodes[atom].isFixed ? nodes[atom].size : nodes[atom].newSize;
  return size;
}

std::vector<DimClasses::Id> DimClasses::getFreeAtoms() {
  std::vector<Id> atoms;
  for (Id id = 0; id < nodes.size(); ++id)
    if (find(id) == id && nodes[id].factors.empty() && !nodes[id].isFixed)
      atoms.push_back(id);
  return atoms;
}
