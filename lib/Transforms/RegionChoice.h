//===- RegionChoice.h - which ops of a region run on shards -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H
#define COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H

#include "commute/Analysis/MinimumCut.h"
#include "commute/Analysis/ShardRegions.h"
#include "commute/Target/PriceModel.h"

namespace commute {

/// How the shard of a replicated value is had.
enum class SliceMethod {
  /// This rank's block is cut out.
  RankSlice,
  /// By a reduce_scatter of equal values, by maximum: exact, and no rank has to
  /// be known when the program is written.
  ReduceScatter,
};

/// How the shard of a value may be had; nullopt where no vocabulary can say it.
/// `isRankSpecific`: the program is that of one rank alone.
std::optional<SliceMethod> findSliceMethod(mlir::Value value, unsigned dim,
                                           tp::GroupAttr group,
                                           bool isRankSpecific);

/// The choice between shard and whole for the ops of one region, as a minimum
/// cut: side A runs on shards. An op costs its time on either side, a source
/// that of its collective; a value that is local somewhere and needed whole
/// elsewhere costs one all_gather, one that is whole and needed as a shard one
/// slice, however many want it.
class RegionChoice {
public:
  RegionChoice(const analysis::ShardRegion &region,
               const target::PriceModel &price, bool isRankSpecific,
               bool prefersShards);

  /// nullopt where a size that counts is not known.
  bool isPriced() const { return priced; }
  void solve();

  bool isLocal(unsigned op) const { return solution.isOnA[op]; }
  bool isAnyLocal() const;
  /// Seconds of the region as it is and as chosen.
  double getSecondsBefore() const { return secondsBefore; }
  double getSecondsAfter() const { return secondsAfter; }

  /// The best choice with shards, if the region had many more rows, and its
  /// seconds at the rows that it has; nullopt where shards never pay.
  std::optional<double> getSecondsOfAlternative() const;
  /// From about how many rows on shards pay, as a multiple of the rows that
  /// there are; nullopt where they never do.
  std::optional<double> getThreshold() const;

private:
  analysis::MinimumCut buildCut(double scale, bool prefersShards) const;
  analysis::MinimumCut::Cost getOpCost(const analysis::RegionOp &entry,
                                       bool isLocal, double scale) const;
  analysis::MinimumCut::Cost getCollectiveCost(tp::CommunicationKind kind,
                                               mlir::Value value, unsigned dim,
                                               double scale) const;
  analysis::MinimumCut::Cost getGatherCost(mlir::Value value,
                                           double scale) const;
  analysis::MinimumCut::Cost getSliceCost(mlir::Value value,
                                          double scale) const;
  /// An assignment with shards that pays when rows are many.
  const std::vector<bool> *findPattern() const;
  /// Whether reduce-scattering an all_reduce lets any work shrink.
  void dropIdleReduces();

  const analysis::ShardRegion &region;
  const target::PriceModel &price;
  bool isRankSpecific;
  bool prefersShards;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOfOp;
  /// By op: whether an all_reduce of the region leads to it.
  std::vector<bool> behindReduce;
  /// All_reduces that are not asked to become shards: nothing follows that a
  /// shard would make cheaper.
  llvm::DenseSet<unsigned> idleReduces;
  mutable bool priced = true;
  analysis::MinimumCut::Solution solution;
  double secondsBefore = 0;
  double secondsAfter = 0;
  mutable std::optional<std::vector<bool>> pattern;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H
