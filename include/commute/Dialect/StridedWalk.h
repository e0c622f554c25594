//===- StridedWalk.h - where elements of dense tensors lie ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Iteration over the elements of a dense row-major tensor in another order, for
// the evaluation in both algebras, where sizes are numbers. SymbolicSize.h has
// the symbolic strides of tensor types.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_STRIDEDWALK_H
#define COMMUTE_DIALECT_STRIDEDWALK_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <array>

namespace commute::tp {

/// Returns the product of sizes.
int64_t getNumElements(llvm::ArrayRef<int64_t> sizes);
/// Returns the strides of a dense row-major tensor.
llvm::SmallVector<int64_t> getRowMajorStrides(llvm::ArrayRef<int64_t> sizes);
/// Returns the strides of a dense operand broadcast to `sizes`: 0 along
/// repeated dims.
llvm::SmallVector<int64_t> getBroadcastStrides(llvm::ArrayRef<int64_t> operand,
                                               llvm::ArrayRef<int64_t> sizes);
/// Extends `sizes` by those of an operand that is broadcast against the others.
/// Returns false if they cannot be broadcast together.
bool broadcastSizes(llvm::ArrayRef<int64_t> operand,
                    llvm::SmallVectorImpl<int64_t> &sizes);

/// The elements of a dense tensor in another order: the element at an index is
/// at offset `start` plus the inner product of index and `strides`.
struct StridedView {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
  int64_t start = 0;
};
StridedView getPermutedView(llvm::ArrayRef<int64_t> sizes,
                            llvm::ArrayRef<int64_t> permutation);
/// The slice lies within the tensor.
StridedView getSliceView(llvm::ArrayRef<int64_t> sizes, unsigned dim,
                         int64_t start, int64_t step, int64_t size);

namespace detail {
template <typename Strides, typename Offsets, typename Visitor>
void forEachOffset(llvm::ArrayRef<int64_t> sizes, const Strides &tensorStrides,
                   Offsets offsets, Visitor visit) {
  llvm::SmallVector<int64_t> index(sizes.size());
  for (int64_t left = getNumElements(sizes); left > 0; --left) {
    visit(offsets);
    for (size_t dim = sizes.size(); dim-- > 0;) {
      for (auto [offset, strides] : llvm::zip_equal(offsets, tensorStrides))
        offset += strides[dim];
      if (++index[dim] < sizes[dim])
        break;
      for (auto [offset, strides] : llvm::zip_equal(offsets, tensorStrides))
        offset -= strides[dim] * sizes[dim];
      index[dim] = 0;
    }
  }
}
} // namespace detail

/// Calls `visit` with the offset in each of several strided tensors, for all
/// indices of `sizes` in row-major order.
template <typename Visitor>
void forEachOffset(llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> tensorStrides,
                   Visitor visit) {
  detail::forEachOffset(sizes, tensorStrides,
                        llvm::SmallVector<int64_t, 4>(tensorStrides.size()),
                        [&](const llvm::SmallVector<int64_t, 4> &offsets) {
                          visit(llvm::ArrayRef<int64_t>(offsets));
                        });
}
/// The same for a number of tensors that is known at compile time.
template <size_t count, typename Visitor>
void forEachOffset(
    llvm::ArrayRef<int64_t> sizes,
    const std::array<llvm::SmallVector<int64_t>, count> &tensorStrides,
    Visitor visit) {
  detail::forEachOffset(sizes, tensorStrides, std::array<int64_t, count>{},
                        visit);
}

} // namespace commute::tp

#endif // COMMUTE_DIALECT_STRIDEDWALK_H
