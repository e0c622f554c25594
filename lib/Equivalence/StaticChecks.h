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

/// Adds to `result` what is wrong with the second program, or different from
/// the first, though values may be equal: element types, sizes and strides of
/// the outputs; collectives that need dense inputs and did not get worse inputs
/// than the first program's; groups that a rank running the collective is not
/// in; opaque ops made, dropped, or reordered.
void checkStatically(mlir::func::FuncOp first, mlir::func::FuncOp second,
                     VerifyResult &result);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_STATICCHECKS_H
