//===- LockstepEvaluator.h - all ranks at once ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
#define COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Equivalence/FieldAlgebra.h"
#include "commute/Equivalence/RankClasses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>

namespace commute::equivalence {

/// One value on all ranks, in the order of the world.
using RankValues = llvm::SmallVector<FieldValue>;

/// The samples of a value's dims, by dim; empty if none were chosen.
using SampleLookup =
    llvm::function_ref<llvm::ArrayRef<const IndexSample *>(mlir::Value)>;

/// Random inputs for a program, equal for ranks that hold the same tensor.
class InputGenerator {
public:
  /// Integers of an input are drawn from its pool, if it has one, and otherwise
  /// from the pool of all integers.
  using Pools = std::function<std::optional<IntegerPool>(unsigned argument)>;
  /// Samples of an input's dims, by dim; empty if there are none.
  using SamplesOfInput =
      std::function<llvm::ArrayRef<const IndexSample *>(unsigned argument)>;
  /// Returns the number that an element of a tensor of an input is, in the
  /// order in which elements are stored; nullopt if it is random. `dims` are
  /// those of the tensor.
  using FixedNumbers = std::function<std::optional<int64_t>(
      unsigned argument, int64_t tensor, llvm::ArrayRef<SampledDim> dims,
      size_t element)>;
  struct Draws {
    Pools pools;
    /// Rounds that draw one integer apart from the others take one of each run
    /// of these samples in turn, or each index of an input without them.
    SamplesOfInput cells = nullptr;
    /// Elements are drawn at the indices of these samples. All others are equal
    /// to the one at the next of these indices.
    SamplesOfInput drawnAt = nullptr;
    FixedNumbers fixed = nullptr;
    /// Called with each tensor of an input, before ranks get parts of it.
    std::function<void(unsigned argument, int64_t tensor,
                       const FieldTensor &whole)>
        observe = nullptr;
  };

  InputGenerator(const analysis::InputPlacements &placements,
                 const RankClasses &ranks, EvaluationContext &context,
                 Draws draws)
      : placements(placements), ranks(ranks), context(context),
        draws(std::move(draws)) {}

  const analysis::InputPlacements &getPlacements() const { return placements; }
  const RankClasses &getRanks() const { return ranks; }

  /// The tensor type of an input's values: an input that is a number or an
  /// object is represented by a random number.
  static mlir::RankedTensorType getType(mlir::Type type);
  /// True if an input's elements are evaluated exactly, as indices are.
  static bool isExact(mlir::RankedTensorType type) {
    return mlir::isa<mlir::IntegerType>(type.getElementType()) &&
           !type.getElementType().isInteger(1);
  }
  /// Generates the values of input `argument` on all ranks, with this type, at
  /// these samples. Sets the context's problem if memory does not suffice.
  RankValues generate(unsigned argument, mlir::RankedTensorType type,
                      llvm::ArrayRef<const IndexSample *> samples,
                      uint64_t seed) const;
  /// Generates the values of all inputs of a function. The error is the
  /// context's problem.
  llvm::Expected<std::vector<RankValues>>
  generateAll(mlir::func::FuncOp function, SampleLookup samples,
              uint64_t seed) const;

private:
  /// Returns a tensor of an input with the elements that are fixed.
  FieldValue fixNumbers(const FieldTensor &tensor, unsigned argument,
                        int64_t number) const;

  const analysis::InputPlacements &placements;
  const RankClasses &ranks;
  EvaluationContext &context;
  Draws draws;
};

/// The dims of a value of this type at these samples, of which some may be
/// missing: a dim without one is whole.
llvm::SmallVector<SampledDim, 4>
getSampledDims(mlir::RankedTensorType type,
               llvm::ArrayRef<const IndexSample *> samples,
               EvaluationContext &context);

/// Returns, by rank, a hash of an opaque op and of all that its results depend
/// on: its operands, or those of all ranks if it may communicate.
std::vector<uint64_t> getCallHashes(tp::CallOp call,
                                    llvm::ArrayRef<RankValues> operands,
                                    size_t numRanks);

/// Evaluates single ops on all representative ranks at once.
class LockstepEvaluator {
public:
  LockstepEvaluator(const RankClasses &ranks, EvaluationContext &context);

  /// Evaluates an op's results on all ranks. `samples` are the samples of each
  /// result's dims. A failure is emitted at the op, or sets the context's
  /// problem.
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
  /// Delivers the values that the ranks have sent to each other.
  llvm::LogicalResult completeExchanges(mlir::Operation *op);

  /// For each rank, the members of its group and its position there.
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

/// Evaluates a program on all ranks, op after op, and returns the results of
/// the function. The error names the op; if samples are the reason,
/// `context.problem` and `culprit` are set as well.
llvm::Expected<std::vector<RankValues>>
evaluateOnAllRanks(mlir::func::FuncOp function,
                   llvm::ArrayRef<RankValues> inputs, const RankClasses &ranks,
                   EvaluationContext &context, SampleLookup samples,
                   Observer observe, mlir::Operation *&culprit);

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_LOCKSTEPEVALUATOR_H
