//===- IndexDigits.h - addresses counted off along one dim ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H

#include "commute/Analysis/IndexMaps/IndexMap.h"

namespace commute::analysis {

/// Converts digits to their unique normal form.
void normalizeDigits(IndexDigits &digits);

/// A position in blocks of some size.
struct SizePosition {
  SizePolynomial quotient;
  SizePolynomial remainder;
};
/// Expresses `position` in blocks of `block`, as far as that is provable.
std::optional<SizePosition> divide(const SizePolynomial &position,
                                   const SizePolynomial &block);

/// Consecutive positions along a dim whose addresses can be counted by digits.
struct DigitRun {
  /// Where it begins.
  SizePolynomial position;
  IndexDigits digits;
  /// The address there.
  SizePolynomial base;
};

/// Splits the positions [start, start + size) of `digits` into runs, in order.
/// Fails if the end of a run depends on symbols.
mlir::LogicalResult sliceDigits(llvm::ArrayRef<IndexDigit> digits,
                                const SizePolynomial &start,
                                const SizePolynomial &size,
                                llvm::SmallVectorImpl<DigitRun> &runs);

/// Splits digits in two: `minor` counts `extent`, and `major` the rest. Fails
/// if no digit ends or can be split there.
mlir::LogicalResult splitDigits(llvm::ArrayRef<IndexDigit> digits,
                                const SizePolynomial &extent,
                                IndexDigits &major, IndexDigits &minor);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_INDEXDIGITS_H
