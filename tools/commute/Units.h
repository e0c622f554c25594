//===- Units.h - numbers with units, for people -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_UNITS_H
#define COMMUTE_TOOLS_COMMUTE_UNITS_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace commute::tool {

/// "12.3 us".
std::string formatSeconds(double seconds);
/// "64.0 MiB".
std::string formatBytes(double bytes);
/// "989 TFLOP/s": a decimal prefix, three digits.
std::string formatScaled(double value, llvm::StringRef unit);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_UNITS_H
