//===- PlacementTransfer.h - placements through one op ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H

#include "commute/Dialect/TPDialect.h"

namespace commute::analysis {

/// The relations between pairs of groups. Each pair is analyzed once, not for
/// every op, because a world may have thousands of ranks.
class GroupRelations {
public:
  /// Returns true if every `group` is contained in a single `other` group.
  bool isWithin(tp::GroupAttr group, tp::GroupAttr other);
  /// Returns true if, in a collective over `other`, the ranks of one `group`
  /// communicate with ranks that form one `group` again, position by position,
  /// as for the axes of a mesh. Neither relation is known for groups with
  /// unknown members.
  bool areIndependent(tp::GroupAttr group, tp::GroupAttr other);

private:
  using Pair = std::pair<tp::GroupAttr, tp::GroupAttr>;
  llvm::DenseMap<Pair, bool> within, independent;
};

/// Returns the placements of an op's results on `group`, given those of its
/// operands (null for operands that are not tensors).
llvm::SmallVector<tp::PlacementAttr>
transferPlacements(mlir::Operation *op, tp::GroupAttr group,
                   llvm::ArrayRef<tp::PlacementAttr> operands,
                   GroupRelations &relations);

/// Returns why an op misuses the placement of an operand on `group`, or nullopt
/// if it does not.
std::optional<std::string>
findMisuse(mlir::Operation *op, tp::GroupAttr group,
           llvm::ArrayRef<tp::PlacementAttr> operands,
           GroupRelations &relations);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTS_PLACEMENTTRANSFER_H
