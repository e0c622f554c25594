//===- RegionChoice.h - which ops of a region run on shards -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H
#define COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H

#include "RegionCosts.h"

namespace commute {

/// The choice between shard and whole for the ops of one region, as a minimum
/// cut: side A runs on shards. An op costs its time on either side, a source
/// that of its collective; a value that is local somewhere and needed whole
/// elsewhere costs one all_gather, one that is whole and needed as a shard one
/// slice, however many want it.
class RegionChoice {
public:
  RegionChoice(const analysis::ShardRegion &region,
               const target::PriceModel &price, bool isRankSpecific,
               bool isPipelined, bool prefersShards);

  /// False where a size that counts is not known.
  bool isPriced() const { return table.isComplete; }
  void solve();

  bool isLocal(unsigned op) const { return isOnShards[op]; }
  bool isAnyLocal() const;
  /// What the choice is better by, in what was asked for: seconds, or, where
  /// shards are preferred, shards first.
  double getGain() const { return gain; }
  /// Seconds of the region as it is and as chosen.
  double getSecondsBefore() const;
  double getSecondsAfter() const;

  /// Seconds of the best choice with shards: the one made, or the best if the
  /// region had many more rows, or what comes nearest. nullopt where there is
  /// none.
  std::optional<double> getSecondsOfAlternative() const;
  /// From about how many rows on shards pay, as a multiple of the rows that
  /// there are; nullopt where they never do.
  std::optional<double> getThreshold() const;

private:
  using Cost = MinimumCut::Cost;
  using Node = MinimumCut::Node;
  /// By node: whether it runs on shards.
  using Sides = std::vector<bool>;

  /// What is paid where `local` is on shards and `whole` is not.
  struct Conversion {
    enum Kind { Gather, Slice, Forbidden };
    Kind kind;
    /// Of the value.
    unsigned valueClass;
    Node local;
    /// nullopt: an op outside of the region, which is whole.
    std::optional<Node> whole;
  };
  /// How often a choice pays what: its cost at any number of rows is that of
  /// the classes.
  struct Bill {
    std::vector<unsigned> local, whole;
    std::vector<unsigned> gathers, slices;
  };

  /// Lists the conversions of all values.
  void findConversions();
  void addConversions(mlir::Value value);
  MinimumCut buildCut(const RegionCosts::Table &table, bool prefersShards,
                      const llvm::DenseSet<unsigned> &idle) const;
  struct Choice {
    Sides sides;
    double gain;
  };
  Choice choose(const RegionCosts::Table &table, bool prefersShards) const;
  /// All_reduces on shards where nothing follows that a shard makes cheaper.
  llvm::DenseSet<unsigned> findIdleReduces(const Sides &sides) const;

  Bill getBill(const Sides &sides) const;
  static double getSeconds(const Bill &bill, const RegionCosts::Table &table);
  /// A choice with shards that pays when rows are many, if any.
  const Sides *findAlternative() const;

  const analysis::ShardRegion &region;
  RegionCosts costs;
  bool prefersShards;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOfOp;
  /// By op: whether an all_reduce of the region leads to it.
  std::vector<bool> behindReduce;
  /// Ops come first; then nodes that stand for a value as a whole or as a
  /// shard, where several read it.
  unsigned numNodes;
  std::vector<Conversion> conversions;
  /// At the rows that there are.
  RegionCosts::Table table;
  Sides isOnShards;
  double gain = 0;
  mutable std::optional<Sides> alternative;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H
