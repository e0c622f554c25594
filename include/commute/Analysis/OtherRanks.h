//===- OtherRanks.h - what is known of other ranks' programs ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_OTHERRANKS_H
#define COMMUTE_ANALYSIS_OTHERRANKS_H

#include "commute/Analysis/Legal.h"

#include "llvm/ADT/Twine.h"

namespace commute::analysis {

/// Returns true if the module of `op` is the program of one rank, and those of
/// the other ranks are unknown (tp::unknownRanksAttrName).
bool areOtherRanksUnknown(mlir::Operation *op);

/// Returns the refusal of a rewrite of `op` that `reason` says needs the
/// programs of all ranks, for example "the sum is one over the shards of all
/// ranks".
Refusal refuseForUnknownRanks(mlir::Operation *op, const llvm::Twine &reason);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_OTHERRANKS_H
