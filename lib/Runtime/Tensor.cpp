//===- Tensor.cpp - dense tensors in memory ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/Tensor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MemAlloc.h"

#include <unistd.h>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

Tensor::Tensor(ArrayRef<int64_t> sizes, Type elementType,
               std::shared_ptr<const std::byte> data)
    : AlgebraTensor(sizes, elementType), kind(*getElementKind(elementType)),
      data(std::move(data)) {}

std::shared_ptr<Tensor> Tensor::allocate(ArrayRef<int64_t> sizes,
                                         Type elementType) {
  constexpr size_t alignment = 64;
  size_t numBytes = runtime::getNumElements(sizes) *
                    runtime::getNumBytes(*getElementKind(elementType));
  // Whole cache lines, and at least one: no tensor is without an address.
  size_t rounded = std::max(llvm::alignTo(numBytes, alignment), alignment);
  auto *memory =
      static_cast<std::byte *>(llvm::allocate_buffer(rounded, alignment));
  std::shared_ptr<const std::byte> data(memory, [=](const std::byte *) {
    llvm::deallocate_buffer(memory, rounded, alignment);
  });
  return std::make_shared<Tensor>(sizes, elementType, std::move(data));
}

SmallVector<int64_t> runtime::getRowMajorStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

int64_t runtime::getNumElements(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

std::string runtime::formatSizes(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(sizes, os);
  os << ']';
  return text;
}

llvm::Error runtime::checkMemory(ArrayRef<int64_t> sizes, Type elementType) {
  static const uint64_t memory =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  uint64_t numBytes = getNumBytes(*getElementKind(elementType));
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(numBytes, uint64_t(size), &numBytes))
      numBytes = ~uint64_t(0) / 2;
  if (numBytes <= memory)
    return llvm::Error::success();
  return llvm::createStringError("a tensor of sizes " + formatSizes(sizes) +
                                 " is larger than this machine's memory");
}
