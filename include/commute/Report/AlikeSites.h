//===- AlikeSites.h - what is said of alike sites, once ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORT_ALIKESITES_H
#define COMMUTE_REPORT_ALIKESITES_H

#include "commute/Report/RemarkCollector.h"

#include <string>

namespace commute::report {

/// Removes the numbers by which names of the same kind differ, such as those of
/// 'mm_12' and 'mm_3', or of 'layers.0.w' and 'layers.1.w', so that what is
/// said about each layer becomes the same text. Other numbers, such as times,
/// are kept.
std::string removeIndices(llvm::StringRef text);

/// Prints remarks grouped by pass. Those that say the same about the same line
/// of Python, such as those of all layers, become one, with their number.
void printFolded(llvm::ArrayRef<RemarkEntry> entries, llvm::raw_ostream &os);

} // namespace commute::report

#endif // COMMUTE_REPORT_ALIKESITES_H
