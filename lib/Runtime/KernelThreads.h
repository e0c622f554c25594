//===- KernelThreads.h - kernels on several threads -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_KERNELTHREADS_H
#define COMMUTE_LIB_RUNTIME_KERNELTHREADS_H

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>

namespace commute::runtime {

/// Threads that kernels of the calling thread may use.
void setNumKernelThreads(unsigned count);

/// Calls `visit` with parts [begin, end) of [0, count), all of them together
/// the whole, on as many threads as the calling one may use. A part has
/// `least` items at least, unless there are fewer: less is not worth a thread.
void forEachPart(int64_t count, int64_t least,
                 llvm::function_ref<void(int64_t begin, int64_t end)> visit);

/// Elements that are worth a thread of their own.
inline constexpr int64_t leastElementsOfThread = 32 << 10;

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_KERNELTHREADS_H
