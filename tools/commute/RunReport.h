//===- RunReport.h - output of commute run ----------------------*- C++ -*-===//
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
  /// "F32" and sizes, on the first rank. Empty if the output is not a tensor.
  std::string dtype;
  std::vector<int64_t> sizes;
  bool isEqualOnAllRanks = false;
};

struct RunSummary {
  size_t numRanks = 0;
  /// Time of the slowest rank.
  double seconds = 0;
  std::vector<OutputSummary> outputs;
  std::vector<std::string> assumptions;
};

RunSummary summarize(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                     llvm::ArrayRef<std::string> assumptions);
/// Prints all elements of all outputs, one line per output.
void printElements(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                   llvm::raw_ostream &os);
void print(const RunSummary &summary, llvm::raw_ostream &os);
llvm::json::Object toJson(const RunSummary &summary);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_RUNREPORT_H
