//===- Memory.h - what this machine and this process have ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_MEMORY_H
#define COMMUTE_SUPPORT_MEMORY_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace commute {

/// Returns how many bytes of memory this process can take besides those that it
/// has: the smallest of what is free on the machine, what its control groups
/// leave, and what its limit of address space leaves. Returns the largest
/// number if the system states nothing.
int64_t getAvailableMemory();

/// Returns how many bytes of memory this process holds; 0 if the system does
/// not say.
int64_t getUsedMemory();

/// Returns the memory that a proof gets unless the user states another: 4 GiB,
/// or half of what is available if that is less.
int64_t getDefaultProofMemory();

/// Returns the number of kB that a line of /proc/meminfo states, in bytes.
std::optional<int64_t> parseMemoryLine(llvm::StringRef text,
                                       llvm::StringRef name);

} // namespace commute

#endif // COMMUTE_SUPPORT_MEMORY_H
