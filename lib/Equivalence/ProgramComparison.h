//===- ProgramComparison.h - two programs of known sizes --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H
#define COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H

#include "DimSamples.h"
#include "ValueDifferences.h"
#include "commute/Analysis/Placements/InputPlacements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace commute::equivalence {

/// Compares two programs at sizes that are numbers.
class ProgramComparison {
public:
  ProgramComparison(mlir::func::FuncOp firstMain, mlir::func::FuncOp secondMain,
                    const analysis::InputPlacements &placements,
                    const VerifyOptions &options, const ProofBudget &budget,
                    VerifyResult &result)
      : firstMain(firstMain), secondMain(secondMain), placements(placements),
        options(options), budget(budget), result(result) {}

  /// Adds what differs, or what is not proven, to the result. The error says
  /// why the first program cannot run.
  llvm::Error run(mlir::func::FuncOp resolvedFirst,
                  mlir::func::FuncOp resolvedSecond);

  /// Whether an op could not run at these sizes, which is why nothing is
  /// proven.
  bool doSizesFit() const { return sizesFit; }

private:
  enum class Outcome { Equal, Different, NotProven };

  void chooseSamples(uint64_t seed, bool reducesSizes);
  /// Elements of all values on all ranks, and multiplications, of the indices
  /// that are evaluated or of all.
  double getWork(bool reducesSizes) const;
  /// Whether it takes next to nothing to evaluate all indices of all dims.
  bool isCheapAtRealSizes() const;
  /// Rounds of programs in which truth values decide about integers, each with
  /// other outcomes: more where a round is cheap. A count of many may have to
  /// be one to show a difference.
  unsigned getRoundsOfChoices(bool reducesSizes) const;
  /// Compares in a model of choices and, where the programs differ in it, in
  /// the others; `choices` becomes the one in which they are equal. Each output
  /// may be equal in a model of its own.
  llvm::Expected<Outcome> compareInModels(uint64_t seed, Choices &choices);
  /// Whether the programs are equal for some random outcomes of all
  /// comparisons.
  llvm::Expected<bool> looksEqual(bool reducesSizes, unsigned numRounds);
  /// Compares on the inputs of one seed.
  llvm::Expected<Outcome> compare(uint64_t seed, Choices choices);
  /// Evaluates both programs whole and adds what differs to `differences`.
  llvm::Expected<Outcome> compareWhole(EvaluationContext &context,
                                       uint64_t seed,
                                       mlir::Operation *&culprit);
  llvm::Expected<std::vector<RankValues>>
  evaluate(mlir::func::FuncOp function, EvaluationContext &context,
           uint64_t seed, Observer observe, mlir::Operation *&culprit);
  /// Samples that fit the problem; false where there are none.
  bool refine(const SampleProblem &problem, mlir::Operation *culprit);
  void setNotProven(const SampleProblem &problem, mlir::Operation *culprit);

  /// As they were given, for what is reported.
  mlir::func::FuncOp firstMain, secondMain;
  mlir::func::FuncOp first, second;
  const analysis::InputPlacements &placements;
  const VerifyOptions &options;
  const ProofBudget &budget;
  VerifyResult &result;

  IndexSamples samples;
  std::optional<DimSamples> dims;
  std::optional<RankClasses> ranks;
  std::optional<IntegerPool> pool;
  std::function<llvm::ArrayRef<const IndexSample *>(mlir::Value)> lookup;
  InputGenerator::Pools pools;
  std::vector<Difference> differences;
  /// What differs, as a name that it has in every model: an output, or what an
  /// opaque op reads.
  using Place = std::pair<bool, size_t>;
  std::set<Place> places;
  bool sizesFit = true;
  /// Whether an evaluation looked at outcomes that are one of several, and
  /// whether there was a choice, a bound, or a sort of unknowns, at all.
  bool hasSampled = false;
  bool hasChosen = false;
  bool hasBounded = false;
  bool hasSorted = false;
  void noteChoices(const ScalarContext &scalars);
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H
