//===- FusedForms.h - fused ops that PyTorch has ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_FUSEDFORMS_H
#define COMMUTE_LIB_TRANSFORMS_FUSEDFORMS_H

#include "commute/Analysis/Legal.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/BuiltinOps.h"

namespace commute {

/// Checks whether PyTorch's symm_mem ops can express a fused op of a module, to
/// which the op need not belong yet. All other ops pass.
analysis::Legal<> checkFusedForm(mlir::Operation *op, mlir::ModuleOp module);

/// Replaces a fused op by its collective and products.
void takeApart(tp::AllGatherMatmulOp fused);
void takeApart(tp::MatmulReduceScatterOp fused);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_FUSEDFORMS_H
