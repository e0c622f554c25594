//===- RefinementReport.h - the verdict as text and JSON --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REFINEMENT_REFINEMENTREPORT_H
#define COMMUTE_REFINEMENT_REFINEMENTREPORT_H

#include "commute/Refinement/Refine.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::refinement {

/// Returns "refines", "does not refine", "deadlock" or "not proven".
llvm::StringRef describe(RefinementResult::Verdict verdict);
/// Prints the verdict, findings, outputs and premises.
void print(const RefinementResult &result, llvm::raw_ostream &os);
/// Prints the relations of all values, by source line.
void printValues(const RefinementResult &result, llvm::raw_ostream &os);
llvm::json::Object toJson(const RefinementResult &result);

} // namespace commute::refinement

#endif // COMMUTE_REFINEMENT_REFINEMENTREPORT_H
