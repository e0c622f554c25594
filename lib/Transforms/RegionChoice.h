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
/// cut: side A runs on shards. An op costs its time on either side, and a
/// source that of its collective. A value that is defined as a shard and used
/// whole costs one all_gather; a value that is whole and used as a shard costs
/// one slice, however many users it has.
class RegionChoice {
public:
  RegionChoice(const analysis::ShardRegion &region,
               const target::PriceModel &price, bool isRankSpecific,
               bool isPipelined, bool prefersShards);

  /// Returns false if a required size is unknown.
  bool isPriced() const { return table.isComplete; }
  void solve();

  bool isLocal(unsigned op) const { return isOnShards[op]; }
  bool isAnyLocal() const;
  /// Returns the gain of the choice: seconds or, if shards are preferred,
  /// shards first.
  double getGain() const { return gain; }
  /// Return the seconds of the region before and after the choice.
  double getSecondsBefore() const;
  double getSecondsAfter() const;

  /// Returns the seconds of the best choice with shards: the choice itself, or
  /// the best one if the region had many more rows, or the closest to it.
  /// nullopt if there is none.
  std::optional<double> getSecondsOfAlternative() const;
  /// Returns the approximate number of rows from which shards pay, as a
  /// multiple of the present number; nullopt if they never do.
  std::optional<double> getThreshold() const;

private:
  using Cost = MinimumCut::Cost;
  using Node = MinimumCut::Node;
  /// By node, true if it runs on shards.
  using Sides = std::vector<bool>;

  /// The cost that arises if `local` is on shards and `whole` is not.
  struct Conversion {
    enum Kind { Gather, Slice, Forbidden };
    Kind kind;
    /// Of the value.
    unsigned valueClass;
    Node local;
    /// nullopt for an op outside of the region, which is whole.
    std::optional<Node> whole;
  };
  /// The number of ops and conversions of each class in a choice. Its cost at
  /// any number of rows follows from the costs of the classes.
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
  /// Returns the all_reduces on shards that are not followed by an op that is
  /// cheaper on shards.
  llvm::DenseSet<unsigned> findIdleReduces(const Sides &sides) const;

  Bill getBill(const Sides &sides) const;
  static double getSeconds(const Bill &bill, const RegionCosts::Table &table);
  /// Returns a choice with shards that pays for a large number of rows, if any.
  const Sides *findAlternative() const;

  const analysis::ShardRegion &region;
  RegionCosts costs;
  bool prefersShards;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOfOp;
  /// By op, true if it depends on an all_reduce of the region.
  std::vector<bool> behindReduce;
  /// Ops come first, followed by nodes for values with several users, as a
  /// whole or as a shard.
  unsigned numNodes;
  std::vector<Conversion> conversions;
  /// Costs at the present number of rows.
  RegionCosts::Table table;
  Sides isOnShards;
  double gain = 0;
  mutable std::optional<Sides> alternative;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONCHOICE_H
