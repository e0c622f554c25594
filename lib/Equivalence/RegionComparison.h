//===- RegionComparison.h - two programs, region by region ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Shows that two programs are equal without evaluating all of them. The common
// part is evaluated once or, if nothing differs up to a place, not at all. The
// rest is cut where both programs hold the same elements, and isomorphic
// regions between cuts are evaluated once. See docs/equivalence.md, "Deep
// programs".
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_REGIONCOMPARISON_H
#define COMMUTE_LIB_EQUIVALENCE_REGIONCOMPARISON_H

#include "CutStates.h"
#include "DiscreteValues.h"
#include "RegionOutcomes.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Equivalence/LockstepEvaluator.h"

namespace commute::equivalence {

/// What the rounds so far have shown, for those that follow.
struct EarlierRounds {
  DiscreteValues discrete;
  CutStates states;
  RegionOutcomes outcomes;
  /// Whether regions that both programs share are skipped, as long as that
  /// shows the programs to be equal.
  bool skipsShared = false;
  /// The number of points where the programs may be cut up to the last one
  /// before which something was evaluated that depends on integers or truth
  /// values that are not constants.
  size_t numPointsWithIntegers = 0;
};

struct RegionVerdict {
  /// False does not imply a difference: the programs may also be equal for a
  /// reason that regions do not show.
  bool areEqual = false;
  /// True if the second program, and not the first one, may read at an index
  /// outside of a dim: an op of its own did, or is in a region that was not
  /// evaluated. Only an evaluation of both programs as a whole tells.
  bool mayReadOutside = false;
  size_t numEvaluatedOps = 0;
  /// The op that could not be evaluated, if the context has a problem.
  mlir::Operation *culprit = nullptr;
};

/// Compares the outputs, and the operands of opaque ops, of two programs of
/// static sizes. A round that may end early stops behind the last op that reads
/// integers, as soon as both programs hold the same elements in a state that
/// earlier rounds cover: what follows was compared then. A round that goes to
/// the end and finds the programs equal is added to the earlier ones. A round
/// that shares outcomes takes what regions gave in others at the same samples.
RegionVerdict compareByRegions(mlir::func::FuncOp first,
                               mlir::func::FuncOp second,
                               const InputGenerator &inputs,
                               EvaluationContext &context, SampleLookup samples,
                               uint64_t seed, EarlierRounds &earlier,
                               bool mayEndEarly, bool sharesOutcomes);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_REGIONCOMPARISON_H
