//===- Deviations.h - what a wrong value is instead -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_DEVIATIONS_H
#define COMMUTE_LIB_REFINEMENT_DEVIATIONS_H

#include "FaultSearch.h"
#include "ValueTexts.h"

namespace commute::refinement {

/// Says what a value is instead of what it should be.
class Deviations {
public:
  Deviations(ValueRelations &relations, const RankValues &values,
             RecognizedValues &recognized, FaultSearch &search,
             const ValueTexts &texts)
      : relations(relations), values(values), recognized(recognized),
        search(search), texts(texts) {}

  /// Explains a step that is no value of the reference, or not the expected
  /// one.
  Finding explain(const FaultSearch::Fault &fault);
  /// Explains a step that would be right if an operand were reduced.
  Finding explain(const FaultSearch::Unreduced &unreduced);
  /// Explains a step whose elements are those of a value of the reference.
  bool tryOtherBlocks(const Step &step, size_t expected, Finding &finding);

private:
  /// Each tries one explanation, and returns whether it is the right one.
  bool tryMultiple(const Step &step, Finding &finding);
  /// `multiple` is the step, or what ranks reduce it to.
  bool tryMultiple(const Step &step, const Step &multiple, Finding &finding);
  bool trySummands(const Step &step, Finding &finding);
  bool tryShardOfDim(const Step &step, Finding &finding);
  bool tryRepeatedSummand(const Step &step, size_t expected, Finding &finding);
  /// `own` is the content of the step, or its sum over axes.
  bool tryRepeatedSummand(const Step &step, const FieldValue &own,
                          size_t expected, Finding &finding);
  bool tryOperandBlocks(const Step &step, Finding &finding);
  bool tryOperandOrder(const Step &step, Finding &finding);
  /// Explains a step that only moves elements by what is computed of them after
  /// an exchange: before it, no order is wrong.
  bool tryReader(const Step &step, Finding &finding);
  /// An integer constant, such as the number of elements that a mean divides
  /// by.
  bool tryOtherNumber(const Step &step, size_t expected, Finding &finding);
  bool tryOtherOperand(const Step &step, size_t expected, Finding &finding);

  /// Adds an operand beside summands that is whole: it is then added once per
  /// rank.
  void addWholeSummand(const Step &step, const Step &operand,
                       llvm::StringRef axis, Finding &finding);
  const std::optional<FoundRelation> &getRelation(const Step &step) const {
    return values.getRelation(*step.node);
  }

  ValueRelations &relations;
  const RankValues &values;
  RecognizedValues &recognized;
  FaultSearch &search;
  const ValueTexts &texts;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_DEVIATIONS_H
