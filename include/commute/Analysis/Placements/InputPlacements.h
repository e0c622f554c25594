//===- InputPlacements.h - what ranks know of their inputs ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PLACEMENTS_INPUTPLACEMENTS_H
#define COMMUTE_ANALYSIS_PLACEMENTS_INPUTPLACEMENTS_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace commute::analysis {

/// All groups that a module states or that its collectives name, one for each
/// name and membership, in order of appearance.
llvm::SmallVector<tp::GroupAttr> getGroups(mlir::ModuleOp module);

/// Returns an error if the members of any group are unknown. The error names
/// all such groups and the options that would declare them. Call this before
/// any analysis that follows values from rank to rank.
llvm::Error checkGroupsAreKnown(mlir::ModuleOp module);

/// The ranks of all groups, in ascending order; rank 0 alone without groups.
/// Groups of unknown members add none.
llvm::SmallVector<int64_t> getWorld(mlir::ModuleOp module);

/// Which tensor a rank holds of an input.
struct InputInstance {
  /// A cut of the tensor along `dim` into `count` equal blocks, of which this
  /// rank holds block `index`; several cuts apply in order.
  struct Cut {
    int64_t dim;
    int64_t index;
    int64_t count;
  };
  /// Ranks with equal numbers hold one tensor, or blocks of it.
  int64_t tensor = 0;
  llvm::SmallVector<Cut, 1> cuts;
};

/// How each input of a program differs between ranks: what the sidecar and the
/// command line state, and for the rest the default: weights and biases of
/// norms are replicated on every group, other inputs are varying.
class InputPlacements {
public:
  /// Rejects statements that contradict each other, or that no tensor of the
  /// input's shape fulfils, and groups of unknown members.
  static llvm::Expected<InputPlacements> resolve(mlir::func::FuncOp function);
  /// The same, but accepts groups of unknown members. `getWorld` and
  /// `getInstance` must not be called on the result.
  static llvm::Expected<InputPlacements>
  resolveInAnyWorld(mlir::func::FuncOp function);

  /// Placement of an input with respect to a group.
  tp::PlacementAttr get(unsigned argument, tp::GroupAttr group) const;
  /// Placements of an input on all groups.
  llvm::ArrayRef<tp::PlacementAttr> getAll(unsigned argument) const {
    return placements[argument];
  }
  /// What rank `rank` holds of an input.
  InputInstance getInstance(unsigned argument, int64_t rank) const;
  llvm::ArrayRef<int64_t> getWorld() const { return world; }
  /// What was assumed without a statement, one sentence each.
  llvm::ArrayRef<std::string> getAssumptions() const { return assumptions; }

private:
  /// One for each membership: names do not matter.
  llvm::SmallVector<tp::GroupAttr> groups;
  llvm::SmallVector<int64_t> world;
  /// By argument, then by group.
  std::vector<llvm::SmallVector<tp::PlacementAttr, 2>> placements;
  /// Which ranks of the world hold one tensor: inputs whose ranks are joined by
  /// the same groups share a numbering.
  std::vector<std::vector<unsigned>> tensors;
  std::vector<unsigned> tensorsOfInput;
  std::vector<std::string> assumptions;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PLACEMENTS_INPUTPLACEMENTS_H
