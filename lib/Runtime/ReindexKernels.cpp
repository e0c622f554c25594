//===- ReindexKernels.cpp - kernels that move elements ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "KernelThreads.h"
#include "Kernels.h"

#include <cstring>

using namespace mlir;
using namespace commute;
using namespace commute::runtime;

//===----------------------------------------------------------------------===//
// Strided walks
//===----------------------------------------------------------------------===//

void runtime::coalesceDims(
    SmallVectorImpl<int64_t> &sizes,
    MutableArrayRef<SmallVector<int64_t>> tensorStrides) {
  // Merged dims are stored at the front; `last` is the last of them.
  std::optional<size_t> last;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    if (sizes[dim] == 1)
      continue;
    bool joins = last && llvm::all_of(tensorStrides, [&](const auto &strides) {
                   return strides[*last] == strides[dim] * sizes[dim];
                 });
    if (!joins)
      last = last ? *last + 1 : 0;
    sizes[*last] = joins ? sizes[*last] * sizes[dim] : sizes[dim];
    for (SmallVector<int64_t> &strides : tensorStrides)
      strides[*last] = strides[dim];
  }
  size_t rank = last ? *last + 1 : 0;
  sizes.resize(rank);
  for (SmallVector<int64_t> &strides : tensorStrides)
    strides.resize(rank);
  if (rank > 0)
    return;
  sizes.push_back(1);
  for (SmallVector<int64_t> &strides : tensorStrides)
    strides.push_back(0);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Copies a matrix with strides `rowStride` and `columnStride` to dense memory,
/// in square tiles, so that neither side misses the cache at every element.
template <typename Element>
static void copyMatrix(const Element *source, int64_t rowStride,
                       int64_t columnStride, int64_t rows, int64_t columns,
                       Element *target) {
  constexpr int64_t square = 32;
  for (int64_t row = 0; row < rows; row += square)
    for (int64_t column = 0; column < columns; column += square)
      for (int64_t i = row; i < std::min(rows, row + square); ++i)
        for (int64_t j = column; j < std::min(columns, column + square); ++j)
          target[i * columns + j] = source[i * rowStride + j * columnStride];
}

template <typename Element>
static void copyStrided(const Element *source, Element *target,
                        SmallVector<int64_t> sizes,
                        SmallVector<int64_t> strides) {
  int64_t columns = sizes.pop_back_val();
  int64_t columnStride = strides.pop_back_val();
  if (columnStride == 1) {
    forEachOffset(
        sizes, SmallVector<int64_t>(strides), [&](ArrayRef<int64_t> offsets) {
          std::memcpy(target, source + offsets[0], columns * sizeof(Element));
          target += columns;
        });
    return;
  }
  int64_t rows = sizes.empty() ? 1 : sizes.pop_back_val();
  int64_t rowStride = strides.empty() ? 0 : strides.pop_back_val();
  forEachOffset(sizes, SmallVector<int64_t>(strides),
                [&](ArrayRef<int64_t> offsets) {
                  copyMatrix(source + offsets[0], rowStride, columnStride, rows,
                             columns, target);
                  target += rows * columns;
                });
}

TensorValue runtime::gatherStrided(const Tensor &input,
                                   const tp::StridedView &view) {
  ArrayRef<int64_t> sizes = view.sizes, strides = view.strides;
  int64_t start = view.start;
  unsigned numBytes = runtime::getNumBytes(input.getKind());
  // Share the memory of a dense view. Exclude empty ones, which have no
  // address.
  bool isDense = runtime::getNumElements(sizes) > 0;
  SmallVector<int64_t> dense = getRowMajorStrides(sizes);
  for (auto [dim, size] : llvm::enumerate(sizes))
    isDense &= size == 1 || strides[dim] == dense[dim];
  if (isDense)
    return std::make_shared<Tensor>(
        sizes, input.getElementType(),
        std::shared_ptr<const std::byte>(input.getSharedData(),
                                         input.getData() + start * numBytes));

  std::shared_ptr<Tensor> result =
      Tensor::allocate(sizes, input.getElementType());
  if (result->getNumElements() == 0)
    return result;
  SmallVector<int64_t> walkSizes(sizes);
  SmallVector<int64_t> walkStrides[] = {SmallVector<int64_t>(strides)};
  coalesceDims(walkSizes, walkStrides);
  auto copy = [&](auto element) {
    using Element = decltype(element);
    int64_t elementsEach = getRowMajorStrides(walkSizes).front();
    forEachPart(walkSizes.front(),
                llvm::divideCeil(leastElementsOfThread, elementsEach),
                [&](int64_t begin, int64_t end) {
                  SmallVector<int64_t> partSizes(walkSizes);
                  partSizes.front() = end - begin;
                  copyStrided(input.getDataAs<Element>() + start +
                                  begin * walkStrides[0].front(),
                              result->getMutableDataAs<Element>() +
                                  begin * elementsEach,
                              partSizes, walkStrides[0]);
                });
  };
  switch (numBytes) {
  case 1:
    copy(uint8_t());
    break;
  case 2:
    copy(uint16_t());
    break;
  case 4:
    copy(uint32_t());
    break;
  default:
    copy(uint64_t());
    break;
  }
  return result;
}

TensorValue runtime::concatenate(ArrayRef<const Tensor *> inputs, unsigned dim,
                                 std::string &failure) {
  const Tensor &first = *inputs.front();
  SmallVector<int64_t> sizes(first.getSizes());
  sizes[dim] = 0;
  for (const Tensor *input : inputs) {
    SmallVector<int64_t> own(input->getSizes());
    bool fits =
        own.size() == sizes.size() && input->getKind() == first.getKind();
    if (fits) {
      sizes[dim] += own[dim];
      own[dim] = sizes[dim];
    }
    if (!fits || own != sizes) {
      failure = "tensors of sizes " + formatSizes(first.getSizes()) + " and " +
                formatSizes(input->getSizes()) +
                " cannot be concatenated along dim " + std::to_string(dim);
      return nullptr;
    }
  }
  std::shared_ptr<Tensor> result =
      Tensor::allocate(sizes, first.getElementType());
  if (result->getNumElements() == 0)
    return result;
  int64_t outer =
      runtime::getNumElements(ArrayRef<int64_t>(sizes).take_front(dim));
  std::byte *output = result->getMutableData();
  for (int64_t block = 0; block < outer; ++block)
    for (const Tensor *input : inputs) {
      size_t numBytes = input->getNumBytes() / outer;
      std::memcpy(output, input->getData() + block * numBytes, numBytes);
      output += numBytes;
    }
  return result;
}
