//===- PipelineChoice.h - which passes run where, in which order ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Rewrites of different passes exclude each other: a product that is split
// cannot be fused with the collective before it. The default pipeline therefore
// does not run its passes in a fixed order, but chooses by the predicted time
// of the whole program, in two steps.
//
//   1. Every order of every subset of the passes that compete
//      (`PassTraits::competes`) is tried on a copy. Orders with a common
//      beginning share its copy, and an order ends where a pass changes
//      nothing, so that most programs take a few runs.
//   2. If the rewrites of several local passes overlap, each component of
//      rewrites that overlap (RewriteComponents.h) chooses its own order of the
//      local passes. Components of equal ops, such as those of the layers of a
//      model, choose together. Starting from the best order of step 1, each
//      class of components in turn takes the order with which the whole
//      program is fastest. The same is tried from the best order of local
//      passes alone.
//
// A trial ends with the passes that follow in the pipeline, and runs each pass
// until it finds nothing, so a rewrite counts with what it enables. A rewrite
// that loses by itself is made only if its pass accepts it. Passes that are not
// local are chosen for the whole program. Step 2 tries at most
// `maxComponentTrials` combinations and keeps the best of them.
//
// With Policy::Always, only orders to which no pass adds anything compete, and
// of those only the ones in which most passes rewrite, so that every legal
// rewrite is made unless another one excludes it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_PIPELINECHOICE_H
#define COMMUTE_LIB_TRANSFORMS_PIPELINECHOICE_H

#include "PipelineTrials.h"

namespace commute {

/// The steps of the default pipeline for one program.
struct PipelineChoice {
  std::vector<ChosenStep> steps;
  /// What the scopes refer to.
  std::shared_ptr<std::vector<RewriteComponent>> components;
};

/// Chooses the steps of the default pipeline without the passes in `excluded`.
/// Does not change the module, and reports nothing. Programs that cannot be
/// priced, and policies without prices, get the passes in their default order.
llvm::Expected<PipelineChoice>
choosePipeline(mlir::ModuleOp module, const PassSettings &settings,
               const llvm::StringSet<> &excluded);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PIPELINECHOICE_H
