//===- ThresholdNumbers.h - numbers that results may be ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_THRESHOLDNUMBERS_H
#define COMMUTE_LIB_EQUIVALENCE_THRESHOLDNUMBERS_H

#include "commute/Dialect/TPDialect.h"

namespace commute::equivalence {

/// Returns the number that all elements of a value are; nullopt if none is
/// known.
std::optional<double> getUniformNumber(mlir::Value value);

/// Returns the numbers that the elements of a value may be, if these are few:
/// those of a remainder, and of a mask of low bits.
llvm::SmallVector<double> getFewNumbers(mlir::Value value);

/// Returns the type of the elements of a tensor, if these are integers of at
/// most 16 bits; null for others, whose results wrap around where no draw is.
mlir::IntegerType getNarrowType(mlir::Value value);

/// Returns the numbers at which arithmetic in a narrow integer type has results
/// that cross `numbers`: these, those that wrap around to them, and those from
/// which on results wrap around. Those of wider types are too far apart to be
/// met.
llvm::SmallVector<double> getUnwrapped(tp::MapOp op,
                                       llvm::ArrayRef<double> numbers);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_THRESHOLDNUMBERS_H
