//===- Quoted.cpp - quoted names in messages ------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

namespace commute {

std::string quoted(llvm::StringRef name) {
  constexpr size_t longest = 200;
  std::string result = "'";
  llvm::raw_string_ostream out(result);
  llvm::printEscapedString(name.take_front(longest), out);
  out << (name.size() > longest ? "...'" : "'");
  return result;
}

} // namespace commute
