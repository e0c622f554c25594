//===- PlacementProblems.cpp - conflicting placements -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PlacementProblems.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Report/AlikeSites.h"
#include "commute/Report/RemarkCollector.h"

#include <map>

using namespace commute;
using namespace commute::tool;

/// Returns the dim along which a value is sharded on a group.
static std::optional<int64_t>
getShardDim(mlir::Value value, tp::GroupAttr group,
            const analysis::PlacementAnalysis &placements) {
  tp::PlacementAttr placement = placements.getPlacement(value, group);
  if (placement.getKind() != tp::PlacementKind::Shard)
    return std::nullopt;
  return placement.getDim();
}

/// Returns the value that `accepts` among the operands, if there is exactly
/// one.
static mlir::Value
getOnlyOperand(mlir::Operation *op,
               llvm::function_ref<bool(mlir::Value)> accepts) {
  mlir::Value found;
  for (mlir::Value operand : op->getOperands()) {
    if (!accepts(operand))
      continue;
    if (found && found != operand)
      return nullptr;
    found = operand;
  }
  return found;
}

/// Returns true if a value that is sharded along `dim` may as well be sharded
/// along another dim, which has one index on each rank: a view that splits
/// [heads * 128] into [heads, 128] leaves one head of its own to each rank.
/// The blocks are the same tensors then, and a reduction over `dim` leaves a
/// block of heads, no summand.
static bool mayBeAlongUnitDim(mlir::Value value, int64_t dim,
                              tp::GroupAttr group,
                              const analysis::PlacementAnalysis &placements) {
  for (mlir::Operation *op = value.getDefiningOp(); op;
       op = value.getDefiningOp()) {
    auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
    mlir::Value operand = getOnlyOperand(op, [&](mlir::Value candidate) {
      return getShardDim(candidate, group, placements).has_value();
    });
    auto source =
        operand ? mlir::dyn_cast<mlir::RankedTensorType>(operand.getType())
                : mlir::RankedTensorType();
    if (!type || !source)
      return false;
    if (type.getShape() != source.getShape())
      return type.getRank() != source.getRank() &&
             llvm::is_contained(type.getShape(), 1);
    if (getShardDim(operand, group, placements) != dim)
      return false;
    value = operand;
  }
  return false;
}

/// Returns true if the partial operand of `op` is one only by one of several
/// readings of what is stated.
static bool isAmbiguous(mlir::Operation *op,
                        const analysis::PlacementAnalysis &placements) {
  for (tp::GroupAttr group : placements.getGroups()) {
    auto isPartial = [&](mlir::Value value) {
      return placements.getPlacement(value, group).getKind() ==
             tp::PlacementKind::Partial;
    };
    mlir::Value partial = getOnlyOperand(op, isPartial);
    if (!partial)
      continue;
    // The op that made the value partial.
    mlir::Operation *origin = partial.getDefiningOp();
    while (origin) {
      mlir::Value before = getOnlyOperand(origin, isPartial);
      if (!before)
        break;
      origin = before.getDefiningOp();
    }
    if (!origin)
      continue;
    mlir::Value reduced = getOnlyOperand(origin, [&](mlir::Value value) {
      return getShardDim(value, group, placements).has_value();
    });
    if (reduced &&
        mayBeAlongUnitDim(reduced, *getShardDim(reduced, group, placements),
                          group, placements))
      return true;
  }
  return false;
}

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
    if (isAmbiguous(found.op, *placements))
      continue;
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
  // Those of one line say the same in each layer.
  std::vector<std::pair<const PlacementProblem *, size_t>> folded;
  std::map<std::pair<std::string, std::string>, size_t> known;
  for (const PlacementProblem &problem : problems) {
    std::string site = problem.source.empty() ? problem.node : problem.source;
    auto [place, isNew] = known.try_emplace(
        {site, report::removeIndices(problem.message)}, folded.size());
    if (isNew)
      folded.emplace_back(&problem, 1);
    else
      ++folded[place->second].second;
  }
  for (auto [pointer, count] : folded) {
    const PlacementProblem &problem = *pointer;
    os << "  " << problem.node;
    if (!problem.source.empty())
      os << (problem.node.empty() ? "(" : " (") << problem.source << ")";
    if (count > 1)
      os << " and " << count - 1 << " alike";
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
