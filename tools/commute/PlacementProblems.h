//===- PlacementProblems.h - placements that do not fit ---------*- C++ -*-===//
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

/// One thing that a graph does to a value although its placement speaks against
/// it, or statements that contradict each other.
struct PlacementProblem {
  /// What is wrong; begins with a verb where a node does it.
  std::string message;
  /// The node, and "file:line" of its source, as far as they are known.
  std::string node;
  std::string source;
};

std::vector<PlacementProblem> findPlacementProblems(mlir::ModuleOp module);
/// One line each, indented.
void print(const std::vector<PlacementProblem> &problems,
           llvm::raw_ostream &os);
llvm::json::Array toJson(const std::vector<PlacementProblem> &problems);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PLACEMENTPROBLEMS_H
