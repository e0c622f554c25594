//===- PlacementTransfer.h - placements through one op ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_PLACEMENTTRANSFER_H
#define COMMUTE_LIB_ANALYSIS_PLACEMENTTRANSFER_H

#include "commute/Dialect/TPDialect.h"

namespace commute::analysis {

/// Placements of an op's results on `group`, given those of its operands (null
/// for operands that are no tensors).
llvm::SmallVector<tp::PlacementAttr>
transferPlacements(mlir::Operation *op, tp::GroupAttr group,
                   llvm::ArrayRef<tp::PlacementAttr> operands);

/// Whether ranks of one `group` communicate, in a collective over `other`, with
/// ranks that are of one `group` again, position by position: the axes of a
/// mesh do.
bool areIndependent(tp::GroupAttr group, tp::GroupAttr other);

/// Why an op misuses the placement of an operand on `group`; nullopt where it
/// does not.
std::optional<std::string>
findMisuse(mlir::Operation *op, tp::GroupAttr group,
           llvm::ArrayRef<tp::PlacementAttr> operands);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTTRANSFER_H
