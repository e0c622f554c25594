//===- StridedWalk.cpp - where elements of dense tensors lie ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/StridedWalk.h"

using namespace mlir;
using namespace commute;
using namespace commute::tp;

int64_t tp::getNumElements(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

SmallVector<int64_t> tp::getRowMajorStrides(ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride *= sizes[dim];
  }
  return strides;
}

SmallVector<int64_t> tp::getBroadcastStrides(ArrayRef<int64_t> operand,
                                             ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> own = getRowMajorStrides(operand);
  SmallVector<int64_t> strides(sizes.size(), 0);
  size_t offset = sizes.size() - operand.size();
  for (size_t dim = 0; dim < operand.size(); ++dim)
    if (operand[dim] != 1)
      strides[offset + dim] = own[dim];
  return strides;
}

bool tp::broadcastSizes(ArrayRef<int64_t> operand,
                        SmallVectorImpl<int64_t> &sizes) {
  if (operand.size() > sizes.size())
    sizes.insert(sizes.begin(), operand.size() - sizes.size(), 1);
  size_t offset = sizes.size() - operand.size();
  for (auto [dim, size] : llvm::enumerate(operand)) {
    int64_t &common = sizes[offset + dim];
    if (size == common || size == 1)
      continue;
    if (common != 1)
      return false;
    common = size;
  }
  return true;
}

StridedView tp::getPermutedView(ArrayRef<int64_t> sizes,
                                ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> own = getRowMajorStrides(sizes);
  StridedView view;
  for (int64_t dim : permutation) {
    view.sizes.push_back(sizes[dim]);
    view.strides.push_back(own[dim]);
  }
  return view;
}

StridedView tp::getSliceView(ArrayRef<int64_t> sizes, unsigned dim,
                             int64_t start, int64_t step, int64_t size) {
  StridedView view{SmallVector<int64_t>(sizes), getRowMajorStrides(sizes)};
  // An empty slice may start anywhere, and the step of a single index may be
  // any number.
  view.start = size == 0 ? 0 : start * view.strides[dim];
  view.strides[dim] *= size > 1 ? step : 1;
  view.sizes[dim] = size;
  return view;
}
