//===- EmbeddedPage.h - the files in page/ ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REPORTPAGE_EMBEDDEDPAGE_H
#define COMMUTE_LIB_REPORTPAGE_EMBEDDEDPAGE_H

#include "llvm/ADT/StringRef.h"

namespace commute::report {

/// CMake generates the definitions from the files in lib/ReportPage/page.
llvm::StringRef getPageTemplate();
llvm::StringRef getPageStyle();
/// Returns all scripts, in the order of their dependencies.
llvm::StringRef getPageScript();

} // namespace commute::report

#endif // COMMUTE_LIB_REPORTPAGE_EMBEDDEDPAGE_H
