//===- RunReport.h - what a run gave ----------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_RUNREPORT_H
#define COMMUTE_TOOLS_COMMUTE_RUNREPORT_H

#include "commute/Runtime/Run.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

struct OutputSummary {
  std::string name;
  /// "F32" and sizes, on the first rank; empty for an output that is no tensor.
  std::string dtype;
  std::vector<int64_t> sizes;
  bool isEqualOnAllRanks = false;
};

struct RunSummary {
  size_t numRanks = 0;
  /// Of the slowest rank.
  double seconds = 0;
  std::vector<OutputSummary> outputs;
  std::vector<std::string> assumptions;
};

RunSummary summarize(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                     llvm::ArrayRef<std::string> assumptions);
/// All elements of all outputs, one line an output.
void printElements(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                   llvm::raw_ostream &os);
void print(const RunSummary &summary, llvm::raw_ostream &os);
llvm::json::Object toJson(const RunSummary &summary);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_RUNREPORT_H
