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

#ifndef COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H
#define COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H

#include "commute/Analysis/ReindexedCollectives.h"

namespace commute::analysis {

/// The all_gather or reduce_scatter that the operand of `op` is made from by
/// reindexing; null where there is none.
mlir::Operation *findCollectiveInFront(mlir::Operation *op);

/// Finds the all_gather over one of `groups` that is equivalent to `last`
/// together with the all_gathers before it and the reindexing between and after
/// them. If all_gathers over other groups precede `last` but cannot be merged
/// with it, `refusal` says why; if only a group is missing, it lists the
/// members that the group would need.
std::optional<ReindexedCollective>
findChainedGather(tp::AllGatherOp last, llvm::ArrayRef<tp::GroupAttr> groups,
                  ReindexRefusal &refusal);

/// The same for reduce_scatters, with the reindexing before and between them.
/// All must use the same reduction.
std::optional<ReindexedCollective>
findChainedScatter(tp::ReduceScatterOp last,
                   llvm::ArrayRef<tp::GroupAttr> groups,
                   ReindexRefusal &refusal);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H
