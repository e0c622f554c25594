//===- ProductRules.h - what a product may be fused with --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H
#define COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute::analysis {

/// The largest number of ops that are moved, and of products that are merged,
/// for one collective. This bounds the cost per collective.
inline constexpr unsigned maxOps = 256;

/// Returns true if two tensors have the same last dim. A reshape that keeps it
/// only regroups the rows.
bool haveSameLastDim(mlir::Value a, mlir::Value b);

/// Returns true if a product processes the rows of its left operand
/// independently.
Legal<> checkRowProduct(tp::MatmulOp matmul);

/// Checks that the group of a collective has a name that PyTorch's fused ops
/// accept.
Legal<> checkProcessGroup(mlir::Operation *collective, tp::GroupAttr group);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PRODUCTS_PRODUCTRULES_H
