//===- Padding.h - what ranks compute of padding ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_PADDING_H
#define COMMUTE_LIB_REFINEMENT_PADDING_H

#include "RankDataflow.h"
#include "ValueTexts.h"

namespace commute::refinement {

/// Finds what ranks compute of zeros alone, where other ranks have data: where
/// there are fewer rows than ranks, the shards of the last ranks are padding.
/// It is no value of the reference, and harmless until it is combined with what
/// other ranks compute.
class Padding {
public:
  /// Returns the zeros that a step is computed from, or null if it is computed
  /// from data.
  const Step *find(const Step &step);
  /// Explains the first of these steps that reduces such a value with those of
  /// other ranks, or returns nullopt if there is none.
  std::optional<Finding> explain(llvm::ArrayRef<const Step *> steps,
                                 const ValueTexts &texts,
                                 llvm::ArrayRef<int64_t> world);

private:
  llvm::DenseMap<const Step *, const Step *> known;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_PADDING_H
