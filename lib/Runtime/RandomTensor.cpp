//===- RandomTensor.cpp - random tensors and their blocks -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RandomTensor.h"

#include "Kernels.h"

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

/// The finalizer of splitmix64: every bit of the result depends on all bits.
static uint64_t mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

TensorValue RandomTensor::generate(ArrayRef<int64_t> wholeSizes,
                                   ArrayRef<int64_t> starts,
                                   ArrayRef<int64_t> sizes,
                                   Type elementType) const {
  std::shared_ptr<Tensor> result = Tensor::allocate(sizes, elementType);
  uint64_t key = mix(seed ^ mix(argument ^ mix(instance)));
  SmallVector<int64_t> strides[] = {getRowMajorStrides(wholeSizes)};
  int64_t first = 0;
  for (auto [start, stride] : llvm::zip_equal(starts, strides[0]))
    first += start * stride;
  ElementKind kind = result->getKind();
  uint64_t bound = kind == ElementKind::Bool ? 2 : integerBound;
  // A uniform distribution of variance 1 has the bounds +-sqrt(3).
  double width = 1.7320508075688772 * scale * 0x1p-62;
  unsigned numBytes = runtime::getNumBytes(kind);
  std::byte *output = result->getMutableData();
  SmallVector<int64_t> walkSizes(sizes);
  coalesceDims(walkSizes, strides);
  int64_t rowSize = walkSizes.pop_back_val();
  int64_t rowStride = strides[0].pop_back_val();
  auto fillRows = [&](auto zero, auto toNumber) {
    std::vector<decltype(zero)> row(rowSize);
    forEachOffset(walkSizes, strides, [&](ArrayRef<int64_t> offsets) {
      for (int64_t index = 0; index < rowSize; ++index)
        row[index] =
            toNumber(mix(key ^ (first + offsets[0] + index * rowStride)));
      storeElements(kind, row.data(), rowSize, output);
      output += rowSize * numBytes;
    });
  };
  if (isFloat(kind))
    fillRows(double(), [&](uint64_t bits) {
      // Exact, in [-2^62, 2^62).
      return double(int64_t(bits) >> 1) * width;
    });
  else
    fillRows(int64_t(), [&](uint64_t bits) { return int64_t(bits % bound); });
  return result;
}
