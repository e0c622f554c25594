//===- Kernels.h - what is computed on dense tensors ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Kernels give a null value for operands that do not match, and say why
// in `failure`.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_KERNELS_H
#define COMMUTE_LIB_RUNTIME_KERNELS_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Runtime/Tensor.h"

#include <array>

namespace commute::runtime {

using tp::broadcastSizes;
using tp::forEachOffset;
using tp::getBroadcastStrides;
using tp::getRowMajorStrides;

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

TensorValue mapElements(tp::MapFunction function,
                        llvm::ArrayRef<const Tensor *> operands,
                        mlir::Type type, std::string &failure);
TensorValue castElements(const Tensor &input, mlir::Type type);
/// Into a tensor of as many elements.
void castElementsInto(const Tensor &input, Tensor &result);
TensorValue fill(const llvm::APFloat &value, llvm::ArrayRef<int64_t> sizes,
                 mlir::Type type);
TensorValue fill(int64_t value, llvm::ArrayRef<int64_t> sizes, mlir::Type type);

/// Computes `function` on arrays of Compute (int64_t, uint64_t, float, double).
/// Unused operands are null. False for an integer division by zero, and for a
/// function that these numbers do not have.
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
/// The inputs are of one type, and all tensors have as many elements.
void combineTensorsInto(tp::ReductionKind kind,
                        llvm::ArrayRef<const Tensor *> inputs, Tensor &result);
TensorValue sumCumulatively(const Tensor &input, unsigned dim, mlir::Type type);

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

class PackedMatrix;

/// The right-hand side that several products share, in the layout in which they
/// read it fastest: the first of them makes it where that pays.
struct SharedPacking {
  /// Rows that are multiplied with it, in all products together.
  int64_t numRows;
  std::shared_ptr<const PackedMatrix> packed;
};

struct MatmulOperand {
  const Tensor &tensor;
  /// Whether the last two dims are read the other way round.
  bool isTransposed = false;
  /// Of a right-hand side; null where one product only reads it.
  SharedPacking *packing = nullptr;
};
/// The bias has one element a column, or is null.
TensorValue multiplyMatrices(MatmulOperand lhs, MatmulOperand rhs,
                             const Tensor *bias, mlir::Type type,
                             std::string &failure);
/// Into a tensor of the product's sizes; false for matrices that do not fit.
bool multiplyMatricesInto(MatmulOperand lhs, MatmulOperand rhs,
                          const Tensor *bias, Tensor &result,
                          std::string &failure);

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// The elements of a view of `input`, densely.
TensorValue gatherStrided(const Tensor &input, const tp::StridedView &view);
TensorValue takeRows(const Tensor &table, const Tensor &indices, unsigned dim,
                     bool wrapsNegative, std::string &failure);
TensorValue concatenate(llvm::ArrayRef<const Tensor *> inputs, unsigned dim,
                        std::string &failure);

/// Joins neighbouring dims that are walked as one by all tensors, and drops
/// those of size 1. Leaves one dim at least.
void coalesceDims(
    llvm::SmallVectorImpl<int64_t> &sizes,
    llvm::MutableArrayRef<llvm::SmallVector<int64_t>> tensorStrides);

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_KERNELS_H
