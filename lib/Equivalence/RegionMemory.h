//===- RegionMemory.h - regions that were evaluated before ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H
#define COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H

#include "EqualityPattern.h"

#include <map>
#include <unordered_map>

namespace commute::equivalence {

/// A value of either program, or of both where it is certain that they are
/// equal.
using Number = unsigned;

/// Which programs still read a value.
enum Readers : uint8_t { NoReader = 0, FirstReads = 1, SecondReads = 2 };
inline Readers getReaders(bool inFirst, bool inSecond) {
  return static_cast<Readers>((inFirst ? FirstReads : 0) |
                              (inSecond ? SecondReads : 0));
}

/// What both programs do between two cuts, in terms that isomorphic regions
/// share: a value is named by its position among those that the steps since the
/// last closed cut have made.
struct ProgramRegion {
  struct Step {
    /// An op of either program. Null for an input that is read first here, and
    /// for a value of before the last closed cut.
    mlir::Operation *op = nullptr;
    std::optional<Number> settled;
    unsigned argument = 0;
    mlir::RankedTensorType argumentType;
    /// Of an input, or of each result.
    llvm::SmallVector<llvm::ArrayRef<const IndexSample *>, 1> samples;
    llvm::SmallVector<unsigned, 3> operands;
  };
  /// A value made since the last closed cut that is read after the cut.
  struct Exit {
    Number number;
    unsigned position;
    Readers readers;
  };
  std::vector<Step> steps;
  std::vector<Exit> exits;
  /// Values of before the last closed cut that are read by others now.
  std::vector<std::pair<Number, Readers>> changes;
  /// Equal for isomorphic regions: the functions of the steps, their operands,
  /// the exits.
  std::vector<unsigned> key;
};

/// Evaluates regions one behind the other. A cut at which both programs know
/// the same is *closed*: each unknown element that one program holds, the other
/// one holds too. There only the pattern of equal elements is kept (values are
/// *settled*), and what follows is shown for all values of that pattern.
///
/// What regions since the last closed cut do depends on their steps and on the
/// pattern of the settled values that they read. Where both were met before,
/// the patterns of what they make are known, and nothing is evaluated.
class RegionMemory {
public:
  RegionMemory(const InputGenerator &inputs, EvaluationContext &context,
               uint64_t seed);

  /// Goes through one more region. Failure where an op cannot be evaluated.
  llvm::LogicalResult enter(ProgramRegion region);
  /// Whether the last cut is closed.
  bool isClosed() const { return pending.empty(); }
  /// Values that were found to be equal to earlier ones since this was last
  /// asked, with the earlier one.
  std::vector<std::pair<Number, Number>> takeEqual() {
    return std::exchange(equal, {});
  }

  size_t getNumEvaluated() const { return numEvaluated; }
  /// Where the evaluation failed.
  mlir::Operation *getCulprit() const { return culprit; }

private:
  using Pattern = std::shared_ptr<const EqualityPattern>;
  struct Settled {
    Pattern pattern;
    Readers readers = NoReader;
    ContentHash content;
  };
  /// A value of the regions since the last closed cut, as it was evaluated.
  struct KnownValue {
    RankValues values;
    bool isConstant = false;
  };
  /// What the exits of a region are.
  struct Outcome {
    /// Their numbers are those that the settled values read since the last
    /// closed cut have there, then new ones.
    std::vector<Pattern> patterns;
    /// Whether each new unknown is read by both programs.
    bool sharesNew = false;
    /// Unknowns of the settled values, and who reads them.
    std::vector<std::pair<uint64_t, uint8_t>> readAgain;
  };
  struct ContentKey {
    size_t operator()(const ContentHash &hash) const { return hash[0]; }
  };

  void setReaders(Number number, Readers readers);
  void count(const EqualityPattern &pattern, Readers readers, int by);
  /// Numbers the unknowns of settled values in order of appearance, and hashes
  /// all that the outcome depends on.
  void describeSettled(const ProgramRegion &region);
  /// The outcome of the last of the pending regions.
  llvm::FailureOr<Outcome> evaluatePending();
  llvm::LogicalResult evaluate(const ProgramRegion &region);
  llvm::LogicalResult evaluate(const ProgramRegion::Step &step);
  /// Says who reads the unknowns of an outcome.
  void noteReaders(Outcome &outcome,
                   llvm::ArrayRef<ProgramRegion::Exit> exits) const;
  /// Whether each unknown is held by both programs.
  bool closes(const Outcome &outcome) const;
  void settle(const Outcome &outcome,
              llvm::ArrayRef<ProgramRegion::Exit> exits);

  const InputGenerator &inputs;
  EvaluationContext &context;
  LockstepEvaluator evaluator;
  mlir::Operation *culprit = nullptr;
  uint64_t seed;
  size_t numEvaluated = 0;

  llvm::DenseMap<Number, Settled> settled;
  std::unordered_map<ContentHash, Number, ContentKey> byContent;
  std::vector<std::pair<Number, Number>> equal;
  /// By number of an unknown: how many elements of settled values that each
  /// program reads are it.
  std::vector<std::array<uint32_t, 2>> holders;
  /// Unknowns that only one program holds.
  size_t numOpen = 0;

  // Since the last closed cut.
  std::vector<ProgramRegion> pending;
  /// Of the settled values that were read, by step.
  std::vector<Pattern> read;
  ContentHash content = {};
  /// By number of an unknown: its number in order of appearance, plus
  /// `firstLocal`; smaller ones are of earlier cuts. And back.
  std::vector<uint64_t> localNumbers;
  uint64_t firstLocal = 0;
  std::vector<uint64_t> globalNumbers;
  /// The first regions of `pending` that `known` is the result of.
  size_t numKnown = 0;
  size_t nextRead = 0;
  std::vector<KnownValue> known;
  /// Of `known`: made by ops or inputs, and at hand.
  std::vector<unsigned> made;
  unsigned numClosed = 0;

  std::unordered_map<ContentHash, Outcome, ContentKey> outcomes;
  /// Bytes of all patterns in `outcomes`.
  size_t outcomeBytes = 0;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H
