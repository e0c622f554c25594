//===- NamePattern.cpp - one name for those of all layers -----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/NamePattern.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

std::string commute::getNamePattern(StringRef name) {
  std::string pattern;
  for (size_t i = 0; i < name.size();) {
    bool begins = llvm::isDigit(name[i]) && i > 0 && name[i - 1] == '.';
    size_t end = i;
    while (end < name.size() && llvm::isDigit(name[end]))
      ++end;
    if (begins && end < name.size() && name[end] == '.') {
      pattern += '*';
      i = end;
      continue;
    }
    pattern += name[i++];
  }
  return pattern;
}
