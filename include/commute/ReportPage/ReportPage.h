//===- ReportPage.h - a self-contained HTML page ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_REPORTPAGE_H
#define COMMUTE_REPORTPAGE_REPORTPAGE_H

#include "llvm/Support/JSON.h"

#include <string>

namespace commute::report {

/// Returns a page that draws `data`. The page is one file: it loads nothing,
/// and its content security policy forbids it to. The files in
/// lib/ReportPage/page describe what `data` contains by drawing it.
std::string renderPage(llvm::StringRef title, const llvm::json::Value &data);

/// Writes JSON that can be embedded in a script element: no text in it can end
/// the element or begin a comment.
void printEmbedded(const llvm::json::Value &data, llvm::raw_ostream &os);

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_REPORTPAGE_H
