//===- DimOrigin.h - what a dim of a value comes from -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H

#include "commute/Analysis/Products/ProductParts.h"

namespace commute::analysis {

/// Longer chains of steps are not followed: what is asked of each op stays
/// bounded.
inline constexpr unsigned maxDimSteps = 16;

/// A dim of an op's result, and what makes of it the dim asked about.
struct DimOrigin {
  mlir::Value value;
  unsigned dim;
  /// From there on, in order.
  llvm::SmallVector<DimStep> steps;
};

/// Goes back from a dim of a value, step by step, to the nearest result of an
/// op of which `isOrigin` is true; nullopt where none is reached.
std::optional<DimOrigin>
findDimOrigin(mlir::Value value, unsigned dim,
              llvm::function_ref<bool(mlir::Value, unsigned)> isOrigin);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_DIMORIGIN_H
