//===- IndexMap.h - which element stands where ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What a chain of reindexing ops (slices, concatenations, reshapes,
// permutations, broadcasts) does to a tensor: for every element of its result,
// the address of the element of the source that stands there. The address is
// the row-major position in the source; of a value gathered from n ranks it is
// the rank's position times the number of elements of a shard, plus the
// position in the shard.
//
// A map is a set of boxes that tile the result. In each, the address is a sum
// over the dims, and along each dim it is counted off by digits, as hours,
// minutes and seconds count time: a gather along any dim, or a transposition,
// is one box. Composition is exact. Symbolic sizes take part as polynomials;
// what depends on symbols and cannot be proven is refused.
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
/// The digits of one dim, the major one first, in the unique form in which no
/// two can be one and none has extent 1. No digits are extent 1.
using IndexDigits = llvm::SmallVector<IndexDigit, 1>;

/// A part of the result: its place along each dim, and the digits there.
struct IndexBox {
  llvm::SmallVector<SizePolynomial, 4> offsets;
  llvm::SmallVector<IndexDigits, 4> dims;
  /// The address at its first element.
  SizePolynomial base;
};

/// The extent that digits count.
SizePolynomial getExtent(llvm::ArrayRef<IndexDigit> digits);

class IndexMap {
public:
  using Sizes = llvm::SmallVector<SizePolynomial, 4>;

  /// A composition that would need more boxes is refused: the cost of an op is
  /// bounded by this times its operands.
  static constexpr size_t maxBoxes = 1024;

  /// Every element at its row-major place.
  static IndexMap getIdentity(llvm::ArrayRef<SizePolynomial> sizes);

  llvm::ArrayRef<SizePolynomial> getSizes() const { return sizes; }
  llvm::ArrayRef<IndexBox> getBoxes() const { return boxes; }

  // The map after one more op; nullopt where that cannot be proven, or takes
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

  /// Whether both put the same element everywhere. With symbols: whether that
  /// is proven.
  bool isSameAs(const IndexMap &other) const;

private:
  Sizes sizes;
  llvm::SmallVector<IndexBox, 0> boxes;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_INDEXMAPS_INDEXMAP_H
