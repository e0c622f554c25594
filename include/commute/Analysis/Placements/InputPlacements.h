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

/// Returns all groups that a module states or that its collectives name, one
/// for each name and membership, in order of appearance.
llvm::SmallVector<tp::GroupAttr> getGroups(mlir::ModuleOp module);

/// Returns an error if the members of any group are unknown. The error names
/// all such groups and the options that state their members. Call this before
/// any analysis that depends on individual ranks.
llvm::Error checkGroupsAreKnown(mlir::ModuleOp module);

/// Returns the ranks of all groups in ascending order, or only rank 0 if there
/// are no groups. Groups with unknown members add none.
llvm::SmallVector<int64_t> getWorld(mlir::ModuleOp module);

/// The tensor that a rank holds of an input.
struct InputInstance {
  /// A division of the tensor along `dim` into `count` equal blocks, of which
  /// this rank holds block `index`. Several divisions apply in order.
  struct Cut {
    int64_t dim;
    int64_t index;
    int64_t count;
  };
  /// Ranks with equal numbers hold the same tensor, or blocks of it.
  int64_t tensor = 0;
  llvm::SmallVector<Cut, 1> cuts;
};

/// Returns the name under which messages and options speak of an input: that of
/// its parameter, or else that in the graph.
std::string getPlacedName(mlir::BlockArgument input);

/// How each input of a program differs between ranks, as stated by the sidecar
/// and the command line. By default, weights and biases of norms are replicated
/// on every group, which is an assumption, and all other inputs are varying,
/// which assumes nothing.
class InputPlacements {
public:
  enum class Default {
    /// Weights and biases of norms are assumed to be replicated.
    NormsReplicated,
    /// Nothing is assumed.
    Varying,
  };

  /// Returns an error for statements that contradict each other or the input's
  /// shape, and for groups with unknown members.
  static llvm::Expected<InputPlacements> resolve(mlir::func::FuncOp function);
  /// The same, but accepts groups of unknown members. `getWorld` and
  /// `getInstance` must not be called on the result.
  static llvm::Expected<InputPlacements>
  resolveInAnyWorld(mlir::func::FuncOp function,
                    Default defaults = Default::NormsReplicated);

  /// Returns the placement of an input with respect to a group.
  tp::PlacementAttr get(unsigned argument, tp::GroupAttr group) const;
  /// Returns the placements of an input on all groups.
  llvm::ArrayRef<tp::PlacementAttr> getAll(unsigned argument) const {
    return placements[argument];
  }
  /// Returns the tensor that rank `rank` holds of an input.
  InputInstance getInstance(unsigned argument, int64_t rank) const;
  llvm::ArrayRef<int64_t> getWorld() const { return world; }
  /// Returns true if the placement of an input is stated, not a default.
  bool isStated(unsigned argument, tp::GroupAttr group) const;
  /// Describes the statements that an analysis may rest on, one line for each
  /// group and placement: "on group '0', replicated: x, layers.*.norm.weight
  /// (80 inputs)". Stated values that vary are left out.
  std::vector<std::string>
  describeStatements(mlir::func::FuncOp function) const;
  /// Describes in the same way the defaults that passes rest on.
  std::vector<std::string> describeDefaults(mlir::func::FuncOp function) const;
  /// Assumptions that were made without a statement, one sentence each.
  llvm::ArrayRef<std::string> getAssumptions() const { return assumptions; }

private:
  /// One line for each group and placement other than varying.
  std::vector<std::string> describe(mlir::func::FuncOp function,
                                    bool areStated) const;

  /// One group for each membership, regardless of names.
  llvm::SmallVector<tp::GroupAttr> groups;
  llvm::SmallVector<int64_t> world;
  /// By argument, then by group.
  std::vector<llvm::SmallVector<tp::PlacementAttr, 2>> placements;
  /// The ranks of the world that hold the same tensor. Inputs whose ranks are
  /// joined by the same groups share a numbering.
  std::vector<std::vector<unsigned>> tensors;
  std::vector<unsigned> tensorsOfInput;
  /// Whether these are stated.
  std::vector<llvm::SmallVector<bool, 2>> stated;
  std::vector<std::string> assumptions;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PLACEMENTS_INPUTPLACEMENTS_H
