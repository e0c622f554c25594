//===- Explanation.h - where ranks differ from the reference ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_EXPLANATION_H
#define COMMUTE_LIB_REFINEMENT_EXPLANATION_H

#include "Deviations.h"
#include "Refinement.h"
#include "Repairs.h"

#include <set>

namespace commute::refinement {

/// Finds the op from which on the ranks differ from the reference, and what it
/// computes instead.
class Explanation {
public:
  /// The values of the reference have been added to its relations.
  explicit Explanation(Refinement &refinement);

  /// Adds findings to the result. Returns false, and leaves the findings of the
  /// proof, if all outputs are right for the inputs that were evaluated.
  bool run();

private:
  /// An output, and what the ranks return that do not hold what they must.
  struct Deviation {
    const Refinement::Output *output;
    llvm::SmallVector<Step *> steps;
  };

  bool holds(const Refinement::Output &output) const;
  Deviation findDeviation(const Refinement::Output &output);
  /// What the ranks return, and what they must.
  std::vector<Substitution::Target> getTargets();
  Step *findReturned(const Refinement::Output &output, size_t rank);
  /// Explains an output that does not hold. Returns false if there is nothing
  /// to say of it.
  bool explainDeviation(const Deviation &deviation);
  /// `suspect` may be null.
  bool explainDeviation(const Deviation &deviation, const Step *suspect);
  /// An output that is there, but not as it must be.
  bool explainRelation(const Refinement::Output &output, const Step &step);
  /// An output that each rank computes of its own part of a batch.
  bool explainMean(const Refinement::Output &output, const Step &step);
  /// Explains the first suspected step of the search for these outputs.
  bool explainSuspect(const Step &suspect,
                      llvm::ArrayRef<llvm::SmallVector<Step *>> outputs);
  /// Replaces findings, from this one on, by a change of another op that makes
  /// all outputs right, if there is one. Only what was searched last is
  /// changed.
  void preferRepair(size_t first);
  bool explainFault(FaultSearch::Fault fault);
  /// An output of which nothing is known but that it is wrong.
  void explainAlone(const Refinement::Output &output);

  Refinement &refinement;
  ValueRelations &relations;
  RankValues values;
  RankDataflow dataflow;
  ValueTexts texts;
  RecognizedValues recognized;
  FaultSearch search;
  Deviations deviations;
  Repairs repairs;
  std::set<const Step *> explained;
  /// Padding says more than a change that avoids it.
  bool isExplainedByPadding = false;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_EXPLANATION_H
