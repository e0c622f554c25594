//===- DimClasses.h - dims that belong together -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H
#define COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <vector>

namespace commute::equivalence {

/// Extents that must stay equal, as a union-find forest in which an extent may
/// be the product of others, from major to minor: a merged dim and its factors
/// are told apart only where something needs it.
class DimClasses {
public:
  using Id = unsigned;

  /// An extent of its own.
  Id add(int64_t size, bool isFixed = false);
  /// An extent that is the product of these.
  Id addProduct(llvm::ArrayRef<Id> factors);
  /// Makes two extents one. Where their factors do not fit each other, both
  /// keep their sizes.
  void unite(Id a, Id b);

  /// The indivisible extents of one, from major to minor.
  llvm::SmallVector<Id> getAtoms(Id id);
  bool isFixed(Id atom) { return nodes[find(atom)].isFixed; }
  int64_t getSize(Id id) { return nodes[find(id)].size; }

  int64_t getNewSize(Id id);
  void setNewSize(Id atom, int64_t size) { nodes[find(atom)].newSize = size; }
  /// All atoms that may get another size.
  std::vector<Id> getFreeAtoms();

private:
  struct Node {
    int64_t size;
    int64_t newSize;
    bool isFixed;
    Id parent;
    llvm::SmallVector<Id, 0> factors;
  };

  Id find(Id id);
  void fix(Id id);
  /// Makes an atom the product of `major` and a new extent, which is returned.
  Id divide(Id atom, Id major);
  /// Whether a class is another or one of its factors, at any depth.
  bool contains(Id whole, Id part);
  void unitePairwise(llvm::SmallVector<Id> a, llvm::SmallVector<Id> b);

  std::vector<Node> nodes;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H
