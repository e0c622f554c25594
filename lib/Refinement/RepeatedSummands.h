//===- RepeatedSummands.h - sums that count a value twice -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_REPEATEDSUMMANDS_H
#define COMMUTE_LIB_REFINEMENT_REPEATEDSUMMANDS_H

#include "RankDataflow.h"
#include "ValueTexts.h"

namespace commute::refinement {

/// An addition of a value that one of the summands before equals, such as that
/// of a block which a loop has not replaced. Both are computed alike, from
/// `source` and `earlierSource`, which are the first to be equal.
struct RepeatedSummand {
  const Step *sum, *summand, *earlier, *source, *earlierSource;
};

/// Finds the first such addition among steps that are in program order.
std::optional<RepeatedSummand>
findRepeatedSummand(llvm::ArrayRef<const Step *> steps,
                    ValueRelations &relations);

Finding explain(const RepeatedSummand &repeated, const ValueTexts &texts);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_REPEATEDSUMMANDS_H
