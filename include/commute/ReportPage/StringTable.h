//===- StringTable.h - strings of a page, each stored once ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_REPORTPAGE_STRINGTABLE_H
#define COMMUTE_REPORTPAGE_STRINGTABLE_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"

namespace commute::report {

/// Numbers strings in the order of their first use. Names of ops, shapes and
/// files occur thousands of times in a page; the page's data refer to them by
/// number.
class StringTable {
public:
  int64_t add(llvm::StringRef text) {
    auto [entry, isNew] = indices.try_emplace(text, indices.size());
    // Names come from files and may not be valid UTF-8.
    if (isNew)
      strings.push_back(llvm::json::fixUTF8(text));
    return entry->second;
  }
  llvm::json::Array take() { return std::move(strings); }

private:
  llvm::StringMap<int64_t> indices;
  llvm::json::Array strings;
};

} // namespace commute::report

#endif // COMMUTE_REPORTPAGE_STRINGTABLE_H
