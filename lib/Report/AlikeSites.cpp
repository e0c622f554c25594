//===- AlikeSites.cpp - what is said of alike sites, once -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Report/AlikeSites.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace commute::report;

std::string commute::report::removeIndices(llvm::StringRef text) {
  std::string result;
  for (size_t index = 0; index < text.size();) {
    char c = text[index];
    size_t end = index;
    while (end < text.size() && llvm::isDigit(text[end]))
      ++end;
    bool isIndex = end > index && index > 1 &&
                   (text[index - 1] == '_' ||
                    (text[index - 1] == '.' && llvm::isAlpha(text[index - 2])));
    if (isIndex) {
      // The first node of a kind has no number: 'mm', 'mm_1'.
      if (text[index - 1] == '_')
        result.pop_back();
      else
        result += '#';
      index = end;
    } else {
      result += c;
      ++index;
    }
  }
  return result;
}

/// Returns the first of alike remarks, in their order, and how many there are.
static std::vector<std::pair<RemarkEntry, size_t>>
foldAlike(llvm::ArrayRef<RemarkEntry> entries) {
  std::vector<std::pair<RemarkEntry, size_t>> folded;
  std::map<std::vector<std::string>, size_t> known;
  for (const RemarkEntry &entry : entries) {
    std::string source = entry.getSource();
    std::vector<std::string> key = {
        entry.pass, describe(entry.verdict).str(), entry.name, source,
        removeIndices(entry.message), removeIndices(entry.suggestion),
        // Without a line, the name tells which sites correspond.
        source.empty() ? removeIndices(entry.node) : ""};
    auto [place, isNew] = known.try_emplace(std::move(key), folded.size());
    if (isNew)
      folded.emplace_back(entry, 1);
    else
      ++folded[place->second].second;
  }
  return folded;
}

void commute::report::printFolded(llvm::ArrayRef<RemarkEntry> entries,
                                  llvm::raw_ostream &os) {
  llvm::StringRef pass;
  std::vector<std::pair<RemarkEntry, size_t>> folded = foldAlike(entries);
  for (const auto &[entry, count] : folded) {
    if (entry.pass != pass) {
      pass = entry.pass;
      os << pass << ":\n";
    }
    os << "  " << describe(entry.verdict) << "  " << entry.node;
    if (std::string source = entry.getSource(); !source.empty())
      os << " (" << source << ")";
    if (count > 1)
      os << " and " << count - 1 << " alike";
    // The remark about a failed pass has no node.
    bool hasPlace = !entry.node.empty() || !entry.file.empty();
    os << (hasPlace ? ": " : "") << entry.message;
    if (!entry.suggestion.empty())
      os << "; " << entry.suggestion;
    os << '\n';
  }
}
