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
  /// Ops that read `ops` and what comes later than `position`, with the op that
  /// each stands in front of.
  std::vector<std::pair<OpDraft, mlir::Operation *>> tails;
  /// Ops whose values the draft computes. They go, and with them whatever only
  /// they read.
  llvm::SmallVector<mlir::Operation *> replaced;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
  /// Moved in front of the draft, in order.
  llvm::SmallVector<mlir::Operation *> hoisted;
  mlir::Operation *position = nullptr;

  /// The ops that it replaces, moves or stands at, and its own.
  llvm::SmallVector<mlir::Operation *> getFootprint() const;
  /// Ops that read a value which is computed later than before, at `position`:
  /// none of them may be moved in front of that.
  llvm::SmallVector<mlir::Operation *> getLateReaders() const;
  /// Seconds of all its ops; nullopt where a size is not known.
  std::optional<double> getSeconds(const target::PriceModel &price) const;
  /// Puts the draft in place of what it replaces, which nothing reads then.
  void apply();
};

/// Erases ops that drafts replaced, and whatever only they read; calls
/// `onErase` with each op just before it goes. Other drafts may stand at such
/// an op, so that all are applied first.
void eraseReplaced(llvm::ArrayRef<mlir::Operation *> replaced,
                   llvm::function_ref<void(mlir::Operation *)> onErase);

PipelineDraft draftGatherFusion(const analysis::GatherFusion &fusion);
PipelineDraft draftScatterFusion(const analysis::ScatterFusion &fusion);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_PIPELINEREWRITE_H
