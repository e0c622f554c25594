//===- FieldAlgebra.h - evaluation over a prime field -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Floats are elements of a prime field: sums, products, means and everything
// that moves elements is exact, whatever the order. Scalar nonlinearities are
// random functions with a key each. Integers and truth values stay what they
// are. See PrimeField.h and docs/equivalence.md.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
#define COMMUTE_EQUIVALENCE_FIELDALGEBRA_H

#include "commute/Dialect/Evaluation.h"
#include "commute/Dialect/SymbolicSize.h"
#include "commute/Dialect/TPDialect.h"

#include <vector>

namespace commute::equivalence {

enum class Precision {
  /// Casts between float types change nothing: the algebra alone counts.
  Algebraic,
  /// A cast to a narrower float type is a random function, so that a cast moved
  /// across a sum is a difference.
  Strict,
};

/// Elements are field elements for float types, and the bits of an int64 for
/// integers and truth values.
class FieldTensor : public tp::AlgebraTensor {
public:
  FieldTensor(llvm::ArrayRef<int64_t> sizes, mlir::Type elementType)
      : AlgebraTensor(sizes, elementType), elements(getNumElements()) {}

  bool isField() const {
    return !mlir::isa<mlir::IntegerType>(getElementType());
  }

  std::vector<uint64_t> elements;
};

using FieldValue = std::shared_ptr<const FieldTensor>;

/// The values of one op on one rank. Communication goes through `exchanges`,
/// which the evaluator of all ranks fills.
class FieldAlgebra : public tp::Algebra {
public:
  /// What one rank sends in its n-th exchange of the op being evaluated, and
  /// what it receives once all have sent.
  struct Exchange {
    tp::GroupAttr group;
    llvm::SmallVector<tp::AlgebraValue> toMembers;
    llvm::SmallVector<tp::AlgebraValue> fromMembers;
    bool isComplete = false;
  };

  FieldAlgebra(int64_t rank, Precision precision)
      : rank(rank), precision(precision) {}

  /// Starts the evaluation of an op over again, with what is known of its
  /// exchanges. `count` is by what its means divide, if not by the elements
  /// that are there (see setAverageCounts).
  void restart(std::optional<int64_t> count) {
    nextExchange = 0;
    averageCount = count;
  }
  void clearExchanges() { exchanges.clear(); }
  llvm::SmallVectorImpl<Exchange> &getExchanges() { return exchanges; }
  /// Whether the evaluation stopped at an exchange that is not complete.
  bool isWaiting() const { return waiting; }

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
  tp::AlgebraValue take(const tp::AlgebraValue &table,
                        const tp::AlgebraValue &indices, unsigned dim,
                        bool wrapsNegative) override;
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
  mlir::FailureOr<mlir::SmallVector<tp::AlgebraValue>>
  exchange(mlir::Operation *op, tp::GroupAttr group,
           mlir::ArrayRef<tp::AlgebraValue> toMembers) override;
  mlir::FailureOr<int64_t> getPosition(tp::GroupAttr group) override;

private:
  int64_t rank;
  Precision precision;
  llvm::SmallVector<Exchange> exchanges;
  size_t nextExchange = 0;
  std::optional<int64_t> averageCount;
  bool waiting = false;
};

/// A hash of sizes, element kind and all elements.
uint64_t getContentHash(const FieldTensor &tensor);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_FIELDALGEBRA_H
