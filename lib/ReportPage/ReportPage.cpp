//===- ReportPage.cpp - a self-contained HTML page --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/ReportPage/ReportPage.h"

#include "EmbeddedPage.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::report;
using llvm::StringRef;

void report::printEmbedded(const llvm::json::Value &data,
                           llvm::raw_ostream &os) {
  std::string text;
  llvm::raw_string_ostream(text) << data;
  // These occur only within strings, where an escape means the same.
  for (char c : text)
    switch (c) {
    case '<':
      os << "\\u003c";
      break;
    case '>':
      os << "\\u003e";
      break;
    case '&':
      os << "\\u0026";
      break;
    default:
      os << c;
    }
}

std::string report::renderPage(StringRef title, const llvm::json::Value &data) {
  std::string page;
  llvm::raw_string_ostream os(page);
  StringRef rest = getPageTemplate();
  // The template marks places by comments: <!--title--> and so on.
  while (!rest.empty()) {
    auto [text, following] = rest.split("<!--");
    os << text;
    if (following.empty())
      break;
    auto [name, tail] = following.split("-->");
    rest = tail;
    if (name == "title")
      llvm::printHTMLEscaped(title, os);
    else if (name == "style")
      os << getPageStyle();
    else if (name == "script")
      os << getPageScript();
    else if (name == "data")
      printEmbedded(data, os);
  }
  return page;
}
