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
#include <optional>
#include <vector>

namespace commute::equivalence {

/// Dims whose indices correspond, as a union-find forest in which an extent may
/// be the product of others, from major to minor: a merged dim and its factors.
/// An extent that is not a product is an atom. A fixed atom is evaluated at all
/// its indices.
class DimClasses {
public:
  using Id = unsigned;

  /// An extent of its own.
  Id add(int64_t size, bool isFixed = false);
  /// Makes an extent the product of these.
  Id addProduct(llvm::ArrayRef<Id> factors);
  /// Unites two extents. If their factors do not match, fixes both.
  void unite(Id a, Id b);
  /// Fixes all atoms of an extent.
  void fix(Id id);
  bool areUnited(Id a, Id b) { return find(a) == find(b); }
  /// Returns the representative of all extents united with this one.
  Id find(Id id);

  /// Corresponding atoms of `whole` and `part`, with the index in the former at
  /// which the latter starts. If `isOneBlock`, the part is all of the minor
  /// factors of the whole at one index of the others, and no atoms are left to
  /// correspond.
  struct Part {
    Id whole;
    Id part;
    int64_t start;
    bool isOneBlock = false;
  };
  /// States that index i of `part` is index `start + i * step` of `whole`.
  /// Divides both into factors that are the same in both except for one, and
  /// returns that one. If that is impossible, fixes both and returns nullopt.
  std::optional<Part> alignPart(Id whole, Id part, int64_t start, int64_t step);

  /// Returns the extents whose product this one is, from major to minor.
  llvm::SmallVector<Id> getAtoms(Id id);
  bool isAtom(Id id) { return nodes[find(id)].factors.empty(); }
  bool isFixed(Id atom) { return nodes[find(atom)].isFixed; }
  int64_t getSize(Id id) { return nodes[find(id)].size; }
  /// Returns the number of ids.
  size_t getCount() const { return nodes.size(); }

private:
  struct Node {
    int64_t size;
    bool isFixed;
    Id parent;
    llvm::SmallVector<Id, 0> factors;
  };

  /// Makes an atom the product of `major` and a new extent, which is returned.
  Id divide(Id atom, Id major);
  /// Returns true if a class is another one or a part of it, at any depth.
  bool contains(Id whole, Id part);
  void unitePairwise(llvm::SmallVector<Id> a, llvm::SmallVector<Id> b);

  std::vector<Node> nodes;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H
