//===- ProgramComparison.h - two programs of known sizes --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H
#define COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H

#include "DecisionCoverage.h"
#include "DimSamples.h"
#include "IntegerLifting.h"
#include "RegionComparison.h"
#include "ValueDifferences.h"
#include "commute/Analysis/Placements/InputPlacements.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <set>

namespace commute::equivalence {

/// Compares two programs whose sizes are numbers.
class ProgramComparison {
public:
  ProgramComparison(mlir::func::FuncOp firstMain, mlir::func::FuncOp secondMain,
                    const analysis::InputPlacements &placements,
                    const VerifyOptions &options, const ProofBudget &budget,
                    VerifyResult &result)
      : firstMain(firstMain), secondMain(secondMain), placements(placements),
        options(options), budget(budget), result(result) {}

  /// Adds differences, or the reason why nothing is proven, to the result.
  /// Returns an error if the first program cannot run. `proves` is called once
  /// programs were equal for a few drawings on which the verdict would rest. If
  /// it returns true, they are so for all, and no more are made.
  llvm::Error run(mlir::func::FuncOp resolvedFirst,
                  mlir::func::FuncOp resolvedSecond,
                  llvm::function_ref<bool()> proves = nullptr);

  /// Returns true if an op could not run at these sizes, so that nothing is
  /// proven.
  bool doSizesFit() const { return sizesFit; }

  /// Returns true if integers, truth values or orders that were drawn decided
  /// something in what was evaluated.
  bool restsOnDraws() const { return drewIntegers || hasSampled; }
  /// After a run, compares the programs once more with these numbers among the
  /// inputs of a seed: on the samples of the last round, or, for
  /// `atRealSizes`, at all indices if that is cheap, and not at all otherwise.
  /// Returns the differences.
  std::vector<Difference> compareWith(InputGenerator::FixedNumbers fixed,
                                      uint64_t seed, bool atRealSizes);
  /// The samples of a value's dims in the last comparison.
  llvm::ArrayRef<const IndexSample *> getSamples(mlir::Value value) const {
    return dims->get(value);
  }
  /// Adds to the result what the draws of programs that are equal in all of
  /// them may have missed.
  void judgeDraws();
  /// Returns the range in which the integers of an input are: what is stated,
  /// or follows from their use as indices, or all of their type
  /// (getDefaultRange).
  IntegerUnion getRange(mlir::BlockArgument argument, int64_t farthest) const;

private:
  enum class Outcome { Equal, Different, NotProven };
  /// The location of a difference, by a name that is the same in every model:
  /// an output, or an operand of an opaque op.
  using Place = std::pair<bool, size_t>;

  void chooseSamples(uint64_t seed, bool reducesSizes);
  /// Returns true if rounds that differ in their integers alone share samples,
  /// and with them what regions without integers gave: those of large programs.
  bool sharesSamples() const;
  /// Returns the seed of the samples of a round before those that draw elements
  /// apart.
  uint64_t getSeedOfSamples(unsigned round, unsigned numRounds) const;
  /// Whether what a program computes depends on integers that are drawn, and on
  /// positions.
  bool drawsIntegers();
  bool computesPositions();
  /// Returns the number of rounds of programs that use external integers, each
  /// with different ones.
  unsigned getRoundsOfIntegers(bool reducesSizes);
  /// Adds a note if some numbers of integer inputs were not drawn.
  void noteUnmetNumbers();
  /// Adds notes about the integers that inputs must have, for those which
  /// follow from several uses or exceptions.
  void noteLegalIntegers();
  /// Adds a note if an input holds truth values that differ between many ranks.
  void noteFlagsOfRanks();
  /// Returns k if two integers that were drawn in this round are equal with
  /// probability 2^-k, for the input for which that is the least.
  double getBitsOfIntegers(uint64_t seed);
  /// The number of elements of all values on all ranks, and of multiplications,
  /// at the sampled indices or at all indices.
  double getWork(bool reducesSizes) const;
  /// Returns true if evaluating all indices of all dims costs next to nothing.
  bool isCheapAtRealSizes() const;
  /// Returns the number of rounds of programs in which truth values determine
  /// integers, each with different outcomes: more if a round is cheap. Showing
  /// a difference may require that a count of many is exactly one.
  unsigned getRoundsOfChoices(bool reducesSizes) const;
  /// Returns at most how many rounds draw one integer of many apart.
  unsigned getRoundsApart(bool reducesSizes) const;
  /// Returns the cells of a value's dims, by dim. Most programs never ask.
  llvm::ArrayRef<const IndexSample *> getCells(mlir::Value value);
  /// Compares in a model of choices and, if the programs differ in it, in the
  /// others. `choices` becomes the one in which they are equal. Each output may
  /// be equal in a different model.
  llvm::Expected<Outcome> compareInModels(uint64_t seed, Choices &choices);
  /// Returns true if more elements of sorted rows than those that are equal
  /// count as equal in a round.
  bool hasTies(uint64_t seed) const;
  /// Compares the programs in a round with ties, in both models of them, and
  /// then without ties.
  llvm::Expected<Outcome> compareWithTies(uint64_t seed, Choices &choices);
  /// Returns true if the programs are equal in the places `asked`, for some
  /// random outcomes of all comparisons.
  llvm::Expected<bool> looksEqual(bool reducesSizes, unsigned numRounds,
                                  const std::set<Place> &asked);
  /// Compares the programs at real sizes, after they differed on samples: on
  /// the same inputs, with sampled elements in place of those that they
  /// represent, and then on the inputs of the seed.
  llvm::Expected<Outcome> compareAtRealSizes(uint64_t seed, Choices &choices);
  /// Compares the programs on the inputs of one seed.
  llvm::Expected<Outcome> compare(uint64_t seed, Choices choices);
  /// Evaluates both programs whole and adds the differences to `differences`.
  llvm::Expected<Outcome> compareWhole(EvaluationContext &context,
                                       uint64_t seed,
                                       mlir::Operation *&culprit);
  llvm::Expected<std::vector<RankValues>>
  evaluate(mlir::func::FuncOp function, EvaluationContext &context,
           uint64_t seed, Observer observe, mlir::Operation *&culprit);
  /// Describes a round, and the samples of the first one and of those that are
  /// not equal, for those who debug a verdict.
  void dumpRound(unsigned round, uint64_t seed, Outcome outcome) const;
  /// Adds the integers of the inputs of a seed to the result.
  void recordIntegers(uint64_t seed);
  void setNotProven(const SampleProblem &problem, mlir::Operation *culprit);

  /// The programs as given, for reports.
  mlir::func::FuncOp firstMain, secondMain;
  mlir::func::FuncOp first, second;
  const analysis::InputPlacements &placements;
  const VerifyOptions &options;
  const ProofBudget &budget;
  VerifyResult &result;

  IndexSamples samples;
  /// What all rounds have in common, at reduced and at real sizes, and the
  /// samples of this round.
  std::optional<DimSamples> analyzed[2];
  std::optional<DimSamples> dims;
  std::optional<RankClasses> ranks;
  /// The seed of the samples, and whether sizes are reduced; and the samples
  /// before any is refined, if rounds share them.
  std::optional<std::pair<uint64_t, bool>> sampled;
  std::optional<DimSamples> shared;
  std::optional<IntegerPool> pool;
  std::function<llvm::ArrayRef<const IndexSample *>(mlir::Value)> lookup;
  InputGenerator::Draws draws;
  std::vector<Difference> differences;
  /// Where the last comparison found differences.
  std::set<Place> places;
  /// Those of the last comparison in which the programs differ in every model
  /// of choices; none if they differ otherwise.
  std::set<Place> left;
  bool sizesFit = true;
  /// Whether a program determines sizes from values, and one of these that the
  /// programs are not known to determine alike.
  bool hasSizesOfValues = false;
  /// True if a program sorts, so that the order of values matters.
  bool sortsValues = false;
  /// Whether drawn choices are those of a sort.
  bool ordersByKeys = false;
  /// Whether rounds differed in integers that mattered.
  bool drewIntegers = false;
  std::optional<Undecided> otherSize;
  /// Whether an evaluation used drawn outcomes, and whether there was a choice,
  /// a bound, or a sort of unknowns at all.
  bool hasSampled = false;
  bool hasChosen = false;
  bool hasBounded = false;
  bool hasSorted = false;
  /// Rounds with other integers after which those that matter are known.
  static constexpr unsigned leastRoundsOfIntegers = 3;
  unsigned numEqualRounds = 0;
  /// Two given integers were equal in all of these rounds with probability 2^-k
  /// for this k. Beyond `enoughBitsOfIntegers`, what depends on integers only
  /// by which of them are equal is proven.
  double bitsOfIntegers = 0;
  static constexpr double enoughBitsOfIntegers = 12;
  bool hasBeenEvaluatedWhole = false;
  /// The model of ties of the current comparison, and a difference that only
  /// ties have shown.
  Ties ties = Ties::None;
  std::optional<Difference> differenceOfTies;
  std::optional<EarlierRounds> earlier;
  /// What the rounds did not draw of the numbers that integer inputs meet.
  enum class UnmetNumbers { None, Single, Pairs, Triples };
  UnmetNumbers unmetNumbers = UnmetNumbers::None;
  /// What decisions about integers were in all rounds of the programs.
  std::optional<DecisionCoverage> decisions;
  /// The cells of the dims of both programs, once they are asked for.
  std::optional<DimSamples> cells;
  void noteChoices(const ScalarContext &scalars);
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_PROGRAMCOMPARISON_H
