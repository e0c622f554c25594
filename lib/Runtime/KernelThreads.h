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

/// Sets the number of threads that kernels of the calling thread may use.
void setNumKernelThreads(unsigned count);

/// Splits [0, count) into parts [begin, end) and calls `visit` for each, on the
/// threads of the calling thread. A part has at least `least` items, unless
/// there are fewer in total; smaller parts are not worth a thread.
void forEachPart(int64_t count, int64_t least,
                 llvm::function_ref<void(int64_t begin, int64_t end)> visit);

/// The smallest number of elements worth a thread.
inline constexpr int64_t leastElementsOfThread = 32 << 10;

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_KERNELTHREADS_H
