//===- EstimateReport.h - output of commute estimate ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H
#define COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H

#include "commute/Compiler/StepEstimate.h"

#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

void print(const compiler::EstimateSummary &summary, llvm::raw_ostream &os);

/// Writes the two lanes as a trace for Perfetto.
llvm::Error writeTrace(llvm::StringRef path,
                       const compiler::EstimateSummary &summary);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H
