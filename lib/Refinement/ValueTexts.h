//===- ValueTexts.h - values in messages ------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_VALUETEXTS_H
#define COMMUTE_LIB_REFINEMENT_VALUETEXTS_H

#include "RankDataflow.h"

namespace commute::refinement {

/// Describes values of the ranks and of the reference in messages.
class ValueTexts {
public:
  ValueTexts(const ValueRelations &relations, const UniqueOps &referenceOps)
      : relations(relations), referenceOps(referenceOps) {}

  std::string describe(const Step &step) const;
  /// The value of the reference of this index.
  std::string describe(size_t reference) const;
  std::string describe(const Relation &relation) const;
  /// A finding at a step, without a message.
  static Finding makeFinding(const Step &step);
  /// Adds a value of the reference to a finding.
  void setOther(Finding &finding, size_t reference) const;

private:
  const ValueRelations &relations;
  const UniqueOps &referenceOps;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_VALUETEXTS_H
