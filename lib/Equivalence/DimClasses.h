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
/// be the product of others, from major to minor, or their sum, from first to
/// last: a merged dim and its factors, and the pieces that slices cut, are told
/// apart only where something needs it.
class DimClasses {
public:
  using Id = unsigned;

  /// An extent of its own.
  Id add(int64_t size, bool isFixed = false);
  /// An extent that is the product of these.
  Id addProduct(llvm::ArrayRef<Id> factors);
  /// An extent that is the sum of these.
  Id addSum(llvm::ArrayRef<Id> summands);
  /// Makes two extents one. Where their factors or summands do not fit each
  /// other, both keep their sizes.
  void unite(Id a, Id b);
  /// An extent that keeps its size, with all that it is made of.
  void fix(Id id);
  bool areUnited(Id a, Id b) { return find(a) == find(b); }
  /// Whether nothing else is known of an extent: neither what it is made of,
  /// nor that it is another.
  bool isLoose(Id id);
  bool isSum(Id id) { return !nodes[find(id)].summands.empty(); }
  bool isProduct(Id id) { return !nodes[find(id)].factors.empty(); }

  /// The extents that one is the product of, from major to minor.
  llvm::SmallVector<Id> getAtoms(Id id);
  /// Whether an atom has its size of its own, free to be chosen.
  bool isFree(Id atom) {
    const Node &node = nodes[find(atom)];
    return !node.isFixed && node.summands.empty();
  }
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
    llvm::SmallVector<Id, 0> summands;
    bool isShared = false;
  };

  Id find(Id id);
  /// Makes an atom the product of `major` and a new extent, which is returned.
  Id divide(Id atom, Id major);
  /// Whether a class is another or a part of it, at any depth.
  bool contains(Id whole, Id part);
  void unitePairwise(llvm::SmallVector<Id> a, llvm::SmallVector<Id> b);

  std::vector<Node> nodes;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H
