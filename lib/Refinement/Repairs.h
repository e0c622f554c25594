//===- Repairs.h - one change that makes all outputs right ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_REPAIRS_H
#define COMMUTE_LIB_REFINEMENT_REPAIRS_H

#include "FaultSearch.h"
#include "Substitution.h"
#include "ValueTexts.h"

#include <map>
#include <set>

namespace commute::refinement {

/// Looks for a change of one op after which all outputs are right. Where ranks
/// compute what is no value of the reference, and rightly so, this says which
/// of the suspected ops is wrong.
class Repairs {
public:
  Repairs(ValueRelations &relations, FaultSearch &search,
          const RankDataflow &dataflow, const ValueTexts &texts,
          std::vector<Substitution::Target> targets)
      : relations(relations), search(search), dataflow(dataflow), texts(texts),
        substitution(relations, dataflow, std::move(targets)) {}

  struct Repair {
    const Step *step;
    Finding finding;
    /// Completes "all outputs would be right if".
    std::string condition;
  };
  /// Tries to change one of the last search's suspects, or what they or the
  /// wrong outputs are computed from.
  std::optional<Repair> find();

private:
  /// What a step would be after a change; null if the change does not fit.
  using Change = std::function<FieldValue(const Step &)>;
  struct Candidate {
    Change change;
    /// Completes "all outputs would be right if"; the finding's fix.
    std::string condition, fix;
    /// The operand that is another one after the change.
    std::optional<size_t> operand = std::nullopt;
  };
  using Kind = void (Repairs::*)(const Step &, std::vector<Candidate> &);

  // Each adds the changes of one kind that fit a step.
  void addWithout(const Step &step, std::vector<Candidate> &candidates);
  void addReductions(const Step &step, std::vector<Candidate> &candidates);
  void addMeans(const Step &step, std::vector<Candidate> &candidates);
  void addOrders(const Step &step, std::vector<Candidate> &candidates);
  void addPermutations(const Step &step, std::vector<Candidate> &candidates);
  void addFunctions(const Step &step, std::vector<Candidate> &candidates);
  void addOperands(const Step &step, std::vector<Candidate> &candidates);
  void addSums(const Step &step, std::vector<Candidate> &candidates);
  void addSummands(const Step &step, std::vector<Candidate> &candidates);

  /// Groups steps that ranks compute alike.
  static void group(llvm::ArrayRef<const Step *> steps,
                    std::vector<llvm::SmallVector<const Step *>> &groups);
  std::optional<Repair>
  tryChanges(llvm::ArrayRef<llvm::SmallVector<const Step *>> groups,
             llvm::ArrayRef<Kind> kinds);
  /// Tries one change on all ranks that have it, then on each alone.
  std::optional<Repair> tryChange(llvm::ArrayRef<const Step *> steps,
                                  const Candidate &candidate);
  /// Describes what a step would use.
  std::string describeOther(const Step &other, const Step &step) const;
  FieldValue evaluate(const Step &step, llvm::ArrayRef<FieldValue> operands);
  FieldValue combine(tp::MapFunction function,
                     llvm::ArrayRef<FieldValue> operands, mlir::Type type);
  /// Returns the step of the same name on the rank of another.
  const Step *findOn(const Step &other, const RankValues::Node *node) const;
  /// Returns the last steps before this one that have a type.
  llvm::ArrayRef<const Step *> findEarlier(const Step &step, mlir::Type type);

  ValueRelations &relations;
  FaultSearch &search;
  const RankDataflow &dataflow;
  const ValueTexts &texts;
  Substitution substitution;
  /// By rank and type, those that depend on inputs, in program order.
  std::map<std::pair<size_t, const void *>, std::vector<const Step *>> ofTypes;
  /// Those that the reference computes, with their numbers of operands.
  std::set<std::pair<tp::MapFunction, unsigned>> functions;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_REPAIRS_H
