//===- ShardRegions.h - where values may live as shards ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The legality of sequence parallelism: which ops may run on this rank's rows
// only, instead of on all rows on every rank. Profitability is not considered
// here.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PLACEMENTS_SHARDREGIONS_H
#define COMMUTE_ANALYSIS_PLACEMENTS_SHARDREGIONS_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Analysis/Placements/UnstatedInputs.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace commute::analysis {

/// The role of an op with regard to the rows of its region.
enum class RegionRole {
  /// Maps rows to rows independently, so it can run on a shard.
  RowLocal,
  /// Reduces the rows: on a shard it returns a part of the reduction, which an
  /// all_reduce of the result completes. The result is whole.
  RowReduction,
  /// An all_reduce over the group: as a reduce_scatter it returns a shard.
  Reduce,
  /// An all_gather over the group along the region's dim: its operand is the
  /// shard.
  Gather,
  /// A rank_slice over the group along the region's dim: its result is the
  /// shard.
  Slice,
};

struct RegionOp {
  mlir::Operation *op = nullptr;
  RegionRole role = RegionRole::RowLocal;
  /// RowLocal, RowReduction: the factor of the op's dimension rule that is
  /// sharded.
  unsigned factor = 0;
  /// Reduce: the all_reduce and the ops that rearrange its result, the last of
  /// which is `op`. The values between them have no other users.
  llvm::SmallVector<mlir::Operation *, 2> chain;
};

/// Returns true for ops that run on shards of their operands, by their rules.
inline bool runsOnRows(const RegionOp &entry) {
  return entry.role == RegionRole::RowLocal ||
         entry.role == RegionRole::RowReduction;
}

/// Returns true if an op gives the same result on a value and on its shard.
bool readsOnlyTypes(mlir::Operation *op);

/// Ops connected by values that can be sharded over one group along
/// corresponding dims. All of these values are replicated on the group.
struct ShardRegion {
  tp::GroupAttr group;
  /// In program order.
  std::vector<RegionOp> ops;
  /// Pairs of ops, by their indices, that must both run on shards or both run
  /// whole.
  std::vector<std::pair<unsigned, unsigned>> ties;
  /// The dim along which a value of the region would be sharded.
  llvm::DenseMap<mlir::Value, unsigned> dims;
  /// Ops that use a value of the region and need all of it. The reasons are
  /// predicates: "uses every row, ...".
  llvm::MapVector<mlir::Operation *, Refusal> borders;
  /// Of borders that need all rows only because nothing states the placement of
  /// inputs: what would have to be stated. Their reasons do not say it.
  llvm::DenseMap<mlir::Operation *, MissingStatement> unstated;
  /// The number of rows before sharding if static, else kDynamic. With padding,
  /// it need not be a multiple of the group's size.
  int64_t rows = 0;
  /// True if rows must be padded to the next multiple.
  bool isPadded = false;
  bool allowsReductions = true;
  /// The assumptions on which divisibility depends, as the user wrote them.
  llvm::SmallVector<std::string, 1> assumptions;
};

/// What regions may contain.
struct RegionLimits {
  /// Dims that are not divisible by the group's size, if they are static and
  /// not merged with another dim.
  bool allowsPadding = false;
  /// Ops that reduce rows, whose sums round in another order on shards.
  bool allowsReductions = true;
};

struct ShardRegions {
  std::vector<ShardRegion> regions;
  /// The all_reduces that no region can use.
  std::vector<Refusal> unused;
  /// For all_reduces that have regions along some dims: a clause that lists the
  /// dims of the result that cannot be sharded equally.
  llvm::DenseMap<mlir::Operation *, Refusal> indivisible;
};

/// Returns all regions of one group, one for each class of corresponding dims
/// that an all_reduce or all_gather of the group leads to.
ShardRegions findShardRegions(mlir::func::FuncOp function, tp::GroupAttr group,
                              const PlacementAnalysis &placements,
                              const SymbolicSizes &sizes, RegionLimits limits);

/// Returns what a region would be if some inputs of unknown placement were
/// replicated on its group.
ShardRegion growIfReplicated(const ShardRegion &region,
                             llvm::ArrayRef<mlir::BlockArgument> inputs,
                             const PlacementAnalysis &placements,
                             const SymbolicSizes &sizes);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PLACEMENTS_SHARDREGIONS_H
