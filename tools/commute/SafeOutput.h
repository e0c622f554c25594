//===- SafeOutput.h - text that cannot steer a terminal ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H
#define COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H

#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// Passes text on, with control characters as escapes ("\x1b"): names come from
/// files that may be hostile, and a terminal obeys what it is sent. New lines
/// and tabs stay.
class SafeStream : public llvm::raw_ostream {
public:
  explicit SafeStream(llvm::raw_ostream &os)
      : llvm::raw_ostream(/*unbuffered=*/true), os(os) {}
  ~SafeStream() override;

private:
  void write_impl(const char *text, size_t size) override;
  uint64_t current_pos() const override { return os.tell(); }

  llvm::raw_ostream &os;
  /// The last byte was the first of U+0080 to U+00BF.
  bool isInsideLatin = false;
};

/// Standard output and standard error for people.
llvm::raw_ostream &safeOuts();
llvm::raw_ostream &safeErrs();

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_SAFEOUTPUT_H
