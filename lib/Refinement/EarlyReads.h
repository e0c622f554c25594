//===- EarlyReads.h - values that ranks use too early -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_EARLYREADS_H
#define COMMUTE_LIB_REFINEMENT_EARLYREADS_H

#include "commute/Refinement/Refine.h"

namespace commute::refinement {

/// Adds a finding for each value that a program uses, or returns, before it has
/// arrived. Such a program has no defined values, whatever its ops compute, so
/// it does not refine anything, and nothing refines it.
void addEarlyReads(mlir::ModuleOp reference,
                   llvm::ArrayRef<mlir::ModuleOp> ranks,
                   RefinementResult &result);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_EARLYREADS_H
