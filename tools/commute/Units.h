//===- Units.h - formatting of numbers with units ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_UNITS_H
#define COMMUTE_TOOLS_COMMUTE_UNITS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute::tool {

/// Returns, for example, "12.3 us".
std::string formatSeconds(double seconds);
/// Returns, for example, "64.0 MiB".
std::string formatBytes(double bytes);
/// Returns, for example, "+12.3 %" for 0.123.
std::string formatSignedPercent(double fraction);
/// Returns, for example, "989 TFLOP/s": three digits and a decimal prefix.
std::string formatScaled(double value, llvm::StringRef unit);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_UNITS_H
