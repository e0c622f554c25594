//===- ChromeTrace.h - traces for Perfetto ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORT_CHROMETRACE_H
#define COMMUTE_REPORT_CHROMETRACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <string>

namespace commute::report {

/// An interval on one lane of a trace.
struct TraceEvent {
  std::string name;
  /// Kind of event; viewers colour and filter by it.
  std::string category;
  unsigned lane = 0;
  double startSeconds = 0;
  double seconds = 0;
  llvm::json::Object arguments;
};

/// Writes a trace for ui.perfetto.dev and chrome://tracing atomically: one
/// process, with one thread per lane.
llvm::Error writeChromeTrace(llvm::StringRef path, llvm::StringRef processName,
                             llvm::ArrayRef<llvm::StringRef> laneNames,
                             std::vector<TraceEvent> events);

} // namespace commute::report

#endif // COMMUTE_REPORT_CHROMETRACE_H
