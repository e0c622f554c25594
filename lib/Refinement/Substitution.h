//===- Substitution.h - what ranks would compute of other values *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_SUBSTITUTION_H
#define COMMUTE_LIB_REFINEMENT_SUBSTITUTION_H

#include "RankDataflow.h"

namespace commute::refinement {

/// Evaluates what the ranks would return if some steps were other values, as
/// far as a budget goes.
class Substitution {
public:
  /// A step, and what it is instead.
  using Substitutes = llvm::ArrayRef<std::pair<const Step *, FieldValue>>;
  /// What a rank returns, and what it must be; null if nobody can say.
  struct Target {
    const Step *step;
    FieldValue expected;
  };

  Substitution(ValueRelations &relations, const RankDataflow &dataflow,
               std::vector<Target> targets);

  /// True if all outputs are as they must be with these values.
  bool makesRight(Substitutes substitutes);
  /// False if nothing more will be evaluated.
  bool hasBudget() const { return elementsLeft > 0; }

  /// Returns what an op that all members of a group run gives each of them;
  /// empty if it cannot be evaluated. `operands` are those of all members.
  std::vector<FieldValue> evaluate(const Step &step,
                                   llvm::ArrayRef<FieldValue> operands);

private:
  void sortSteps();

  ValueRelations &relations;
  const RankDataflow &dataflow;
  std::vector<Target> targets;
  /// The places of steps in an order in which operands come first.
  llvm::DenseMap<const Step *, size_t> places;
  std::vector<const Step *> order;
  /// What may still be read.
  int64_t elementsLeft;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_SUBSTITUTION_H
