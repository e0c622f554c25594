//===- Kernels.h - kernels on dense tensors ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// If operands do not match, kernels return null and set `failure` to the
// reason.
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
/// Casts into `result`, which must have the same number of elements.
void castElementsInto(const Tensor &input, Tensor &result);
TensorValue fill(const llvm::APFloat &value, llvm::ArrayRef<int64_t> sizes,
                 mlir::Type type);
TensorValue fill(int64_t value, llvm::ArrayRef<int64_t> sizes, mlir::Type type);
/// What stands for uninitialized memory: NaN, or the largest integer.
TensorValue fillUninitialized(llvm::ArrayRef<int64_t> sizes, mlir::Type type);

/// Computes `function` on arrays of Compute (int64_t, uint64_t, float or
/// double). Unused operands are null. Returns false for an integer division by
/// zero, and for a function that is not defined for this type.
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
/// Combines tensors of one shape element by element, in order.
TensorValue combineTensors(tp::ReductionKind kind,
                           llvm::ArrayRef<const Tensor *> inputs,
                           mlir::Type type, std::string &failure);
/// The inputs must have one type, and all tensors the same number of elements.
void combineTensorsInto(tp::ReductionKind kind,
                        llvm::ArrayRef<const Tensor *> inputs, Tensor &result);
TensorValue sumCumulatively(const Tensor &input, unsigned dim, mlir::Type type);

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

class PackedMatrix;

/// The packed right-hand side that several products share. The first product
/// creates it if this is profitable.
struct SharedPacking {
  /// Total number of rows that are multiplied with it.
  int64_t numRows;
  std::shared_ptr<const PackedMatrix> packed;
};

struct MatmulOperand {
  const Tensor &tensor;
  /// True if the last two dims are transposed.
  bool isTransposed = false;
  /// For a right-hand side that several products share; null otherwise.
  SharedPacking *packing = nullptr;
};
/// The bias has one element per column, or is null.
TensorValue multiplyMatrices(MatmulOperand lhs, MatmulOperand rhs,
                             const Tensor *bias, mlir::Type type,
                             std::string &failure);
/// Multiplies into `result`. Returns false if the sizes do not match.
bool multiplyMatricesInto(MatmulOperand lhs, MatmulOperand rhs,
                          const Tensor *bias, Tensor &result,
                          std::string &failure);

/// The product of tp.grouped_matmul. `rest` may be null.
TensorValue multiplyGroupedRows(const Tensor &lhs, const Tensor &rhs,
                                const Tensor &offsets, const Tensor *rest,
                                mlir::Type type, std::string &failure);

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

/// Returns a dense copy of a view of `input`.
TensorValue gatherStrided(const Tensor &input, const tp::StridedView &view);
TensorValue concatenate(llvm::ArrayRef<const Tensor *> inputs, unsigned dim,
                        std::string &failure);

/// Drops dims of size 1, and merges adjacent dims that are contiguous in all
/// tensors. Leaves at least one dim.
void coalesceDims(
    llvm::SmallVectorImpl<int64_t> &sizes,
    llvm::MutableArrayRef<llvm::SmallVector<int64_t>> tensorStrides);

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

/// The kernels of tp.take, tp.take_along, tp.scatter and tp.sort. An index
/// outside of its dim is a failure.
TensorValue takeRows(const Tensor &table, const Tensor &indices, unsigned dim,
                     bool wrapsNegative, std::string &failure);
TensorValue takeElements(const Tensor &table, const Tensor &indices,
                         unsigned dim, std::string &failure);
TensorValue scatterElements(const Tensor &input, const Tensor &indices,
                            const Tensor &updates, unsigned dim,
                            bool accumulates, bool wrapsNegative,
                            std::string &failure);
/// Returns the indices of the first `count` elements of each sorted row.
TensorValue sortRows(const Tensor &input, unsigned dim, bool descending,
                     int64_t count, mlir::Type type);

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_KERNELS_H
