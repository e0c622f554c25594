//===- ChainedCollectives.h - collectives that together are one -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// An all_gather over one axis of a mesh and another one behind it, over another
// axis, together are an all_gather over all of their ranks, if the blocks end
// up one behind the other along some dim in the order of a group's members; so
// are reduce_scatters. Which block is whose is told by index maps, and which
// rank that is by the members of the groups.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H
#define COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H

#include "commute/Analysis/ReindexedCollectives.h"

namespace commute::analysis {

/// The all_gather or reduce_scatter that the operand of `op` is made from by
/// reindexing; null where there is none.
mlir::Operation *findCollectiveInFront(mlir::Operation *op);

/// The all_gather, over one of `groups`, that is `last` with all_gathers in
/// front of it and the reindexing in between and behind. Where there is none
/// although there are all_gathers over other groups in front, `refusal` says
/// why; with a group that is missing, which members it would have.
std::optional<ReindexedCollective>
findChainedGather(tp::AllGatherOp last, llvm::ArrayRef<tp::GroupAttr> groups,
                  ReindexRefusal &refusal);

/// The same for reduce_scatters, with the reindexing in front and in between.
/// All combine by the same reduction.
std::optional<ReindexedCollective>
findChainedScatter(tp::ReduceScatterOp last,
                   llvm::ArrayRef<tp::GroupAttr> groups,
                   ReindexRefusal &refusal);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_CHAINEDCOLLECTIVES_H
