//===- IndexDigits.h - addresses counted off along one dim ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H

#include "commute/Analysis/IndexMaps/IndexMap.h"

namespace commute::analysis {

/// Brings digits into their unique form.
void normalizeDigits(IndexDigits &digits);

/// A position in blocks of some size.
struct SizePosition {
  SizePolynomial quotient;
  SizePolynomial remainder;
};
/// `position` by blocks of `block`, as far as that is provable.
std::optional<SizePosition> divide(const SizePolynomial &position,
                                   const SizePolynomial &block);

/// Consecutive positions along a dim whose addresses digits can count.
struct DigitRun {
  /// Where it begins.
  SizePolynomial position;
  IndexDigits digits;
  /// The address there.
  SizePolynomial base;
};

/// The positions [start, start + size) of `digits` as runs, in order. Failure
/// where it depends on symbols where a run ends.
mlir::LogicalResult sliceDigits(llvm::ArrayRef<IndexDigit> digits,
                                const SizePolynomial &start,
                                const SizePolynomial &size,
                                llvm::SmallVectorImpl<DigitRun> &runs);

/// Cuts digits in two: `minor` counts `extent`, `major` the rest. Failure where
/// no digit ends or can be cut there.
mlir::LogicalResult splitDigits(llvm::ArrayRef<IndexDigit> digits,
                                const SizePolynomial &extent,
                                IndexDigits &major, IndexDigits &minor);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H
