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

/// Dims whose indices mean the same, as a union-find forest in which an extent
/// may be the product of others, from major to minor: a merged dim and its
/// factors. An extent that is no product is an atom. A fixed atom is evaluated
/// at all its indices.
class DimClasses {
public:
  using Id = unsigned;

  /// An extent of its own.
  Id add(int64_t size, bool isFixed = false);
  /// An extent that is the product of these.
  Id addProduct(llvm::ArrayRef<Id> factors);
  /// Makes two extents one. Where their factors do not fit each other, both are
  /// fixed.
  void unite(Id a, Id b);
  /// Fixes all atoms of an extent.
  void fix(Id id);
  bool areUnited(Id a, Id b) { return find(a) == find(b); }
  /// The extent that stands for all that are united with this one.
  Id find(Id id);

  /// An atom of `whole` and one of `part` that relate as the two extents do,
  /// with the place in the former where the latter begins.
  struct Part {
    Id whole;
    Id part;
    int64_t start;
  };
  /// Index i of `part` is index `start + i * step` of `whole`. Divides both
  /// into factors of which all but one are the same in both, and returns that
  /// one; nullopt, and both fixed, where that cannot be done.
  std::optional<Part> alignPart(Id whole, Id part, int64_t start, int64_t step);

  /// The extents that one is the product of, from major to minor.
  llvm::SmallVector<Id> getAtoms(Id id);
  bool isAtom(Id id) { return nodes[find(id)].factors.empty(); }
  bool isFixed(Id atom) { return nodes[find(atom)].isFixed; }
  int64_t getSize(Id id) { return nodes[find(id)].size; }
  /// How many ids were given.
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
  /// Whether a class is another or a part of it, at any depth.
  bool contains(Id whole, Id part);
  void unitePairwise(llvm::SmallVector<Id> a, llvm::SmallVector<Id> b);

  std::vector<Node> nodes;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_DIMCLASSES_H
