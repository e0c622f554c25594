//===- GatheredPieces.h - a gathered value in other pieces ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_GATHEREDPIECES_H
#define COMMUTE_LIB_ANALYSIS_GATHEREDPIECES_H

#include "commute/Analysis/PipelineFusion.h"

namespace commute::analysis {

/// What the ops behind an all_gather put together, if that is all that is read
/// of it: pieces of the all_gather of its operand along some dim.
struct GatheredPieces {
  mlir::Value value;
  int64_t axis;
  llvm::SmallVector<PieceRange> ranges;
  /// The ops that make `value` from what was gathered, in order.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Where a product reads something else that is made from what was gathered,
/// `problem` is the end of a sentence about the all_gather that says so.
std::optional<GatheredPieces> findGatheredPieces(tp::AllGatherOp gather,
                                                 std::string &problem);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_GATHEREDPIECES_H
