//===- ChainedCollectives.h - collectives that together are one -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// An all_gather over one mesh axis followed by an all_gather over another axis
// is a single all_gather over the ranks of both axes if the result concatenates
// the blocks along some dim in the order of a group's members. The same holds
// for reduce_scatters. Index maps tell which block is at which position; the
// members of the groups tell which rank the block belongs to.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_COLLECTIVES_CHAINEDCOLLECTIVES_H
#define COMMUTE_ANALYSIS_COLLECTIVES_CHAINEDCOLLECTIVES_H

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

namespace commute::analysis {

/// Returns the all_gather or reduce_scatter from which the operand of `op` is
/// computed by reindexing; null if there is none.
mlir::Operation *findCollectiveInFront(mlir::Operation *op);

/// Finds the all_gather over one of `groups` that is equivalent to `last`
/// together with the all_gathers before it and the reindexing between and after
/// them. Not applicable if no all_gather over another group precedes `last`. If
/// only a group is missing, the refusal lists the members that it would need.
Legal<ReindexedCollective>
findChainedGather(tp::AllGatherOp last, llvm::ArrayRef<tp::GroupAttr> groups);

/// The same for reduce_scatters, with the reindexing before and between them.
/// All must use the same reduction.
Legal<ReindexedCollective>
findChainedScatter(tp::ReduceScatterOp last,
                   llvm::ArrayRef<tp::GroupAttr> groups);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_COLLECTIVES_CHAINEDCOLLECTIVES_H
