//===- PlacementProblems.cpp - conflicting placements -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PlacementProblems.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Report/RemarkCollector.h"

using namespace commute;
using namespace commute::tool;

std::vector<PlacementProblem>
tool::findPlacementProblems(mlir::ModuleOp module) {
  mlir::func::FuncOp function = analysis::getMain(module);
  if (!function)
    return {};
  // A conflict with a default says nothing of the program.
  llvm::Expected<analysis::PlacementAnalysis> placements =
      analysis::PlacementAnalysis::run(
          function, analysis::InputPlacements::Default::Varying);
  if (!placements)
    return {{llvm::toString(placements.takeError()), "", ""}};
  std::vector<PlacementProblem> problems;
  for (const analysis::PlacementProblem &found :
       placements->findProblems(function)) {
    PlacementProblem &problem = problems.emplace_back();
    problem.message = found.message;
    std::string file;
    unsigned line = 0;
    report::describeLocation(found.op->getLoc(), problem.node, file, line);
    if (!file.empty())
      problem.source = file + ":" + std::to_string(line);
  }
  return problems;
}

void tool::print(const std::vector<PlacementProblem> &problems,
                 llvm::raw_ostream &os) {
  for (const PlacementProblem &problem : problems) {
    os << "  " << problem.node;
    if (!problem.source.empty())
      os << (problem.node.empty() ? "(" : " (") << problem.source << ")";
    if (!problem.node.empty() || !problem.source.empty())
      os << ": ";
    os << problem.message << '\n';
  }
}

llvm::json::Array tool::toJson(const std::vector<PlacementProblem> &problems) {
  llvm::json::Array array;
  for (const PlacementProblem &problem : problems)
    array.push_back(llvm::json::Object{{"message", problem.message},
                                       {"node", problem.node},
                                       {"source", problem.source}});
  return array;
}
