//===- VerificationReport.h - the verdict of the checker --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_VERIFICATIONREPORT_H
#define COMMUTE_COMPILER_VERIFICATIONREPORT_H

#include "commute/Equivalence/Verify.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::compiler {

/// Prints "equivalent on 4 ranks ...", or the differences and their locations.
void print(const equivalence::VerifyResult &result, llvm::raw_ostream &os);
/// Prints a table of the sizes in both programs, and how each was evaluated.
void printExtents(const equivalence::VerifyResult &result,
                  llvm::raw_ostream &os);
llvm::json::Array
toJson(const std::vector<equivalence::EvaluatedExtent> &extents);
llvm::json::Object toJson(const equivalence::VerifyResult &result);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_VERIFICATIONREPORT_H
