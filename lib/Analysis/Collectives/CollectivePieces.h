//===- CollectivePieces.h - collectives beside pieces -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H
#define COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute::analysis {

/// Pieces along one dim that the ops around a collective concatenate: pieces of
/// the gathered value, or of the scattered one.
struct CollectivePieces {
  /// The value at the far end of the ops: their result, or their source.
  mlir::Value value;
  int64_t axis;
  /// The pieces, in order along `axis`.
  llvm::SmallVector<PieceRange> ranges;
  /// The ops between the collective and `value`, in order.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Returns the value that the ops after an all_gather reassemble, if all uses
/// are through it: `value` consists of pieces of the all_gather of its operand
/// along `axis`. Refuses if a product uses another value computed from the
/// gathered one; not applicable if no product does.
Legal<CollectivePieces> findGatheredPieces(tp::AllGatherOp gather);

/// Returns the source of a reduce_scatter, if its operand is reassembled from
/// one value and every rank receives one block of this value along some dim, in
/// any order: the pieces are blocks of `value`. The source and the results of
/// the ops must have no other users. Refuses if it is computed from a product
/// in another way; not applicable if it is not computed from a product.
Legal<CollectivePieces> findScatteredPieces(tp::ReduceScatterOp scatter);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_COLLECTIVEPIECES_H
