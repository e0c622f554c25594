//===- ScatteredPieces.h - blocks of a value, scattered ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_SCATTEREDPIECES_H
#define COMMUTE_LIB_ANALYSIS_SCATTEREDPIECES_H

#include "commute/Analysis/PipelineFusion.h"

namespace commute::analysis {

/// What a reduce_scatter scatters, if that is put together from one value and
/// every rank gets one block of it along some dim, in whatever order.
struct ScatteredPieces {
  mlir::Value value;
  int64_t axis;
  /// What the ranks get along `axis`, one behind the other.
  llvm::SmallVector<PieceRange> ranges;
  /// The ops in between, in order. Nothing else reads what they make, nor
  /// `value`.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Where it is made from a product otherwise, `problem` is the end of a
/// sentence about the reduce_scatter that says so.
std::optional<ScatteredPieces> findScatteredPieces(tp::ReduceScatterOp scatter,
                                                   std::string &problem);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_SCATTEREDPIECES_H
