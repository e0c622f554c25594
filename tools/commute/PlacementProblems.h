//===- PlacementProblems.h - conflicting placements -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_PLACEMENTPROBLEMS_H
#define COMMUTE_TOOLS_COMMUTE_PLACEMENTPROBLEMS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"

#include <string>
#include <vector>

namespace commute::tool {

/// An operation that contradicts the placement of its operand, or a
/// contradiction between stated placements.
struct PlacementProblem {
  /// The problem; starts with a verb if a node causes it.
  std::string message;
  /// The node and its source ("file:line"), if known.
  std::string node;
  std::string source;
};

std::vector<PlacementProblem> findPlacementProblems(mlir::ModuleOp module);
/// Prints one indented line for all problems that are alike.
void print(const std::vector<PlacementProblem> &problems,
           llvm::raw_ostream &os);
llvm::json::Array toJson(const std::vector<PlacementProblem> &problems);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PLACEMENTPROBLEMS_H
