//===- IndexMap.h - which element stands where ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The effect of a chain of reindexing ops (slices, concatenations, reshapes,
// permutations, broadcasts) on a tensor: for every element of the result, the
// address of the corresponding element of the source. The address is the
// row-major position in the source. For a value gathered from n ranks, it is
// the rank's position times the number of elements of a shard, plus the
// position in the shard.
//
// A map is a set of boxes that tile the result. In each box, the address is a
// sum over the dims, and along each dim it is counted by digits, as hours,
// minutes and seconds count time. A gather along any dim, or a transposition,
// is a single box. Composition is exact. Symbolic sizes are polynomials; a step
// that depends on symbols and cannot be proven is refused.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_INDEXMAPS_INDEXMAP_H
#define COMMUTE_ANALYSIS_INDEXMAPS_INDEXMAP_H

#include "commute/Analysis/Sizes/SizePolynomial.h"

#include "llvm/ADT/ArrayRef.h"

namespace commute::analysis {

/// `extent` positions whose addresses are `stride` apart.
struct IndexDigit {
  SizePolynomial extent;
  SizePolynomial stride;

  bool operator==(const IndexDigit &other) const {
    return extent == other.extent && stride == other.stride;
  }
};
/// The digits of one dim, major first, in the unique normal form: no two digits
/// can be merged, and none has extent 1. A dim without digits has extent 1.
using IndexDigits = llvm::SmallVector<IndexDigit, 1>;

/// A part of the result: its position along each dim, and its digits.
struct IndexBox {
  llvm::SmallVector<SizePolynomial, 4> offsets;
  llvm::SmallVector<IndexDigits, 4> dims;
  /// The address of its first element.
  SizePolynomial base;
};

/// The extent that digits count.
SizePolynomial getExtent(llvm::ArrayRef<IndexDigit> digits);

class IndexMap {
public:
  using Sizes = llvm::SmallVector<SizePolynomial, 4>;

  /// The largest number of boxes in a composition. It bounds the cost of an op
  /// by this number times its operands.
  static constexpr size_t maxBoxes = 1024;

  /// Returns the identity map.
  static IndexMap getIdentity(llvm::ArrayRef<SizePolynomial> sizes);

  llvm::ArrayRef<SizePolynomial> getSizes() const { return sizes; }
  llvm::ArrayRef<IndexBox> getBoxes() const { return boxes; }

  // Returns the map after one more op; nullopt if it cannot be proven, or has
  // too many boxes.

  std::optional<IndexMap> slice(unsigned dim, const SizePolynomial &start,
                                int64_t step, const SizePolynomial &size) const;
  std::optional<IndexMap>
  reshape(llvm::ArrayRef<SizePolynomial> newSizes) const;
  IndexMap permute(llvm::ArrayRef<int64_t> permutation) const;
  std::optional<IndexMap>
  broadcast(llvm::ArrayRef<SizePolynomial> newSizes) const;
  static std::optional<IndexMap> concat(llvm::ArrayRef<const IndexMap *> maps,
                                        unsigned dim);
  /// Concatenates `count` copies of the map along `dim`; the addresses of each
  /// copy are `distance` higher than those of the previous one. This is the map
  /// of an all_gather.
  std::optional<IndexMap> repeat(unsigned dim, int64_t count,
                                 const SizePolynomial &distance) const;

  /// Returns true if both maps are certainly equal.
  bool isSameAs(const IndexMap &other) const;

private:
  Sizes sizes;
  llvm::SmallVector<IndexBox, 0> boxes;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_INDEXMAPS_INDEXMAP_H
