//===- SignatureChecks.h - how two programs are called ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_SIGNATURECHECKS_H
#define COMMUTE_LIB_EQUIVALENCE_SIGNATURECHECKS_H

#include "commute/Equivalence/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Adds differences that callers would observe although the values are equal:
/// which inputs are parameters or buffers and their names in the module, which
/// output is written to which buffer or input, constants among inputs and
/// outputs, and the structure of both. Facts that one of the programs does not
/// state, as in handwritten text, are not compared.
void checkSignatures(mlir::func::FuncOp first, mlir::func::FuncOp second,
                     VerifyResult &result);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_SIGNATURECHECKS_H
