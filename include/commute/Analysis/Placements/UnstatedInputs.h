//===- UnstatedInputs.h - inputs of unknown placement -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H
#define COMMUTE_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H

#include "commute/Analysis/Legal.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"

namespace commute::analysis {

/// Inputs whose placement nothing states. If they were replicated on a group, a
/// value computed from them would be, too.
struct MissingStatement {
  llvm::SmallVector<mlir::BlockArgument> inputs;
  /// "nothing states the placement of 'a', 'b'".
  std::string text;
  /// "if they are equal on all ranks, state that with ...".
  std::string remedy;
  RemedyOption option;
  /// True if the value is the weight of a product, which may as well be a
  /// shard.
  bool isOfProduct = false;
};

/// Returns the inputs whose unknown placement keeps a value from being
/// replicated. Empty if something else does, or if there are too many.
llvm::SmallVector<mlir::BlockArgument>
findUnstatedInputs(mlir::Value value, tp::GroupAttr group,
                   const PlacementAnalysis &placements);

/// Describes a statement that inputs are replicated on a group.
MissingStatement describeStatement(llvm::ArrayRef<mlir::BlockArgument> inputs,
                                   tp::GroupAttr group);

/// Returns what would have to be stated for an operand to be known to be
/// replicated; nullopt if no statement about inputs would do.
std::optional<MissingStatement>
findMissingStatement(mlir::OpOperand &operand, tp::GroupAttr group,
                     const PlacementAnalysis &placements);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PLACEMENTS_UNSTATEDINPUTS_H
