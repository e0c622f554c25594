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

/// What both programs do between two cuts, in terms that isomorphic regions
/// share: values are named by their position, first the live ones at the cut
/// before, then those that the steps make.
struct ProgramRegion {
  struct Step {
    /// An op of either program; null for an input that is read first here.
    mlir::Operation *op = nullptr;
    unsigned argument = 0;
    mlir::RankedTensorType argumentType;
    /// Of an input, or of each result.
    llvm::SmallVector<llvm::ArrayRef<const IndexSample *>, 1> samples;
    llvm::SmallVector<unsigned, 3> operands;
  };
  struct Exit {
    unsigned value;
    bool isLiveInFirst;
    bool isLiveInSecond;
  };
  std::vector<Step> steps;
  /// The live values at the cut after it.
  std::vector<Exit> exits;
  /// Equal for isomorphic regions: the functions of the steps, their operands,
  /// the exits.
  std::vector<unsigned> key;
};

/// Evaluates regions one behind the other. After one at whose end both programs
/// know the same (EqualityPattern::isClosed), nothing but the pattern of
/// the live values is kept; a region that has begun with that pattern before is
/// known to end as it did then, and is not evaluated again.
class RegionMemory {
public:
  RegionMemory(const analysis::InputPlacements &placements,
               EvaluationContext &context, InputGenerator::Pools pools,
               uint64_t seed);

  /// Goes through one more region. Failure where an op cannot be evaluated.
  llvm::LogicalResult enter(ProgramRegion region);
  /// Whether both programs know the same here.
  bool isClosed() const { return states[current].pattern.has_value(); }
  /// Merges values that are equal; gives for each one the first that it is
  /// equal to. Only where the state is closed.
  llvm::SmallVector<unsigned> mergeEqual();

  size_t getNumEvaluated() const { return numEvaluated; }
  /// Where the evaluation failed.
  mlir::Operation *getCulprit() const { return culprit; }

private:
  using RegionId = unsigned;
  using StateId = unsigned;
  /// All that was gone through, as far as it matters for what follows.
  struct State {
    /// Of closed states.
    std::optional<EqualityPattern> pattern;
    /// Of closed states: the one in which equal values are one.
    std::optional<StateId> merged;
  };

  StateId getState(EqualityPattern pattern);
  /// The values of the current state, evaluated from the last closed one.
  llvm::LogicalResult evaluatePending();
  /// Evaluates the region that is `number` regions behind the last closed
  /// state.
  llvm::LogicalResult evaluate(const ProgramRegion &region, size_t number);
  /// Frees all but the current state, where there is too much to keep.
  void limitMemory();

  const analysis::InputPlacements &placements;
  EvaluationContext &context;
  InputGenerator::Pools pools;
  LockstepEvaluator evaluator;
  mlir::Operation *culprit = nullptr;
  uint64_t seed;
  std::vector<ProgramRegion> regions;
  std::map<std::vector<unsigned>, RegionId> regionIds;
  std::vector<State> states;
  std::unordered_map<std::string, StateId> closedStates;
  std::map<std::pair<StateId, RegionId>, StateId> successors;
  StateId current = 0;
  /// The last closed state on the way, and the regions since.
  StateId lastClosed = 0;
  std::vector<RegionId> pending;
  /// The values of the current state, where they are known.
  std::optional<std::vector<LiveValue>> values;
  size_t numEvaluated = 0;
  /// Bytes that the patterns of all states take.
  size_t patternBytes = 0;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_REGIONMEMORY_H
