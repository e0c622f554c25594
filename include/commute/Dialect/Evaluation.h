//===- Evaluation.h - the algebra that ops are evaluated over ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Ops state what they compute through these primitives, once. Running a program
// (floating point) and comparing two programs (a prime field, where scalar
// nonlinearities are random functions) are two implementations of `Algebra`.
// Row-wise ops are stated by their scalar steps, so that only scalars are
// opaque to the prime field; an algebra may still recognise a whole op and
// compute it by a fused kernel (`tryWhole`).
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_EVALUATION_H
#define COMMUTE_DIALECT_EVALUATION_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

#include <memory>

namespace commute::tp {

class GroupAttr;
enum class MapFunction : uint32_t;
enum class ReductionKind : uint32_t;

/// A tensor of some algebra on one rank; only that algebra looks inside.
using AlgebraValue = std::shared_ptr<const void>;

/// Tensors with concrete sizes, and what can be done to them on one rank.
/// `type` is the element type that the result is rounded to; an algebra without
/// rounding ignores it.
class Algebra {
public:
  virtual ~Algebra() = default;

  /// Lets an algebra compute `op` in one kernel; false to go by the primitives.
  virtual bool tryWhole(mlir::Operation *op,
                        mlir::ArrayRef<AlgebraValue> operands,
                        mlir::SmallVectorImpl<AlgebraValue> &results) = 0;

  virtual mlir::ArrayRef<int64_t> getSizes(const AlgebraValue &value) = 0;

  virtual AlgebraValue constant(mlir::TypedAttr value,
                                mlir::ArrayRef<int64_t> sizes,
                                mlir::Type type) = 0;
  virtual AlgebraValue iota(int64_t size, unsigned dim,
                            mlir::ArrayRef<int64_t> sizes, mlir::Type type) = 0;
  virtual AlgebraValue map(MapFunction function,
                           mlir::ArrayRef<AlgebraValue> operands,
                           mlir::Type type) = 0;
  virtual AlgebraValue cast(const AlgebraValue &input, mlir::Type type) = 0;
  virtual AlgebraValue reduce(ReductionKind kind, const AlgebraValue &input,
                              mlir::ArrayRef<int64_t> dims, bool keepDims,
                              mlir::Type type) = 0;
  virtual AlgebraValue cumulativeSum(const AlgebraValue &input, unsigned dim,
                                     mlir::Type type) = 0;
  /// Batched product of [..., M, K] and [..., K, N].
  virtual AlgebraValue matmul(const AlgebraValue &lhs, const AlgebraValue &rhs,
                              mlir::Type type) = 0;
  virtual AlgebraValue take(const AlgebraValue &table,
                            const AlgebraValue &indices, unsigned dim,
                            bool wrapsNegative) = 0;

  virtual AlgebraValue reshape(const AlgebraValue &input,
                               mlir::ArrayRef<int64_t> sizes) = 0;
  virtual AlgebraValue permute(const AlgebraValue &input,
                               mlir::ArrayRef<int64_t> permutation) = 0;
  virtual AlgebraValue slice(const AlgebraValue &input, unsigned dim,
                             int64_t start, int64_t step, int64_t size) = 0;
  virtual AlgebraValue concat(mlir::ArrayRef<AlgebraValue> inputs,
                              unsigned dim) = 0;
  virtual AlgebraValue broadcast(const AlgebraValue &input,
                                 mlir::ArrayRef<int64_t> sizes) = 0;

  /// The values of all members of this rank's group, in their order. All
  /// collectives are stated by this exchange and local primitives.
  virtual mlir::FailureOr<mlir::SmallVector<AlgebraValue>>
  exchange(mlir::Operation *op, GroupAttr group, const AlgebraValue &input) = 0;
  /// This rank's position in the group.
  virtual mlir::FailureOr<int64_t> getPosition(GroupAttr group) = 0;
};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_EVALUATION_H
