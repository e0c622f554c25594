//===- Memory.cpp - what this machine and this process have ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/Memory.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <algorithm>
#include <limits>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

using namespace commute;

static std::string readText(const std::string &path) {
  // These files state no size.
  auto buffer = llvm::MemoryBuffer::getFileAsStream(path);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static std::optional<int64_t> readNumber(const std::string &path) {
  int64_t number = 0;
  std::string text = readText(path);
  if (!llvm::to_integer(llvm::StringRef(text).trim(), number))
    return std::nullopt;
  return number;
}

std::optional<int64_t> commute::parseMemoryLine(llvm::StringRef text,
                                                llvm::StringRef name) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    auto [key, value] = line.split(':');
    int64_t number = 0;
    if (key.trim() == name && value.consume_back(" kB") &&
        llvm::to_integer(value.trim(), number) && number >= 0)
      return number * 1024;
  }
  return std::nullopt;
}

/// Returns what the control groups of this process, and those that contain
/// them, leave.
static int64_t getMemoryOfGroups() {
  int64_t left = std::numeric_limits<int64_t>::max();
  std::string groups = readText("/proc/self/cgroup");
  for (llvm::StringRef line : llvm::split(llvm::StringRef(groups), '\n')) {
    // "0::/path" of the second version, "7:memory:/path" of the first one.
    auto [controllers, path] = line.split(':').second.split(':');
    bool isSecond = controllers.empty();
    if (path.empty() || (!isSecond && controllers != "memory"))
      continue;
    std::string root = isSecond ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    std::string names[] = {isSecond ? "/memory.max" : "/memory.limit_in_bytes",
                           isSecond ? "/memory.current"
                                    : "/memory.usage_in_bytes"};
    llvm::StringRef folder = path.rtrim('/');
    while (true) {
      std::optional<int64_t> limit = readNumber(root + folder.str() + names[0]);
      std::optional<int64_t> used = readNumber(root + folder.str() + names[1]);
      if (limit && used)
        left = std::min(left, std::max<int64_t>(*limit - *used, 0));
      if (folder.empty())
        break;
      folder = folder.rsplit('/').first;
    }
  }
  return left;
}

int64_t commute::getUsedMemory() {
  std::string text = readText("/proc/self/statm");
  int64_t pages = 0;
  llvm::StringRef resident = llvm::StringRef(text).split(' ').second;
  if (!llvm::to_integer(resident.split(' ').first, pages))
    return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

int64_t commute::getAvailableMemory() {
  int64_t available = getMemoryOfGroups();
  if (std::optional<int64_t> free =
          parseMemoryLine(readText("/proc/meminfo"), "MemAvailable"))
    available = std::min(available, *free);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    int64_t pages = 0;
    std::string text = readText("/proc/self/statm");
    if (llvm::to_integer(llvm::StringRef(text).split(' ').first, pages))
      available = std::min(
          available, std::max<int64_t>(static_cast<int64_t>(limit.rlim_cur) -
                                           pages * sysconf(_SC_PAGESIZE),
                                       0));
  }
  return available;
}

int64_t commute::getDefaultProofMemory() {
  constexpr int64_t most = int64_t(4) << 30;
  return std::min(most, getAvailableMemory() / 2);
}
