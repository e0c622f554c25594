//===- StaticChecks.h - what evaluation cannot see --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_STATICCHECKS_H
#define COMMUTE_LIB_EQUIVALENCE_STATICCHECKS_H

#include "commute/Equivalence/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Adds differences and errors of the second program that values do not show:
/// element types, sizes and strides of the outputs; collectives that need dense
/// inputs and got worse inputs than in the first program; groups that do not
/// contain a rank that runs the collective; opaque ops that were added,
/// removed, or reordered.
void checkStatically(mlir::func::FuncOp first, mlir::func::FuncOp second,
                     VerifyResult &result);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_STATICCHECKS_H
