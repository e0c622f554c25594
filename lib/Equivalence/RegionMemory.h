//===- RegionMemory.h - regions that were evaluated before ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H
#define COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H

#include "RegionOutcomes.h"

#include <map>

namespace commute::equivalence {

/// A value of either program, or of both where it is certain that they are
/// equal.
using Number = unsigned;

/// The programs that still read a value.
enum Readers : uint8_t { NoReader = 0, FirstReads = 1, SecondReads = 2 };
inline Readers getReaders(bool inFirst, bool inSecond) {
  return static_cast<Readers>((inFirst ? FirstReads : 0) |
                              (inSecond ? SecondReads : 0));
}

/// The steps of both programs between two cuts, in a form that isomorphic
/// regions share: a value is identified by its position among those that the
/// steps since the last closed cut have made.
struct ProgramRegion {
  struct Step {
    /// An op of either program. Null for an input that is first used here, and
    /// for a value from before the last closed cut.
    mlir::Operation *op = nullptr;
    /// Whether the op is the second program's alone.
    bool isOfSecond = false;
    std::optional<Number> settled;
    unsigned argument = 0;
    mlir::RankedTensorType argumentType;
    /// The samples of an input, or of each result.
    llvm::SmallVector<llvm::ArrayRef<const IndexSample *>, 1> samples;
    llvm::SmallVector<unsigned, 3> operands;
  };
  /// A value made since the last closed cut that is used after the cut.
  struct Exit {
    Number number;
    unsigned position;
    Readers readers;
  };
  std::vector<Step> steps;
  std::vector<Exit> exits;
  /// Values from before the last closed cut whose readers have changed.
  std::vector<std::pair<Number, Readers>> changes;
  /// Equal for isomorphic regions: the functions of the steps, their operands,
  /// and the exits.
  std::vector<unsigned> key;
};

/// Evaluates regions one after the other. A cut at which both programs hold the
/// same elements is *closed*: each unknown element that one program holds, the
/// other holds too. At a closed cut, only the pattern of equal elements is kept
/// (values are *settled*), and the rest is shown for all values of that
/// pattern.
///
/// The results of the regions since the last closed cut depend on their steps
/// and on the pattern of the settled values that they read. If both have
/// occurred before, the patterns of the results are known and nothing is
/// evaluated.
class RegionMemory {
public:
  /// `earlier`: outcomes of other rounds, which this one uses and adds to; null
  /// to evaluate everything.
  RegionMemory(const InputGenerator &inputs, EvaluationContext &context,
               uint64_t seed, RegionOutcomes *earlier);

  /// Processes one more region. Fails if an op cannot be evaluated.
  llvm::LogicalResult enter(ProgramRegion region);
  /// Processes a region behind a closed cut that is the same in both programs,
  /// without evaluating it: its values become unknown. What is shown then holds
  /// for whatever they are. Returns false, and does nothing, if the region has
  /// steps that should be evaluated: integers and truth values decide what
  /// others are, collectives and views make elements equal, and constants cost
  /// nothing.
  bool skip(const ProgramRegion &region);
  /// Returns true if the last cut is closed.
  bool isClosed() const { return pending.empty(); }
  /// Returns the values that were found to be equal to earlier ones since the
  /// last call, each with the earlier one.
  std::vector<std::pair<Number, Number>> takeEqual() {
    return std::exchange(equal, {});
  }

  /// Returns the elements of a value from before the last closed cut that is
  /// still read; nullptr for others.
  const EqualityPattern *lookup(Number number) {
    auto known = settled.find(number);
    return known == settled.end() ? nullptr : getPattern(number).get();
  }

  size_t getNumEvaluated() const { return numEvaluated; }
  /// Returns true if an op of the regions entered since the last call reads an
  /// integer, a truth value, or a float computed from these alone, that is not
  /// a constant.
  bool takeReadIntegers() { return std::exchange(readIntegers, false); }
  /// Returns true if ops of the first program, or of the second one alone, have
  /// read at an index outside of a dim.
  bool hasReadOutside(bool inSecondAlone) const {
    return readOutside[inSecondAlone];
  }
  /// Returns the op at which the evaluation failed.
  mlir::Operation *getCulprit() const { return culprit; }

private:
  /// A value of which nothing is known.
  struct Skipped {
    mlir::RankedTensorType type;
    llvm::ArrayRef<const IndexSample *> samples;
    llvm::SmallVector<unsigned> tensorOfRank;
  };
  struct Settled {
    /// Null for a skipped value until it is read by a region that is evaluated.
    SharedPattern pattern;
    Readers readers = NoReader;
    ContentHash content;
    std::optional<Skipped> skipped = std::nullopt;
  };
  /// A value of the regions since the last closed cut, with its evaluated
  /// tensors.
  struct KnownValue {
    RankValues values;
    bool isConstant = false;
    /// See EqualityPattern.
    bool isDiscrete = false;
    /// Once the value was an exit: its pattern, with the numbers below.
    SharedPattern pattern = nullptr;
  };
  using Outcome = RegionOutcome;

  const SharedPattern &getPattern(Number number);
  /// Numbers of tensors, equal on ranks that certainly hold the same one.
  llvm::SmallVector<unsigned> getTensorOfRank(Number number) const;
  void setReaders(Number number, Readers readers);
  void count(const EqualityPattern &pattern, Readers readers, int by);
  /// Numbers the unknowns of settled values in order of appearance, and hashes
  /// everything that the outcome depends on.
  void describeSettled(const ProgramRegion &region);
  /// Evaluates the pending regions, and returns the outcome of the last one.
  llvm::FailureOr<Outcome> evaluatePending();
  llvm::LogicalResult evaluate(const ProgramRegion &region);
  llvm::LogicalResult evaluate(const ProgramRegion::Step &step);
  /// Records which programs read the unknowns of an outcome.
  void noteReaders(Outcome &outcome,
                   llvm::ArrayRef<ProgramRegion::Exit> exits) const;
  /// Returns true if each unknown is held by both programs.
  /// `elements` are what the unknowns of the settled values are here.
  bool closes(const Outcome &outcome, llvm::ArrayRef<uint64_t> elements) const;
  /// Settles the outcome if it closes the cut. Otherwise, reports values that
  /// are equal.
  void finish(const Outcome &outcome, llvm::ArrayRef<uint64_t> elements,
              llvm::ArrayRef<ProgramRegion::Exit> exits);
  void settle(Number number, Readers readers, SharedPattern pattern);
  void settle(const Outcome &outcome, llvm::ArrayRef<uint64_t> elements,
              llvm::ArrayRef<ProgramRegion::Exit> exits);
  /// Adds the outcome of the pending regions to those for other rounds, if it
  /// depends on nothing but the settled values.
  void noteForOtherRounds(const Outcome &outcome);

  const InputGenerator &inputs;
  EvaluationContext &context;
  LockstepEvaluator evaluator;
  mlir::Operation *culprit = nullptr;
  uint64_t seed;
  RegionOutcomes *earlier;
  size_t numEvaluated = 0;
  bool readIntegers = false;
  /// By ProgramRegion::Step::isOfSecond.
  std::array<bool, 2> readOutside = {};

  llvm::DenseMap<Number, Settled> settled;
  std::unordered_map<ContentHash, Number, ContentHashKey> byContent;
  std::vector<std::pair<Number, Number>> equal;
  /// By number of an unknown: the number of elements of settled values, read by
  /// each program, that are this unknown.
  std::vector<std::array<uint32_t, 2>> holders;
  /// The number of unknowns that only one program holds.
  size_t numOpen = 0;

  // Since the last closed cut.
  std::vector<ProgramRegion> pending;
  /// The patterns of the settled values that were read, by step.
  std::vector<SharedPattern> read;
  ContentHash content = {};
  /// What the outcome depends on but for the unknowns, and whether that is all
  /// it depends on.
  ContentHash key = {};
  bool isShared = true;
  /// By number of an unknown: its number in order of appearance, plus
  /// `firstLocal`; smaller numbers belong to earlier cuts. Below, the inverse.
  std::vector<uint64_t> localNumbers;
  uint64_t firstLocal = 0;
  std::vector<uint64_t> globalNumbers;
  /// The number of regions in `pending` whose results are in `known`.
  size_t numKnown = 0;
  size_t nextRead = 0;
  std::vector<KnownValue> known;
  /// By element: its number, which is assigned on first use, after the first
  /// `numNumbered` unknowns of `globalNumbers`.
  llvm::DenseMap<uint64_t, uint64_t> numbers;
  uint64_t nextNumber = 0;
  size_t numNumbered = 0;
  /// The positions in `known` of values that ops or inputs made and that are
  /// still available.
  std::vector<unsigned> made;
  unsigned numClosed = 0;

  std::unordered_map<ContentHash, Outcome, ContentHashKey> outcomes;
  /// The bytes of all patterns in `outcomes`.
  size_t outcomeBytes = 0;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H
