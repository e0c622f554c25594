//===- PlacementAnalysis.h - how values differ between ranks ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Determines for every value and every group whether the value is equal on all
// ranks, a shard along a dim, a summand, or none of these. Placements are
// propagated forward from the inputs, through the ops' dimension rules and
// linearity; collectives change the placement on their own group. Implemented
// on MLIR's sparse dataflow framework.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_PLACEMENTS_PLACEMENTANALYSIS_H
#define COMMUTE_ANALYSIS_PLACEMENTS_PLACEMENTANALYSIS_H

#include "commute/Analysis/Placements/InputPlacements.h"

#include "mlir/Analysis/DataFlowFramework.h"

#include <memory>

namespace commute::analysis {

class GroupRelations;

/// An op that loses a partial value, or reduces a value that is not partial.
struct PlacementProblem {
  mlir::Operation *op;
  /// One sentence that names the group and the expected placement.
  std::string message;
};

class PlacementAnalysis {
public:
  /// Analyzes a function. Returns the errors of InputPlacements.
  static llvm::Expected<PlacementAnalysis>
  run(mlir::func::FuncOp function,
      InputPlacements::Default defaults =
          InputPlacements::Default::NormsReplicated);

  llvm::ArrayRef<tp::GroupAttr> getGroups() const { return groups; }
  /// Returns the placement of a value on the group with these members; varying
  /// if it is unknown.
  tp::PlacementAttr getPlacement(mlir::Value value, tp::GroupAttr group) const;
  const InputPlacements &getInputs() const { return inputs; }
  /// False if the program is that of one rank, and those of the others are
  /// unknown: then only what collectives return has a known placement.
  bool knowsOtherRanks() const { return hasAllRanks; }
  /// The relations between the program's groups.
  GroupRelations &getRelations() const { return *relations; }

  /// Returns all ops that misuse a placement: those that apply a nonlinear
  /// function to a partial value, gather it or return it, and those that reduce
  /// a value that is not partial.
  std::vector<PlacementProblem> findProblems(mlir::func::FuncOp function) const;

private:
  InputPlacements inputs;
  bool hasAllRanks = true;
  llvm::SmallVector<tp::GroupAttr> groups;
  std::shared_ptr<GroupRelations> relations;
  std::shared_ptr<mlir::DataFlowSolver> solver;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_PLACEMENTS_PLACEMENTANALYSIS_H
