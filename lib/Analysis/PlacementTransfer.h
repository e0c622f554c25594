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

/// Why an op misuses the placement of an operand on `group`; nullopt where it
/// does not.
std::optional<std::string>
findMisuse(mlir::Operation *op, tp::GroupAttr group,
           llvm::ArrayRef<tp::PlacementAttr> operands);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_PLACEMENTTRANSFER_H
