//===- Tensor.cpp - dense tensors in memory ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Tensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Compiler.h"
#include "llvm/Support/MemAlloc.h"

#include <atomic>
#include <map>
#include <mutex>
#include <sys/resource.h>
#include <unistd.h>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

Tensor::Tensor(ArrayRef<int64_t> sizes, Type elementType,
               std::shared_ptr<const std::byte> data)
    : AlgebraTensor(sizes, elementType), kind(*getElementKind(elementType)),
      data(std::move(data)) {}

namespace {
/// Caches large blocks that tensors have freed. The system zeroes new pages on
/// first use, which can take as long as an op.
class BlockPool {
public:
  static constexpr size_t alignment = 64;

  /// Returns a block of at least `numBytes` bytes, and sets `numBytes` to its
  /// size.
  std::byte *take(size_t &numBytes) {
    // Allocate whole cache lines, and at least one: every tensor has an
    // address.
    numBytes = std::max(llvm::alignTo(numBytes, alignment), alignment);
    std::byte *block = find(numBytes);
    numUsed += numBytes;
    return block ? block
                 : static_cast<std::byte *>(
                       llvm::allocate_buffer(numBytes, alignment));
  }

  void giveBack(std::byte *block, size_t numBytes) {
    numUsed -= numBytes;
    // Do not cache under the address sanitizer, which must see what is freed.
    if (numBytes >= leastKept && !LLVM_ADDRESS_SANITIZER_BUILD) {
      std::lock_guard<std::mutex> lock(mutex);
      if (numBytes <= mostKept - numKept) {
        blocks.emplace(numBytes, block);
        numKept += numBytes;
        return;
      }
    }
    llvm::deallocate_buffer(block, numBytes, alignment);
  }

  /// Number of bytes in use by tensors.
  uint64_t getNumUsed() const { return numUsed; }

private:
  /// Returns a cached block, or null if none fits.
  std::byte *find(size_t &numBytes) {
    if (numBytes >= leastKept) {
      std::lock_guard<std::mutex> lock(mutex);
      auto found = blocks.lower_bound(numBytes);
      // Do not use a much larger block, which another tensor may need.
      if (found != blocks.end() && found->first <= numBytes + numBytes / 4) {
        auto [size, block] = *found;
        blocks.erase(found);
        numKept -= size;
        numBytes = size;
        return block;
      }
    }
    return nullptr;
  }

  static constexpr size_t leastKept = 64 << 10;
  static constexpr size_t mostKept = 256 << 20;

  std::mutex mutex;
  std::multimap<size_t, std::byte *> blocks;
  size_t numKept = 0;
  std::atomic<uint64_t> numUsed = 0;
};
} // namespace

/// Never destroyed, because tensors may outlive static objects.
static BlockPool &getPool() {
  static auto *pool = new BlockPool();
  return *pool;
}

std::shared_ptr<Tensor> Tensor::allocate(ArrayRef<int64_t> sizes,
                                         Type elementType) {
  size_t numBytes = runtime::getNumElements(sizes) *
                    runtime::getNumBytes(*getElementKind(elementType));
  std::byte *block = getPool().take(numBytes);
  std::shared_ptr<const std::byte> data(
      block, [=](const std::byte *) { getPool().giveBack(block, numBytes); });
  return std::make_shared<Tensor>(sizes, elementType, std::move(data));
}

std::string runtime::formatSizes(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sizes, os);
  os << ']';
  return text;
}

/// Returns the number of bytes of memory that this process may use.
static uint64_t getMemory() {
  uint64_t memory = uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    memory = std::min<uint64_t>(memory, limit.rlim_cur);
  return memory;
}

llvm::Error runtime::checkMemory(ArrayRef<int64_t> sizes, Type elementType) {
  static const uint64_t memory = getMemory();
  uint64_t numBytes = getNumBytes(*getElementKind(elementType));
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(numBytes, uint64_t(size), &numBytes))
      numBytes = ~uint64_t(0) / 2;
  if (numBytes > memory)
    return llvm::createStringError("a tensor of sizes " + formatSizes(sizes) +
                                   " is larger than this machine's memory");
  uint64_t numUsed = getPool().getNumUsed();
  if (numUsed > memory - numBytes)
    return llvm::createStringError(
        "a tensor of sizes " + formatSizes(sizes) + " takes " +
        Twine(numBytes >> 20) + " MiB, but the tensors of all ranks hold " +
        Twine(numUsed >> 20) + " of the " + Twine(memory >> 20) +
        " MiB that this process may use");
  return llvm::Error::success();
}
