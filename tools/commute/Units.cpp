//===- Units.cpp - formatting of numbers with units -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Units.h"

#include "llvm/ADT/Twine.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace commute;

static std::string formatNumber(const char *pattern, double value,
                                llvm::StringRef unit) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(pattern, value) << ' ' << unit;
  return text;
}

std::string tool::formatSeconds(double seconds) {
  if (seconds >= 1)
    return formatNumber("%.3f", seconds, "s");
  if (seconds >= 1e-3)
    return formatNumber("%.3f", seconds * 1e3, "ms");
  return formatNumber("%.2f", seconds * 1e6, "us");
}

std::string tool::formatBytes(double bytes) {
  static constexpr llvm::StringLiteral units[] = {"B", "KiB", "MiB", "GiB",
                                                  "TiB"};
  size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return formatNumber(unit ? "%.1f" : "%.0f", bytes, units[unit]);
}

std::string tool::formatSignedPercent(double fraction) {
  return llvm::formatv("{0}{1:f1} %", fraction > 0 ? "+" : "", 100 * fraction)
      .str();
}

std::string tool::formatScaled(double value, llvm::StringRef unit) {
  static constexpr llvm::StringLiteral prefixes[] = {"",  "k", "M",
                                                     "G", "T", "P"};
  size_t prefix = 0;
  for (; value >= 1e3 && prefix + 1 < std::size(prefixes); ++prefix)
    value /= 1e3;
  return formatNumber("%.4g", value,
                      (llvm::Twine(prefixes[prefix]) + unit).str());
}
