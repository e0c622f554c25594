//===- RegionRewrite.h - runs chosen ops on shards --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONREWRITE_H
#define COMMUTE_LIB_TRANSFORMS_REGIONREWRITE_H

#include "RegionChoice.h"

#include "mlir/IR/PatternMatch.h"

namespace commute {

/// The effects of a rewrite of one region.
struct RegionChanges {
  unsigned numScatters = 0;
  unsigned numLocalOps = 0;
  unsigned numGathers = 0;
  unsigned numSlices = 0;
  /// Reductions of rows that run on shards.
  unsigned numReductions = 0;
  /// The all_reduces that complete these.
  llvm::SmallVector<mlir::Operation *> completions;
  unsigned numRemovedGathers = 0;
  /// Replicated values that were sharded, and by which means.
  llvm::SmallVector<std::pair<mlir::Value, SliceMethod>> sliced;
};

/// Rewrites a function so that the ops of `region` for which `isLocal` holds
/// run on shards. Ops keep their places and names; their types change.
RegionChanges rewriteRegion(const analysis::ShardRegion &region,
                            llvm::function_ref<bool(unsigned)> isLocal,
                            bool isRankSpecific, mlir::RewriterBase &rewriter);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONREWRITE_H
