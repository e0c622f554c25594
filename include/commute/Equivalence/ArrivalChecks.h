//===- ArrivalChecks.h - values that are used too early ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_ARRIVALCHECKS_H
#define COMMUTE_EQUIVALENCE_ARRIVALCHECKS_H

#include "commute/Analysis/Collectives/Arrivals.h"
#include "commute/Equivalence/Verify.h"

namespace commute::equivalence {

/// Returns "read before it has arrived: all_gather (model.py:3), by relu
/// (model.py:4)". With `owner`, such as "the second program", it says whose
/// value this is.
std::string describe(const analysis::EarlyRead &read,
                     llvm::StringRef owner = "");

/// What mends an early read.
constexpr llvm::StringLiteral earlyReadFix =
    "wait for it with wait_tensor before it is used";

/// Adds a difference for each value that one of the programs uses before it has
/// arrived, because such a program has no defined values, and for each output
/// that has arrived in the first program when it returns but not in the second.
/// Outputs that are pending in both programs are noted: their callers must wait
/// for them.
void checkArrivals(mlir::func::FuncOp first, mlir::func::FuncOp second,
                   VerifyResult &result);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_ARRIVALCHECKS_H
