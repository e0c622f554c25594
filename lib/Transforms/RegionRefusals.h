//===- RegionRefusals.h - why a region stays whole --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONREFUSALS_H
#define COMMUTE_LIB_TRANSFORMS_REGIONREFUSALS_H

#include "commute/Analysis/Placements/ShardRegions.h"
#include "commute/Target/PriceModel.h"

namespace commute {

/// What a region lacks that could be stated.
struct Unstated {
  /// The op that needs whole values for that; null if nothing is lacking.
  mlir::Operation *user = nullptr;
  /// "'mul' uses operand 1, which ...: nothing states the placement of 'w'".
  std::string reason;
  std::string remedy;
  std::optional<analysis::RemedyOption> option;
  /// If the statement would make the region faster on shards: its seconds then,
  /// whole and on shards.
  std::optional<std::pair<double, double>> seconds;
};

/// How regions are grown and priced.
struct RegionContext {
  const analysis::PlacementAnalysis &placements;
  const analysis::SymbolicSizes &sizes;
  const target::PriceModel &model;
  bool isRankSpecific;
  bool isPipelined;
};

/// Finds the first op that needs whole values only because nothing states the
/// placement of inputs. More ops would run on shards.
Unstated findUnstated(const analysis::ShardRegion &region);

/// Finds the first statement about inputs with which a region that gains
/// nothing would gain. The weight of a product counts only if the region has no
/// work before the product: such weights are shards more often than not.
Unstated findUnstatedGain(const analysis::ShardRegion &region,
                          const RegionContext &context);

/// Why no op after an all_reduce with this result runs on shards: the first op
/// that needs the whole value, or all rows of what others make of it.
analysis::Refusal describeUsers(const analysis::ShardRegion &region,
                                mlir::Value value);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONREFUSALS_H
