//===- LockstepEvaluator.h - all ranks at once ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
#define COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H

#include "commute/Analysis/InputPlacements.h"
#include "commute/Equivalence/FieldAlgebra.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// One value on all ranks, in the order of the world.
using RankValues = llvm::SmallVector<FieldValue>;

/// Random inputs for a program, equal for ranks that hold the same tensor.
/// Integers are small; see docs/equivalence.md.
class InputGenerator {
public:
  InputGenerator(const analysis::InputPlacements &placements, uint64_t seed)
      : placements(placements), seed(seed) {}

  /// The type of an input's values: numbers and objects are inputs like any
  /// other, known by a random number.
  static mlir::RankedTensorType getType(mlir::Type type);
  /// What all ranks hold of input `argument`, of this type.
  RankValues generate(unsigned argument, mlir::RankedTensorType type) const;

private:
  const analysis::InputPlacements &placements;
  uint64_t seed;
};

/// What an op read and what it computed, on all ranks, in the order of
/// execution.
/// Evaluates single ops on all ranks at once.
class LockstepEvaluator {
public:
  LockstepEvaluator(llvm::ArrayRef<int64_t> world, Precision precision);

  /// Values of an op's results on all ranks. Failure is emitted at the op.
  llvm::LogicalResult evaluate(mlir::Operation *op,
                               llvm::ArrayRef<RankValues> operands,
                               llvm::SmallVectorImpl<RankValues> &results);

private:
  llvm::LogicalResult
  evaluateModelled(tp::EvaluationOpInterface op,
                   llvm::ArrayRef<RankValues> operands,
                   llvm::SmallVectorImpl<RankValues> &results);
  llvm::LogicalResult
  evaluateOpaque(tp::CallOp call, llvm::ArrayRef<RankValues> operands,
                 llvm::SmallVectorImpl<RankValues> &results);
  /// Hands what the ranks have sent to each other.
  llvm::LogicalResult completeExchanges(mlir::Operation *op);

  llvm::ArrayRef<int64_t> world;
  std::vector<FieldAlgebra> algebras;
};

using Observer = llvm::function_ref<void(mlir::Operation *op,
                                         llvm::ArrayRef<RankValues> operands,
                                         llvm::ArrayRef<RankValues> results)>;

/// Evaluates a program on all ranks of `world`, op after op. Gives the returned
/// values; the error names the op.
llvm::Expected<std::vector<RankValues>> evaluateOnAllRanks(
    mlir::func::FuncOp function, llvm::ArrayRef<RankValues> inputs,
    llvm::ArrayRef<int64_t> world, Precision precision, Observer observe);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
