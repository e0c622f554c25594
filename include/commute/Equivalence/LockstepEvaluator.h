//===- LockstepEvaluator.h - all ranks at once ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
#define COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H

#include "commute/Analysis/InputPlacements.h"
#include "commute/Equivalence/FieldAlgebra.h"
#include "commute/Equivalence/RankClasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace commute::equivalence {

/// One value on all ranks, in the order of the world.
using RankValues = llvm::SmallVector<FieldValue>;

/// The samples of a value's dims, by dim; empty where nothing was chosen.
using SampleLookup =
    llvm::function_ref<llvm::ArrayRef<const IndexSample *>(mlir::Value)>;

/// Random inputs for a program, equal for ranks that hold the same tensor.
class InputGenerator {
public:
  /// Integers of an input are drawn from its pool, if it has one, else from
  /// that of all integers.
  using Pools = std::function<std::optional<IntegerPool>(unsigned argument)>;

  InputGenerator(const analysis::InputPlacements &placements,
                 const RankClasses &ranks, EvaluationContext &context,
                 Pools pools)
      : placements(placements), ranks(ranks), context(context),
        pools(std::move(pools)) {}

  const analysis::InputPlacements &getPlacements() const { return placements; }
  const RankClasses &getRanks() const { return ranks; }

  /// The type of an input's values: numbers and objects are inputs like any
  /// other, known by a random number.
  static mlir::RankedTensorType getType(mlir::Type type);
  /// Whether the elements of an input matter by their value, as indices do.
  static bool isExact(mlir::RankedTensorType type) {
    return mlir::isa<mlir::IntegerType>(type.getElementType()) &&
           !type.getElementType().isInteger(1);
  }
  /// What all ranks hold of input `argument`, of this type, at these samples.
  /// Where there is no memory for it, the context has a problem.
  RankValues generate(unsigned argument, mlir::RankedTensorType type,
                      llvm::ArrayRef<const IndexSample *> samples,
                      uint64_t seed) const;

private:
  const analysis::InputPlacements &placements;
  const RankClasses &ranks;
  EvaluationContext &context;
  Pools pools;
};

/// Evaluates single ops on all ranks at once: on those that stand for the
/// others.
class LockstepEvaluator {
public:
  LockstepEvaluator(const RankClasses &ranks, EvaluationContext &context);

  /// Values of an op's results on all ranks. `samples` are those of the dims of
  /// each result. Failure is emitted at the op, or is a problem of the context.
  llvm::LogicalResult
  evaluate(mlir::Operation *op, llvm::ArrayRef<RankValues> operands,
           llvm::ArrayRef<llvm::ArrayRef<const IndexSample *>> samples,
           llvm::SmallVectorImpl<RankValues> &results);

private:
  llvm::LogicalResult
  evaluateModelled(tp::EvaluationOpInterface op,
                   llvm::ArrayRef<RankValues> operands,
                   llvm::ArrayRef<llvm::ArrayRef<const IndexSample *>> samples,
                   llvm::SmallVectorImpl<RankValues> &results);
  void
  evaluateOpaque(tp::CallOp call, llvm::ArrayRef<RankValues> operands,
                 llvm::ArrayRef<llvm::ArrayRef<const IndexSample *>> samples,
                 llvm::SmallVectorImpl<RankValues> &results);
  /// Hands what the ranks have sent to each other.
  llvm::LogicalResult completeExchanges(mlir::Operation *op);

  /// By rank: the members of its group, and its position there.
  using Peers = std::vector<std::pair<llvm::ArrayRef<int64_t>, size_t>>;
  const Peers &getPeers(tp::GroupAttr group);

  const RankClasses &ranks;
  EvaluationContext &context;
  std::vector<FieldAlgebra> algebras;
  llvm::DenseMap<mlir::Attribute, Peers> peersOf;
};

using Observer = llvm::function_ref<void(mlir::Operation *op,
                                         llvm::ArrayRef<RankValues> operands,
                                         llvm::ArrayRef<RankValues> results)>;

/// Evaluates a program on all ranks, op after op, and returns the
/// returned values. The error names the op; where samples are the reason,
/// `context.problem` and `culprit` are set as well.
llvm::Expected<std::vector<RankValues>>
evaluateOnAllRanks(mlir::func::FuncOp function,
                   llvm::ArrayRef<RankValues> inputs, const RankClasses &ranks,
                   EvaluationContext &context, SampleLookup samples,
                   Observer observe, mlir::Operation *&culprit);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
