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

#ifndef COMMUTE_ANALYSIS_SHARDREGIONS_H
#define COMMUTE_ANALYSIS_SHARDREGIONS_H

#include "commute/Analysis/PlacementAnalysis.h"
#include "commute/Analysis/SymbolicSizes.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace commute::analysis {

/// What an op does with the rows of its region.
enum class RegionRole {
  /// Maps rows to rows, one by one: it may run on a shard.
  RowLocal,
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
  /// RowLocal: the factor of its dimension rule that is cut.
  unsigned factor = 0;
  /// Reduce: the all_reduce and the ops that rearrange its result, the last of
  /// which is `op`. The values between them have no other users.
  llvm::SmallVector<mlir::Operation *, 2> chain;
};

/// Why an op has to see all rows.
struct RowRefusal {
  enum Reason {
    /// It has side effects, or its semantics are unknown.
    Opaque,
    /// It returns the value: outputs are whole.
    Output,
    /// It is a collective that mixes the rows of this group.
    Collective,
    /// It combines rows, or needs all of them.
    WholeRows,
    /// It merges the dim with an outer one: a block of rows would not be a
    /// contiguous block of the merged dim.
    MinorDim,
    /// Two dims of one tensor would have to be sharded.
    TwoDims,
    /// `operand` differs between the ranks.
    Varying,
    /// The op, or which value it returns, differs between ranks.
    OfRank,
    /// `ranks` does not divide `rows`, or is not known to.
    Indivisible,
    /// The rows need padding, but are merged with another dim.
    Unpaddable,
  };
  Reason reason = Opaque;
  unsigned operand = 0;
  /// kDynamic where symbolic.
  int64_t rows = 0;
  int64_t ranks = 0;
};
/// The predicate of a sentence about the op: "uses every row, ...".
std::string describe(const RowRefusal &refusal);

/// Whether an op sees no difference between a value and a shard of it.
bool readsOnlyTypes(mlir::Operation *op);

/// Ops connected by values that one group may hold as shards along
/// corresponding dims. All of these values are replicated on the group.
struct ShardRegion {
  tp::GroupAttr group;
  /// In program order.
  std::vector<RegionOp> ops;
  /// Pairs of ops, by their indices, that run on shards together or not at all.
  std::vector<std::pair<unsigned, unsigned>> ties;
  /// The dim along which a value of the region would be cut.
  llvm::DenseMap<mlir::Value, unsigned> dims;
  /// Ops that read a value of the region and need all of it.
  llvm::MapVector<mlir::Operation *, RowRefusal> borders;
  /// Rows before they are shared, where static; else kDynamic. With padding
  /// they need not be a multiple of the group's size.
  int64_t rows = 0;
  /// Rows have to be padded to the next multiple.
  bool isPadded = false;
  /// What divisibility rests on, as the user wrote it.
  llvm::SmallVector<std::string, 1> assumptions;
};

/// An all_reduce that no region can use, and why.
struct UnusedReduce {
  mlir::Operation *op;
  std::string reason;
};

struct ShardRegions {
  std::vector<ShardRegion> regions;
  std::vector<UnusedReduce> unused;
  /// For all_reduces with a region along some dims: a clause that lists the
  /// dims of the result that cannot be sharded equally.
  llvm::DenseMap<mlir::Operation *, std::string> indivisible;
};

/// All regions of one group, one for each class of corresponding dims that an
/// all_reduce or all_gather of the group leads to. With `allowsPadding`, dims
/// that the group's size does not divide count as well, where they are static
/// and merged with no other.
ShardRegions findShardRegions(mlir::func::FuncOp function, tp::GroupAttr group,
                              const PlacementAnalysis &placements,
                              const SymbolicSizes &sizes, bool allowsPadding);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_SHARDREGIONS_H
