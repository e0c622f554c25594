//===- PipelineRewrite.h - fused ops in place of their parts ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H
#define COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H

#include "OpDraft.h"

#include "commute/Analysis/PipelineFusion.h"

namespace commute {

/// A fused op with what goes before and behind it, not yet in the program.
struct PipelineDraft {
  explicit PipelineDraft(mlir::MLIRContext *context) : ops(context) {}

  OpDraft ops;
  /// Ops whose values the draft computes. They go, and with them whatever only
  /// they read.
  llvm::SmallVector<mlir::Operation *> replaced;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
  /// Moved in front of the draft, in order.
  llvm::SmallVector<mlir::Operation *> hoisted;
  mlir::Operation *position = nullptr;

  /// Puts the draft in place of what it replaces.
  void apply();
};

PipelineDraft draftGatherFusion(const analysis::GatherFusion &fusion);
PipelineDraft draftScatterFusion(const analysis::ScatterFusion &fusion);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H
