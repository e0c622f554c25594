//===- PlacementTransfer.h - placements through one op ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H

#include "commute/Dialect/TPDialect.h"

namespace commute::analysis {

/// How pairs of groups relate. Each pair is looked at once, not once for every
/// op: a world may have thousands of ranks.
class GroupRelations {
public:
  /// Whether all ranks of each `group` are of one `other` group.
  bool isWithin(tp::GroupAttr group, tp::GroupAttr other);
  /// Whether ranks of one `group` communicate, in a collective over `other`,
  /// with ranks that are of one `group` again, position by position: the axes
  /// of a mesh do. Of groups of unknown members neither is known to hold.
  bool areIndependent(tp::GroupAttr group, tp::GroupAttr other);

private:
  using Pair = std::pair<tp::GroupAttr, tp::GroupAttr>;
  llvm::DenseMap<Pair, bool> within, independent;
};

/// Placements of an op's results on `group`, given those of its operands (null
/// for operands that are no tensors).
llvm::SmallVector<tp::PlacementAttr>
transferPlacements(mlir::Operation *op, tp::GroupAttr group,
                   llvm::ArrayRef<tp::PlacementAttr> operands,
                   GroupRelations &relations);

/// Why an op misuses the placement of an operand on `group`; nullopt where it
/// does not.
std::optional<std::string>
findMisuse(mlir::Operation *op, tp::GroupAttr group,
           llvm::ArrayRef<tp::PlacementAttr> operands,
           GroupRelations &relations);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H
