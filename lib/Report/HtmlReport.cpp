//===- HtmlReport.cpp - remarks as an HTML page -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute::report;
using llvm::StringRef;

/// Escapes names and source lines from the graph, which must not be interpreted
/// as markup.
static std::string escape(StringRef text) {
  std::string result;
  llvm::raw_string_ostream os(result);
  llvm::printHTMLEscaped(text, os);
  return result;
}

static constexpr llvm::StringLiteral style = R"(
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem;
       padding: 0 1rem; color: #1c2430; background: #fff; }
h1 { font-size: 1.4rem; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .35rem .7rem; vertical-align: top;
         border-bottom: 1px solid #d8dee6; }
th { font-weight: 600; } code { font-size: .92em; }
.applied { color: #12703a; } .refused { color: #a03018; } .noted { color: #5a6675; }
@media (prefers-color-scheme: dark) {
  body { color: #dbe2ea; background: #14181d; } th, td { border-color: #333c47; }
  .applied { color: #6fd08c; } .refused { color: #f0937a; } .noted { color: #94a1b0; } }
)";

std::string commute::report::renderHtml(
    StringRef title, llvm::ArrayRef<std::pair<std::string, std::string>> facts,
    llvm::ArrayRef<RemarkEntry> entries) {
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\">\n"
     << "<meta name=\"viewport\" content=\"width=device-width\">\n<title>"
     << escape(title) << "</title>\n<style>" << style
     << "</style>\n</head>\n<body>\n<h1>" << escape(title)
     << "</h1>\n<table>\n";
  for (const auto &[name, value] : facts)
    os << "<tr><th scope=\"row\">" << escape(name) << "</th><td>"
       << escape(value) << "</td></tr>\n";
  os << "</table>\n<h2>Rewrites and refusals</h2>\n";
  if (entries.empty()) {
    os << "<p>No pass matched or refused anything.</p>\n";
  } else {
    os << "<table>\n<tr><th>Pass</th><th>Verdict</th><th>Node</th>"
          "<th>Python line</th><th>Why</th></tr>\n";
    for (const RemarkEntry &entry : entries) {
      os << "<tr><td>" << escape(entry.pass) << "</td><td class=\""
         << describe(entry.verdict) << "\">" << describe(entry.verdict)
         << "</td><td><code>" << escape(entry.node) << "</code></td><td><code>"
         << escape(entry.getSource()) << "</code></td><td>"
         << escape(entry.message);
      if (!entry.suggestion.empty())
        os << "; " << escape(entry.suggestion);
      os << "</td></tr>\n";
    }
    os << "</table>\n";
  }
  os << "</body>\n</html>\n";
  return page;
}
