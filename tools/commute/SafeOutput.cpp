//===- SafeOutput.cpp - safe terminal output --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SafeOutput.h"

#include "OutputSettings.h"

#include "llvm/Support/Format.h"

#include <utility>

using namespace commute::tool;

SafeStream::~SafeStream() = default;

void SafeStream::write_impl(const char *text, size_t size) {
  auto escape = [&](unsigned char c) { os << llvm::format("\\x%02x", c); };
  size_t begin = 0;
  auto flushTo = [&](size_t end) {
    os.write(text + begin, end - begin);
    begin = end + 1;
  };
  constexpr unsigned char latinLead = 0xc2, firstLatin = 0xa0;
  for (size_t index = 0; index < size; ++index) {
    auto c = static_cast<unsigned char>(text[index]);
    // U+0080 to U+009F, which have two bytes, are also control characters.
    if (std::exchange(isInsideLatin, false)) {
      if (c >= 0x80 && c < firstLatin) {
        escape(c);
        begin = index + 1;
        continue;
      }
      os << static_cast<char>(latinLead);
    }
    if (c == latinLead) {
      flushTo(index);
      isInsideLatin = true;
    } else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
      flushTo(index);
      escape(c);
    }
  }
  if (begin < size)
    flushTo(size);
}

llvm::raw_ostream &commute::tool::safeOuts() {
  return isQuiet() ? llvm::nulls() : dataOuts();
}

llvm::raw_ostream &commute::tool::warningErrs() {
  return isQuiet() ? llvm::nulls() : safeErrs();
}

llvm::raw_ostream &commute::tool::dataOuts() {
  static SafeStream stream(llvm::outs());
  return stream;
}

llvm::raw_ostream &commute::tool::safeErrs() {
  static SafeStream stream(llvm::errs());
  return stream;
}
