//===- PipelineRewrite.h - fused ops in place of their parts ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H
#define COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H

#include "Draft.h"

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute {

/// The fused op, and the ops before and after it.
ReplacementDraft draftGatherFusion(const analysis::GatherFusion &fusion);
/// `isReplicated` tells whether a value is the same on all ranks of the group.
ReplacementDraft
draftScatterFusion(const analysis::ScatterFusion &fusion,
                   llvm::function_ref<bool(mlir::Value)> isReplicated);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H
