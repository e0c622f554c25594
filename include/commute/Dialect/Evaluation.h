//===- Evaluation.h - the algebra that ops are evaluated over ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Each op defines its semantics once, in terms of these primitives. `Algebra`
// has two implementations: one in floating point, to run a program, and one in
// a prime field, where scalar nonlinearities are random functions, to compare
// two programs. Row-wise ops are decomposed into scalar functions, so that only
// scalar functions are opaque to the prime field. An algebra may still compute
// an op by one fused kernel (`tryWhole`).
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_EVALUATION_H
#define COMMUTE_DIALECT_EVALUATION_H

#include "mlir/IR/BuiltinAttributeInterfaces.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

#include <memory>

namespace commute::tp {

class GroupAttr;
enum class MapFunction : uint32_t;
enum class ReductionKind : uint32_t;

/// The common base class of tensors of all algebras, on one rank.
class AlgebraTensor {
public:
  AlgebraTensor(llvm::ArrayRef<int64_t> sizes, mlir::Type elementType)
      : sizes(sizes), elementType(elementType) {}
  virtual ~AlgebraTensor() = default;

  llvm::ArrayRef<int64_t> getSizes() const { return sizes; }
  int64_t getRank() const { return sizes.size(); }
  int64_t getNumElements() const {
    int64_t count = 1;
    for (int64_t size : sizes)
      count *= size;
    return count;
  }
  mlir::Type getElementType() const { return elementType; }

private:
  llvm::SmallVector<int64_t, 4> sizes;
  mlir::Type elementType;
};

/// Tensors are immutable and shared.
using AlgebraValue = std::shared_ptr<const AlgebraTensor>;

/// How rows are sorted.
struct SortOrder {
  bool isDescending = false;
  /// The algorithm that determines the order of equal elements; empty if they
  /// keep their order. An evaluation on numbers may always keep it.
  llvm::StringRef algorithm = {};
  /// The number of elements at the beginning of each sorted row that are
  /// returned; all if nullopt.
  std::optional<int64_t> count = {};
  /// The algorithm determines the order of all elements that it returns.
  bool isUnordered = false;
};

/// The operations on tensors of one rank. Sizes are concrete and legal, because
/// ops are verified before they are evaluated. `type` is the element type of
/// the result.
class Algebra {
public:
  virtual ~Algebra() = default;

  /// Returns the sizes of a tensor type for the values of its symbols in this
  /// evaluation. Fails if a value is unknown.
  virtual mlir::FailureOr<llvm::SmallVector<int64_t>>
  getSizes(mlir::RankedTensorType type) = 0;

  /// Lets an algebra compute `op` in one kernel. Returns false if the op must
  /// be decomposed into the primitives.
  virtual bool tryWhole(mlir::Operation *op,
                        mlir::ArrayRef<AlgebraValue> operands,
                        mlir::SmallVectorImpl<AlgebraValue> &results) = 0;

  //===--------------------------------------------------------------------===//
  // Elements
  //===--------------------------------------------------------------------===//

  virtual AlgebraValue constant(mlir::TypedAttr value,
                                mlir::ArrayRef<int64_t> sizes,
                                mlir::Type type) = 0;
  /// Returns the vector of start + i * step.
  virtual AlgebraValue iota(mlir::TypedAttr start, mlir::TypedAttr step,
                            int64_t size, mlir::Type type) = 0;
  /// Applies a function elementwise with broadcasting, in the promoted type of
  /// the operands.
  virtual AlgebraValue map(MapFunction function,
                           mlir::ArrayRef<AlgebraValue> operands,
                           mlir::Type type) = 0;
  virtual AlgebraValue cast(const AlgebraValue &input, mlir::Type type) = 0;
  /// Reinterprets the bits as another type of the same width.
  virtual AlgebraValue bitcast(const AlgebraValue &input, mlir::Type type) = 0;
  virtual AlgebraValue reduce(ReductionKind kind, const AlgebraValue &input,
                              mlir::ArrayRef<int64_t> dims, bool keepDims,
                              mlir::Type type) = 0;
  virtual AlgebraValue cumulativeSum(const AlgebraValue &input, unsigned dim,
                                     mlir::Type type) = 0;
  /// Returns the product of [..., M, K] and [..., K, N] with batch dims
  /// broadcast.
  virtual AlgebraValue matmul(const AlgebraValue &lhs, const AlgebraValue &rhs,
                              mlir::Type type) = 0;

  /// Returns the product of tp.grouped_matmul. `rest` may be null.
  virtual AlgebraValue multiplyGroups(const AlgebraValue &lhs,
                                      const AlgebraValue &rhs,
                                      const AlgebraValue &offsets,
                                      const AlgebraValue &rest,
                                      mlir::Type type) = 0;
  /// Returns arbitrary elements: the uninitialized memory that `op` allocates.
  virtual AlgebraValue uninitialized(mlir::Operation *op,
                                     mlir::ArrayRef<int64_t> sizes,
                                     mlir::Type type) = 0;

  //===--------------------------------------------------------------------===//
  // Positions
  //===--------------------------------------------------------------------===//

  virtual AlgebraValue take(const AlgebraValue &table,
                            const AlgebraValue &indices, unsigned dim,
                            bool wrapsNegative) = 0;
  /// result[i, j, k] = table[i, indices[i, j, k], k] for dim 1.
  virtual AlgebraValue takeAlong(const AlgebraValue &table,
                                 const AlgebraValue &indices, unsigned dim) = 0;
  /// Returns a copy of `input` in which, for dim 1, element
  /// [i, indices[i, j, k], k] is replaced by updates[i, j, k] or, if
  /// `accumulates`, has it added. If several updates replace one element, the
  /// last one wins.
  virtual AlgebraValue scatter(const AlgebraValue &input,
                               const AlgebraValue &indices,
                               const AlgebraValue &updates, unsigned dim,
                               bool accumulates, bool wrapsNegative) = 0;
  /// Returns, for each row along `dim`, the indices of its elements in sorted
  /// order, or of the first of them. NaN is greater than every number.
  virtual AlgebraValue sortedOrder(const AlgebraValue &input, unsigned dim,
                                   const SortOrder &order, mlir::Type type) = 0;
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

  //===--------------------------------------------------------------------===//
  // Ranks
  //===--------------------------------------------------------------------===//

  /// Sends one tensor to each member of this rank's group, and returns the
  /// tensors received from the members, in their order. All collectives are
  /// composed of this function and local primitives. Failures are already
  /// reported.
  virtual mlir::FailureOr<mlir::SmallVector<AlgebraValue>>
  exchange(mlir::Operation *op, GroupAttr group,
           mlir::ArrayRef<AlgebraValue> toMembers) = 0;
  /// Returns this rank's position in its group. Fails if the rank is not a
  /// member.
  virtual mlir::FailureOr<int64_t> getPosition(GroupAttr group) = 0;

  //===--------------------------------------------------------------------===//
  // Helpers that several ops share
  //===--------------------------------------------------------------------===//

  /// Returns the type that a row-wise op computes in: f32 for narrower floats.
  static mlir::Type getComputeType(mlir::Type type);
  AlgebraValue scalar(double value, mlir::Type type);
  /// Returns a tensor with its last two dims swapped.
  AlgebraValue transpose(const AlgebraValue &input);
  /// Returns lhs @ rhs + bias in element type `type`. Scales (fp8) multiply the
  /// operands first. Bias and scales may be null.
  AlgebraValue linear(AlgebraValue lhs, AlgebraValue rhs,
                      const AlgebraValue &lhsScale,
                      const AlgebraValue &rhsScale, const AlgebraValue &bias,
                      mlir::Type type);
  /// Reduces several tensors of the same shape elementwise, in order.
  AlgebraValue combine(ReductionKind kind, mlir::ArrayRef<AlgebraValue> inputs,
                       mlir::Type type);
};

} // namespace commute::tp

#endif // COMMUTE_DIALECT_EVALUATION_H
