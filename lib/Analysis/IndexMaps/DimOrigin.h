//===- DimOrigin.h - what a dim of a value comes from -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H

#include "commute/Analysis/Products/ProductParts.h"

namespace commute::analysis {

/// The longest chain of steps that is followed. This bounds the cost per op.
inline constexpr unsigned maxDimSteps = 16;

/// A dim of an op's result, and the steps that turn it into the requested dim.
struct DimOrigin {
  mlir::Value value;
  unsigned dim;
  /// From there on, in order.
  llvm::SmallVector<DimStep> steps;
};

/// Goes back from a dim of a value, step by step, to the nearest result of an
/// op for which `isOrigin` is true. Returns nullopt if there is none.
std::optional<DimOrigin>
findDimOrigin(mlir::Value value, unsigned dim,
              llvm::function_ref<bool(mlir::Value, unsigned)> isOrigin);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H
