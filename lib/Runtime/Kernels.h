//===- Kernels.h - what is computed on dense tensors ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Kernels give a null value for operands that do not fit together, and say why
// in `failure`.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_KERNELS_H
#define COMMUTE_LIB_RUNTIME_KERNELS_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Runtime/Tensor.h"

#include <array>

namespace commute::runtime {

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TensorValue mapElements(tp::MapFunction function,
                        llvm::ArrayRef<const Tensor *> operands,
                        mlir::Type type, std::string &failure);
TensorValue castElements(const Tensor &input, mlir::Type type);
TensorValue fill(const llvm::APFloat &value, llvm::ArrayRef<int64_t> sizes,
                 mlir::Type type);
TensorValue fill(int64_t value, llvm::ArrayRef<int64_t> sizes, mlir::Type type);

/// Computes `function` on arrays of Compute (int64_t, float, double). Unused
/// operands are null. False for an integer division by zero, and for a function
/// that these numbers do not have.
template <typename Compute>
bool computeFunction(tp::MapFunction function, const Compute *a,
                     const Compute *b, const Compute *c, Compute *result,
                     size_t count);

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

TensorValue reduceElements(tp::ReductionKind kind, const Tensor &input,
                           llvm::ArrayRef<int64_t> dims, bool keepDims,
                           mlir::Type type);
/// Tensors of one shape combined element by element, in order.
TensorValue combineTensors(tp::ReductionKind kind,
                           llvm::ArrayRef<const Tensor *> inputs,
                           mlir::Type type, std::string &failure);
TensorValue sumCumulatively(const Tensor &input, unsigned dim, mlir::Type type);

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

struct MatmulOperand {
  const Tensor &tensor;
  /// Whether the last two dims are read the other way round.
  bool isTransposed = false;
};
/// The bias has one element a column, or is null.
TensorValue multiplyMatrices(MatmulOperand lhs, MatmulOperand rhs,
                             const Tensor *bias, mlir::Type type,
                             std::string &failure);
/// Threads that matrix products of the calling thread may use.
void setNumKernelThreads(unsigned count);

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// A dense tensor whose elements are those of `input` at `start` plus an index
/// times `strides`, in elements.
TensorValue gatherStrided(const Tensor &input, llvm::ArrayRef<int64_t> sizes,
                          llvm::ArrayRef<int64_t> strides, int64_t start = 0);
TensorValue takeRows(const Tensor &table, const Tensor &indices, unsigned dim,
                     bool wrapsNegative, std::string &failure);
TensorValue concatenate(llvm::ArrayRef<const Tensor *> inputs, unsigned dim,
                        std::string &failure);

/// Sizes of operands broadcast against each other; false when they do not fit.
bool broadcastSizes(llvm::ArrayRef<int64_t> operand,
                    llvm::SmallVectorImpl<int64_t> &sizes);
/// Strides of a dense operand broadcast to `sizes`: 0 where it is repeated.
llvm::SmallVector<int64_t> getBroadcastStrides(llvm::ArrayRef<int64_t> operand,
                                               llvm::ArrayRef<int64_t> sizes);

/// Joins neighbouring dims that are walked as one by all tensors, and drops
/// those of size 1. Leaves one dim at least.
void coalesceDims(
    llvm::SmallVectorImpl<int64_t> &sizes,
    llvm::MutableArrayRef<llvm::SmallVector<int64_t>> tensorStrides);

/// Calls `visit` with the offset in each of several strided tensors, for all
/// indices of `sizes` in row-major order.
template <typename Visitor>
void forEachOffset(llvm::ArrayRef<int64_t> sizes,
                   llvm::ArrayRef<llvm::SmallVector<int64_t>> tensorStrides,
                   Visitor visit) {
  llvm::SmallVector<int64_t> index(sizes.size());
  llvm::SmallVector<int64_t, 4> offsets(tensorStrides.size());
  for (int64_t left = getNumElements(sizes); left > 0; --left) {
    visit(llvm::ArrayRef<int64_t>(offsets));
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

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_KERNELS_H
