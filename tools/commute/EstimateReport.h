//===- EstimateReport.h - output of commute estimate ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H
#define COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H

#include "commute/Target/Estimate.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// All ops of one kind.
struct OpKindSummary {
  /// Name of the op, or of the PyTorch operator if the op is opaque.
  std::string name;
  int64_t count = 0;
  /// On both lanes, including copies.
  double seconds = 0;
  double flops = 0;
  double memoryBytes = 0;
  double wireBytes = 0;
  /// The bound of the ops that take most of the time.
  target::Bound bound = target::Bound::Nothing;
  bool isGuess = false;
};

struct EstimateSummary {
  std::string targetName;
  std::string targetDescription;
  /// True if the user did not select a target.
  bool isDefaultTarget = false;
  /// Values of the program's symbols.
  target::SizeTable sizes;
  target::Estimate estimate;
  /// Node and source line of the op at which activation memory peaks.
  std::string peakPlace;
  double deviceBytes = 0;
  /// In descending order of time.
  std::vector<OpKindSummary> kinds;
};

EstimateSummary summarize(target::Estimate estimate,
                          const target::Target &target,
                          const target::SizeTable &sizes);
void print(const EstimateSummary &summary, llvm::raw_ostream &os);
llvm::json::Object toJson(const EstimateSummary &summary);

/// Writes the two lanes as a trace for Perfetto.
llvm::Error writeTrace(llvm::StringRef path, const EstimateSummary &summary);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_ESTIMATEREPORT_H
