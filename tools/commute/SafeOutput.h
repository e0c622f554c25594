//===- SafeOutput.h - safe terminal output ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H
#define COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H

#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// Writes control characters, except newlines and tabs, as escapes ("\x1b").
/// Names may come from malicious files, and terminals interpret control
/// characters as commands.
class SafeStream : public llvm::raw_ostream {
public:
  explicit SafeStream(llvm::raw_ostream &os)
      : llvm::raw_ostream(/*unbuffered=*/true), os(os) {}
  ~SafeStream() override;

private:
  void write_impl(const char *text, size_t size) override;
  uint64_t current_pos() const override { return os.tell(); }

  llvm::raw_ostream &os;
  /// True if the last byte was the first byte of U+0080 to U+00BF.
  bool isInsideLatin = false;
};

/// Standard output and standard error, for output that people read. With
/// --quiet, the former goes nowhere.
llvm::raw_ostream &safeOuts();
llvm::raw_ostream &safeErrs();
/// Standard output for the data that a command is run for, which --quiet does
/// not suppress.
llvm::raw_ostream &dataOuts();
/// Standard error for warnings, which --quiet suppresses.
llvm::raw_ostream &warningErrs();

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H
