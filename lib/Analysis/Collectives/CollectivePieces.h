//===- CollectivePieces.h - collectives beside pieces -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H
#define COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute::analysis {

/// Pieces along one dim, which ops beside a collective put together: of what is
/// gathered, or of what is scattered.
struct CollectivePieces {
  /// At the far end of the ops: what they make, or what they make it from.
  mlir::Value value;
  int64_t axis;
  /// Along `axis`, one behind the other.
  llvm::SmallVector<PieceRange> ranges;
  /// The ops between the collective and `value`, in order.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// What the ops behind an all_gather put together, if that is all that is read
/// of it: `value` consists of pieces of the all_gather of its operand along
/// `axis`.
/// Refuses where a product uses something else that is made from what was
/// gathered; not applicable where no product does.
Legal<CollectivePieces> findGatheredPieces(tp::AllGatherOp gather);

/// What a reduce_scatter scatters, if that is put together from one value and
/// every rank gets one block of it along some dim, in whatever order: the
/// pieces are blocks of `value`. Nothing else reads it, nor what the ops make.
/// Refuses where it is made from a product otherwise; not applicable where it
/// is made from something else.
Legal<CollectivePieces> findScatteredPieces(tp::ReduceScatterOp scatter);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H
