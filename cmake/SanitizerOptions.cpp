//===- SanitizerOptions.cpp - defaults of sanitized executables -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

/// LLVM's libraries are not sanitized, but share containers and allocators with
/// this program: what one side marks as unused memory, the other side uses.
// NOLINTNEXTLINE(bugprone-reserved-identifier): the sanitizer's own name.
extern "C" __attribute__((used)) const char *__asan_default_options() {
  return "allow_user_poisoning=0:detect_container_overflow=0";
}
