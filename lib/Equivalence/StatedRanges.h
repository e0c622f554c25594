//===- StatedRanges.h - integers of inputs within bounds --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_STATEDRANGES_H
#define COMMUTE_LIB_EQUIVALENCE_STATEDRANGES_H

#include "DimSamples.h"
#include "commute/Equivalence/Verify.h"

namespace commute::equivalence {

/// Returns the numbers from which the integers of an input are drawn: those of
/// the samples, as far as they are in the range that is stated for the input.
std::optional<IntegerPool> getPoolInRange(const DimSamples &dims,
                                          unsigned argument,
                                          const VerifyOptions &options);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_STATEDRANGES_H
