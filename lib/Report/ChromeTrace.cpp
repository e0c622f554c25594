//===- ChromeTrace.cpp - traces for Perfetto --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Report/ChromeTrace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileUtilities.h"

using namespace commute;
using namespace commute::report;
namespace json = llvm::json;

llvm::Error report::writeChromeTrace(llvm::StringRef path,
                                     llvm::StringRef processName,
                                     llvm::ArrayRef<llvm::StringRef> laneNames,
                                     std::vector<TraceEvent> events) {
  constexpr int64_t process = 0;
  constexpr double microseconds = 1e6;
  auto writeEvents = [&](json::OStream &out) {
    auto name = [&](llvm::StringRef what, int64_t lane, llvm::StringRef text) {
      out.value(json::Object{{"ph", "M"},
                             {"name", what},
                             {"pid", process},
                             {"tid", lane},
                             {"args", json::Object{{"name", text}}}});
    };
    name("process_name", 0, processName);
    for (auto [lane, laneName] : llvm::enumerate(laneNames))
      name("thread_name", static_cast<int64_t>(lane), laneName);
    for (TraceEvent &event : events)
      out.value(json::Object{{"ph", "X"},
                             {"name", event.name},
                             {"cat", event.category},
                             {"pid", process},
                             {"tid", static_cast<int64_t>(event.lane)},
                             {"ts", event.startSeconds * microseconds},
                             {"dur", event.seconds * microseconds},
                             {"args", std::move(event.arguments)}});
  };
  auto write = [&](llvm::raw_ostream &os) -> llvm::Error {
    json::OStream out(os);
    out.object([&] {
      out.attribute("displayTimeUnit", "ms");
      out.attributeArray("traceEvents", [&] { writeEvents(out); });
    });
    os << '\n';
    return llvm::Error::success();
  };
  return llvm::writeToOutput(path, write);
}
