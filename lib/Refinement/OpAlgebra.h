//===- OpAlgebra.h - collectives as local ops -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_OPALGEBRA_H
#define COMMUTE_LIB_REFINEMENT_OPALGEBRA_H

#include "UniqueOps.h"

#include "commute/Equivalence/LockstepAlgebra.h"

namespace commute::refinement {

/// A tensor that an op of the program computes.
struct OpTensor : tp::AlgebraTensor {
  explicit OpTensor(mlir::Value value)
      : AlgebraTensor(tp::getTensor(value).getShape(),
                      tp::getElementType(value)),
        value(value) {}
  mlir::Value value;
};

/// Evaluates an op of one rank symbolically: the primitives that define the op
/// are appended as ops. An exchange of tensors with other ranks, whose programs
/// are part of the same program, is then a matter of operands.
class OpAlgebra : public equivalence::LockstepAlgebra {
public:
  OpAlgebra(UniqueOps &ops, int64_t rank) : LockstepAlgebra(rank), ops(ops) {}

  /// True if the op is defined by a primitive that is none of a collective.
  bool hasFailed() const { return failed; }

  static tp::AlgebraValue wrap(mlir::Value value) {
    return std::make_shared<OpTensor>(value);
  }
  static mlir::Value unwrap(const tp::AlgebraValue &tensor) {
    return static_cast<const OpTensor &>(*tensor).value;
  }

  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getSizes(mlir::RankedTensorType type) override;
  bool tryWhole(mlir::Operation *, mlir::ArrayRef<tp::AlgebraValue>,
                mlir::SmallVectorImpl<tp::AlgebraValue> &) override {
    return false;
  }
  tp::AlgebraValue constant(mlir::TypedAttr value,
                            mlir::ArrayRef<int64_t> sizes,
                            mlir::Type type) override;
  tp::AlgebraValue iota(mlir::TypedAttr start, mlir::TypedAttr step,
                        int64_t size, mlir::Type type) override;
  tp::AlgebraValue map(tp::MapFunction function,
                       mlir::ArrayRef<tp::AlgebraValue> operands,
                       mlir::Type type) override;
  tp::AlgebraValue bitcast(const tp::AlgebraValue &input,
                           mlir::Type type) override;
  tp::AlgebraValue cast(const tp::AlgebraValue &input,
                        mlir::Type type) override;
  tp::AlgebraValue reduce(tp::ReductionKind kind, const tp::AlgebraValue &input,
                          mlir::ArrayRef<int64_t> dims, bool keepDims,
                          mlir::Type type) override;
  tp::AlgebraValue cumulativeSum(const tp::AlgebraValue &input, unsigned dim,
                                 mlir::Type type) override;
  tp::AlgebraValue matmul(const tp::AlgebraValue &lhs,
                          const tp::AlgebraValue &rhs,
                          mlir::Type type) override;
  tp::AlgebraValue multiplyGroups(const tp::AlgebraValue &lhs,
                                  const tp::AlgebraValue &rhs,
                                  const tp::AlgebraValue &offsets,
                                  const tp::AlgebraValue &rest,
                                  mlir::Type type) override;
  tp::AlgebraValue uninitialized(mlir::Operation *op,
                                 mlir::ArrayRef<int64_t> sizes,
                                 mlir::Type type) override;
  tp::AlgebraValue take(const tp::AlgebraValue &table,
                        const tp::AlgebraValue &indices, unsigned dim,
                        bool wrapsNegative) override;
  tp::AlgebraValue takeAlong(const tp::AlgebraValue &table,
                             const tp::AlgebraValue &indices,
                             unsigned dim) override;
  tp::AlgebraValue scatter(const tp::AlgebraValue &input,
                           const tp::AlgebraValue &indices,
                           const tp::AlgebraValue &updates, unsigned dim,
                           bool accumulates, bool wrapsNegative) override;
  tp::AlgebraValue sortedOrder(const tp::AlgebraValue &input, unsigned dim,
                               const tp::SortOrder &how,
                               mlir::Type type) override;
  tp::AlgebraValue reshape(const tp::AlgebraValue &input,
                           mlir::ArrayRef<int64_t> sizes) override;
  tp::AlgebraValue permute(const tp::AlgebraValue &input,
                           mlir::ArrayRef<int64_t> permutation) override;
  tp::AlgebraValue slice(const tp::AlgebraValue &input, unsigned dim,
                         int64_t start, int64_t step, int64_t size) override;
  tp::AlgebraValue concat(mlir::ArrayRef<tp::AlgebraValue> inputs,
                          unsigned dim) override;
  tp::AlgebraValue broadcast(const tp::AlgebraValue &input,
                             mlir::ArrayRef<int64_t> sizes) override;

private:
  /// No collective is defined by this primitive.
  tp::AlgebraValue fail(llvm::ArrayRef<int64_t> sizes, mlir::Type type);
  tp::AlgebraValue share(mlir::Operation *op) {
    return wrap(ops.share(op).front());
  }

  UniqueOps &ops;
  bool failed = false;
};

/// Copies an op of another program on new operands. The bias and the scales of
/// a product become ops of their own, so that a product to which the bias is
/// added elsewhere is a value of both programs.
llvm::SmallVector<mlir::Value> copyOp(UniqueOps &ops, mlir::Operation *op,
                                      llvm::ArrayRef<mlir::Value> operands);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_OPALGEBRA_H
