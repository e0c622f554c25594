//===- RegionGrowth.h - one region from one dim of a value ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_REGIONGROWTH_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_REGIONGROWTH_H

#include "Placements/PlacementTransfer.h"
#include "commute/Analysis/Placements/ShardRegions.h"

namespace commute::analysis {

/// Returns true if an op only rearranges the elements of its operand, without
/// adding, dropping or changing any.
bool isRearrangement(mlir::Operation *op);

/// Grows one region from one dim of one value.
class RegionGrowth {
public:
  /// Inputs in `assumed` are taken to be replicated on the group.
  RegionGrowth(tp::GroupAttr group, const PlacementAnalysis &placements,
               const SymbolicSizes &sizes,
               llvm::ArrayRef<mlir::BlockArgument> assumed = {})
      : placements(placements), sizes(sizes), assumed(assumed) {
    region.group = group;
  }

  ShardRegion grow(mlir::Value value, unsigned dim, bool isPadded,
                   bool allowsReductions);

private:
  /// Adds a value that is to be cut along `dim`.
  void addValue(mlir::Value value, unsigned dim);
  /// Adds an op that has a value of the region as operand or result.
  void addOp(mlir::Operation *op, mlir::Value value, unsigned dim);
  Legal<RegionOp> findRole(mlir::Operation *op, mlir::Value value,
                           unsigned dim);
  Legal<RegionOp> findRowLocal(mlir::Operation *op, mlir::Value value,
                               unsigned dim);
  Refusal refuseVarying(mlir::Operation *op, unsigned operand);
  Refusal refuseIndivisible(mlir::Operation *op, int64_t rows) const;
  /// The all_reduce of the group that `value` rearranges the result of.
  std::optional<RegionOp> findReduceBehind(mlir::Value value);
  bool isDivisible(mlir::Operation *op, const tp::DimensionRule &rule,
                   unsigned factor);
  bool isReplicated(mlir::Value value) const;
  /// Whether the program can have an all_reduce over the group.
  bool isExpressible(mlir::Operation *op, tp::ReductionKind kind) const;
  bool isOwn(tp::GroupAttr other) const {
    return other.hasSameMembers(region.group);
  }
  bool areIndependent(tp::GroupAttr other) const {
    return placements.getRelations().areIndependent(region.group, other);
  }

  const PlacementAnalysis &placements;
  const SymbolicSizes &sizes;
  llvm::ArrayRef<mlir::BlockArgument> assumed;
  ShardRegion region;
  llvm::DenseMap<mlir::Operation *, unsigned> indexOfOp;
  /// Ops that the region reaches along two dims that contradict each other.
  llvm::SmallPtrSet<mlir::Operation *, 4> torn;
  llvm::SmallPtrSet<mlir::Operation *, 4> refusedDefinitions;
  llvm::SmallVector<std::pair<mlir::Value, unsigned>> worklist;
};

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_REGIONGROWTH_H
