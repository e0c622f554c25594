//===- Vectorized.h - loops compiled for several processors -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The tool is built for any x86-64 processor, but its loops over elements
// benefit from the vector registers of the processor at hand:
//
//   vectorized([&]() COMMUTE_INLINED { loop(source, count, target); });
//
// compiles the loop several times and selects the right version. All functions
// that it calls must be inlined into it. Files that use this are compiled
// without contraction of products and sums, so that all processors compute the
// same bits.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_VECTORIZED_H
#define COMMUTE_LIB_RUNTIME_VECTORIZED_H

#define COMMUTE_INLINED __attribute__((always_inline))

namespace commute::runtime {

#if defined(__x86_64__)

// Internal linkage: otherwise the linker could merge versions for different
// processors.
namespace {
template <typename Body>
__attribute__((target("avx512bw"))) auto runWithAvx512(Body body) {
  return body();
}
template <typename Body>
__attribute__((target("avx2"))) auto runWithAvx2(Body body) {
  return body();
}
} // namespace

template <typename Body>
static auto vectorized(Body body) {
  static const bool hasAvx512 = __builtin_cpu_supports("avx512bw");
  static const bool hasAvx2 = __builtin_cpu_supports("avx2");
  if (hasAvx512)
    return runWithAvx512(body);
  if (hasAvx2)
    return runWithAvx2(body);
  return body();
}

#else

template <typename Body>
static auto vectorized(Body body) {
  return body();
}

#endif

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_VECTORIZED_H
