//===- DimClasses.cpp - dims that belong together ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DimClasses.h"

#include "llvm/ADT/STLExtras.h"

#include <utility>

using namespace commute::equivalence;

DimClasses::Id DimClasses::add(int64_t size, bool isFixed) {
  Id id = nodes.size();
  // There is nothing to make smaller about one element.
  nodes.push_back({size, size, isFixed || size < 2, id, {}, {}});
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

DimClasses::Id DimClasses::addSum(llvm::ArrayRef<Id> summands) {
  if (summands.size() == 1)
    return summands.front();
  int64_t size = 0;
  for (Id summand : summands)
    size += getSize(summand);
  Id id = add(size);
  nodes[id].summands.assign(summands.begin(), summands.end());
  return id;
}

bool DimClasses::isLoose(Id id) {
  const Node &node = nodes[find(id)];
  return !node.isShared && !node.isFixed && node.factors.empty() &&
         node.summands.empty();
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
  for (Id atom : getAtoms(id)) {
    if (std::exchange(nodes[atom].isFixed, true))
      continue;
    for (size_t index = 0; index < nodes[atom].summands.size(); ++index)
      fix(nodes[atom].summands[index]);
  }
}

bool DimClasses::contains(Id whole, Id part) {
  llvm::SmallVector<Id> pending = {find(whole)};
  while (!pending.empty()) {
    Id next = pending.pop_back_val();
    if (next == part)
      return true;
    for (Id factor : nodes[next].factors)
      pending.push_back(find(factor));
    for (Id summand : nodes[next].summands)
      pending.push_back(find(summand));
  }
  return false;
}

void DimClasses::unite(Id a, Id b) {
  a = find(a);
  b = find(b);
  if (a == b)
    return;
  nodes[a].isShared = nodes[b].isShared = true;
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
  bool aIsSum = isSum(a), bIsSum = isSum(b);
  bool aIsAtom = nodes[a].factors.empty() && !aIsSum;
  bool bIsAtom = nodes[b].factors.empty() && !bIsSum;
  if (aIsSum && bIsSum) {
    llvm::SmallVector<Id, 0> aSummands(nodes[a].summands);
    llvm::SmallVector<Id, 0> bSummands(nodes[b].summands);
    if (!llvm::equal(aSummands, bSummands,
                     [&](Id x, Id y) { return getSize(x) == getSize(y); })) {
      fix(a);
      fix(b);
      return;
    }
    bool isFixed = nodes[a].isFixed || nodes[b].isFixed;
    nodes[b].parent = a;
    for (auto [x, y] : llvm::zip_equal(aSummands, bSummands))
      unite(x, y);
    if (isFixed)
      fix(a);
    return;
  }
  // A product and a sum of one size have nothing to do with each other.
  if ((aIsSum && !bIsAtom) || (bIsSum && !aIsAtom)) {
    fix(a);
    fix(b);
    return;
  }
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
    } else if (bSize != 0 && aSize % bSize == 0 && !isSum(a[i])) {
      a[i] = divide(a[i], b[j++]);
    } else if (aSize != 0 && bSize % aSize == 0 && !isSum(b[j])) {
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
  for (Id atom : getAtoms(id)) {
    if (nodes[atom].isFixed) {
      size *= nodes[atom].size;
    } else if (nodes[atom].summands.empty()) {
      size *= nodes[atom].newSize;
    } else {
      int64_t sum = 0;
      for (Id summand : nodes[atom].summands)
        sum += getNewSize(summand);
      size *= sum;
    }
  }
  return size;
}

std::vector<DimClasses::Id> DimClasses::getFreeAtoms() {
  std::vector<Id> atoms;
  for (Id id = 0; id < nodes.size(); ++id)
    if (find(id) == id && nodes[id].factors.empty() && isFree(id))
      atoms.push_back(id);
  return atoms;
}
