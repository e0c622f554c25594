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
  // A dim with one element cannot be made smaller.
  nodes.push_back({size, isFixed || size < 2, id, {}});
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
  // One is the other times dims of size 1. Ignore this, because a class cannot
  // be a part of itself.
  if (contains(a, b) || contains(b, a)) {
    fix(a);
    fix(b);
    return;
  }
  bool aIsAtom = isAtom(a), bIsAtom = isAtom(b);
  if (!aIsAtom && !bIsAtom) {
    llvm::SmallVector<Id> aAtoms = getAtoms(a);
    llvm::SmallVector<Id> bAtoms = getAtoms(b);
    nodes[b].parent = a;
    unitePairwise(std::move(aAtoms), std::move(bAtoms));
    return;
  }
  // The extent whose factors are known represents both.
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
    // Earlier steps may have united or divided an extent that was an atom.
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
      // There are no common factors, so neither may change.
      for (; i < a.size(); ++i)
        fix(a[i]);
      for (; j < b.size(); ++j)
        fix(b[j]);
      return;
    }
  }
}

std::optional<DimClasses::Part>
DimClasses::alignPart(Id whole, Id part, int64_t start, int64_t step) {
  auto fail = [&] {
    fix(whole);
    fix(part);
    return std::nullopt;
  };
  Id originalPart = part;
  // For every step-th index: one index of the minor factor, which is evaluated
  // whole.
  if (step > 1) {
    int64_t size = getSize(whole);
    if (size % step != 0)
      return fail();
    llvm::SmallVector<Id> atoms = getAtoms(whole);
    if (atoms.size() == 2 && getSize(atoms[1]) == step) {
      fix(atoms[1]);
      whole = atoms[0];
    } else {
      Id major = add(size / step);
      unite(whole, addProduct({major, add(step, /*isFixed=*/true)}));
      if (isAtom(whole))
        return fail();
      whole = major;
    }
    start /= step;
  }
  llvm::SmallVector<Id> ofWhole = getAtoms(whole), ofPart = getAtoms(part);
  auto dropSingles = [&](llvm::SmallVector<Id> &atoms) {
    llvm::erase_if(atoms, [&](Id atom) { return getSize(atom) == 1; });
  };
  while (true) {
    dropSingles(ofWhole);
    dropSingles(ofPart);
    if (ofWhole.empty())
      return fail();
    if (ofPart.empty() && getSize(originalPart) > 1)
      return Part{whole, originalPart, start, /*isOneBlock=*/true};
    // A part with a single index has no factors to compare.
    if (ofPart.empty())
      ofPart.push_back(originalPart);
    if (ofWhole.size() == 1 && ofPart.size() == 1)
      return Part{ofWhole[0], ofPart[0], start};
    Id w = ofWhole.back(), p = ofPart.back();
    int64_t wSize = getSize(w), pSize = getSize(p);
    // The minor factor of both, or a minor factor of the larger one.
    int64_t minor = ofWhole.size() == 1  ? pSize
                    : ofPart.size() == 1 ? wSize
                                         : std::min(wSize, pSize);
    if (minor == 0 || wSize % minor != 0 || pSize % minor != 0 ||
        start % minor != 0)
      return fail();
    auto splitOff = [&](llvm::SmallVector<Id> &atoms) {
      Id atom = atoms.pop_back_val();
      if (getSize(atom) == minor)
        return atom;
      Id major = add(getSize(atom) / minor);
      Id rest = divide(atom, major);
      atoms.push_back(find(major));
      return rest;
    };
    Id wMinor = splitOff(ofWhole), pMinor = splitOff(ofPart);
    unite(wMinor, pMinor);
    start /= minor;
    // Earlier steps may have divided an extent that was an atom.
    auto refresh = [&](llvm::SmallVector<Id> &atoms) {
      llvm::SmallVector<Id> next;
      for (Id atom : atoms)
        llvm::append_range(next, getAtoms(atom));
      atoms = std::move(next);
    };
    refresh(ofWhole);
    refresh(ofPart);
  }
}
