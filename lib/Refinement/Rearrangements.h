//===- Rearrangements.h - relations other than shards -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_REARRANGEMENTS_H
#define COMMUTE_LIB_REFINEMENT_REARRANGEMENTS_H

#include "commute/Refinement/Relations.h"

namespace commute::refinement {

/// A relation in which a rank may hold an output.
struct Rearrangement {
  /// Over "output".
  Relation relation;
  /// True if the sizes, or the relation of an input, suggest that this order of
  /// the elements is meant. Otherwise, it is more likely to be a mistake.
  bool isSuggested;
};

/// Returns the relations that make a rank hold a tensor of sizes `own` of one
/// of sizes `whole`, other than those of `findShardings`: in another order of
/// the dims, as a reshaped tensor, or as the shards of several parts. `inputs`
/// are the relations of the ranks' inputs. There are no more than 256.
std::vector<Rearrangement> findRearrangements(const Mesh &mesh,
                                              llvm::ArrayRef<int64_t> whole,
                                              llvm::ArrayRef<int64_t> own,
                                              int64_t rank,
                                              llvm::ArrayRef<Relation> inputs);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_REARRANGEMENTS_H
