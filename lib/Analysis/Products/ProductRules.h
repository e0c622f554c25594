//===- ProductRules.h - what a product may be fused with --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H
#define COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute::analysis {

/// More ops are not moved, and more products not joined, for one collective:
/// what is asked of each stays bounded.
inline constexpr unsigned maxOps = 256;

/// Whether two tensors have the same last dim. A reshape that keeps it only
/// regroups the rows.
bool haveSameLastDim(mlir::Value a, mlir::Value b);

/// Whether a product can take its left rows one by one.
Legal<> checkRowProduct(tp::MatmulOp matmul);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H
