//===- CollectiveOrder.h - collectives that one rank lacks ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_COLLECTIVEORDER_H
#define COMMUTE_LIB_REFINEMENT_COLLECTIVEORDER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace commute::refinement {

/// A collective that the program of one rank has, and that of another has not.
struct UnmatchedCollective {
  mlir::Operation *op;
  /// True if the first of the two ranks has it.
  bool isOfFirst;
};

/// Finds the collective that makes two ranks fall out of step. Ranks notice
/// later: a missing collective is taken for the next one of its kind.
/// Collectives correspond if they have the same name and source line; in
/// programs that number their nodes differently, if they do the same at the
/// same line.
std::optional<UnmatchedCollective>
findUnmatchedCollective(mlir::func::FuncOp first, mlir::func::FuncOp second,
                        llvm::ArrayRef<int64_t> group, int64_t firstRank,
                        int64_t secondRank);

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_COLLECTIVEORDER_H
