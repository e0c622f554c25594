//===- ReindexedCollectives.h - collectives amid reassembly -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// PyTorch's collectives act on dim 0. A collective along another dim is spelled
// with slices, concatenations, reshapes and permutations around one along dim
// 0. These functions recognize such spellings by their index maps, not by
// matching patterns of ops.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_REINDEXEDCOLLECTIVES_H
#define COMMUTE_ANALYSIS_COLLECTIVES_REINDEXEDCOLLECTIVES_H

#include "commute/Analysis/IndexMaps/IndexMap.h"
#include "commute/Analysis/Legal.h"
#include "commute/Dialect/TPDialect.h"

namespace commute::analysis {

/// Returns true if an op only rearranges the elements of its operands.
bool isReindexing(mlir::Operation *op);
/// Returns true if its result also has unchanged elements: it is neither a wait
/// nor a bitcast.
bool keepsElements(mlir::Operation *op);
/// Returns true if it also has a single operand.
bool keepsElementsOfOperand(mlir::Operation *op);
/// Returns the map of a reindexing op's result, of rank and sizes `sizes`,
/// given those of its operands; nullopt if it cannot be proven.
std::optional<IndexMap> composeIndexMap(mlir::Operation *op,
                                        llvm::ArrayRef<const IndexMap *> maps,
                                        llvm::ArrayRef<tp::Size> sizes);

/// A collective along `axis` that is equivalent to another collective together
/// with the ops around it.
struct ReindexedCollective {
  /// The operand of that collective.
  mlir::Value input;
  /// The type to which the input is reshaped first; the input's own type if it
  /// is not.
  mlir::RankedTensorType inputType;
  int64_t axis;
  /// The group of that collective.
  tp::GroupAttr group;
  /// The result type of that collective.
  mlir::RankedTensorType resultType;
  /// The values that are its result or, if their type differs, a reshape of it.
  /// They are in reverse program order.
  llvm::SmallVector<mlir::Value, 1> results;
  /// The ops that compute `results` from the input, including the collective
  /// and its waits, in program order. Their other results have no other users.
  llvm::SmallVector<mlir::Operation *> ops;
};

/// Returns the all_gather along another axis that `gather` and the ops after it
/// are equivalent to. Not applicable if the gathered value is not reassembled.
Legal<ReindexedCollective> findReindexedGather(tp::AllGatherOp gather);

/// Returns concatenations that reassemble the result of `gather` unchanged.
llvm::SmallVector<mlir::Value> findIdentities(tp::AllGatherOp gather);

/// Returns the reduce_scatter that `scatter` and the ops before it are
/// equivalent to, if it differs from `scatter`. Not applicable if the scattered
/// value is not reassembled.
Legal<ReindexedCollective> findReindexedScatter(tp::ReduceScatterOp scatter);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_REINDEXEDCOLLECTIVES_H
