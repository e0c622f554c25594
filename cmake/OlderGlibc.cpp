//===- OlderGlibc.cpp - functions that older systems lack -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// LLVM's static libraries were built on a system whose glibc (2.36) has
// functions that those of older systems lack. Programs that are linked with
// them and must run on older systems define these functions themselves.
//
//===----------------------------------------------------------------------===//

#include <cstdint>
#include <random>

/// LLVM names temporary files by it.
extern "C" __attribute__((visibility("hidden"))) uint32_t arc4random() {
  static std::random_device source;
  return source();
}
