//===- ProgramLanes.h - a program's ops on its two lanes --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_PROGRAMLANES_H
#define COMMUTE_REPORTPAGE_PROGRAMLANES_H

#include "commute/ReportPage/LayerLabels.h"
#include "commute/ReportPage/StringTable.h"
#include "commute/Target/Estimate.h"

namespace commute::report {

/// Returns "1x4096x512 bf16".
std::string getShapeText(mlir::Type type);

/// Limits the size of a page. Programs of 80 layers have some thousand events.
inline constexpr size_t maxDrawnEvents = 40000;

/// Returns the ops that take time and their intervals on the lanes, as columns:
/// arrays of equal length, in which strings are indices of `strings` and times
/// are nanoseconds. `left_out` is the number of events beyond the limit.
llvm::json::Object toJson(const target::Estimate &estimate,
                          const LayerLabels &layers, StringTable &strings);

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_PROGRAMLANES_H
