//===- RegionLaws.h - regions that run on shards ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_REGIONLAWS_H
#define COMMUTE_LIB_TRANSFORMS_REGIONLAWS_H

#include "Law.h"
#include "PassPrices.h"

#include "commute/Dialect/TPDialect.h"

namespace commute {

struct RegionOptions {
  const PassPrices &prices;
  /// Replace every all_reduce that can be followed by work on shards.
  bool prefersShards = false;
  bool pads = false;
  /// Price collectives beside products as micro-pipeline leaves them.
  bool isPipelined = false;
  /// Keep sums over rows whole, which would be sums of parts.
  bool exactRounding = false;
};

/// f(all_reduce(x)) = all_gather(f(reduce_scatter(x))) for ops that work row by
/// row, on the shards of one group. What is found is a region of such ops; its
/// draft is a choice, for each op, between its shard and its whole value. An op
/// that reduces rows may add an all_reduce, of its result, at most once for
/// each dim: from then on its operands are shards, which no region contains.
std::unique_ptr<LawGroup> makeRegionLaws(tp::GroupAttr group,
                                         RegionOptions options);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_REGIONLAWS_H
