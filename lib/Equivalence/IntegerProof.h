//===- IntegerProof.h - programs that are equal for all integers -*- C++ -*-==//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H
#define COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H

#include "ProgramComparison.h"

namespace commute::equivalence {

/// Decides whether two programs that `comparison` found to be equal for the
/// integers that it drew are equal for all integers. If they are not known to
/// be, the result says so: it is not proven, or rests on draws.
void proveForAllIntegers(ProgramComparison &comparison,
                         mlir::func::FuncOp first, mlir::func::FuncOp second,
                         const analysis::InputPlacements &placements,
                         const VerifyOptions &options,
                         const ProofBudget &budget, VerifyResult &result);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_INTEGERPROOF_H
