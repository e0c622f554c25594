//===- ReplicatedWork.cpp - what all ranks compute alike --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/ReplicatedWork.h"

#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Dialect/TPDialect.h"

#include "llvm/Support/FormatVariadic.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Returns the number of different ranks in the groups.
static int64_t getNumRanks(ArrayRef<tp::GroupAttr> groups) {
  std::set<int64_t> ranks;
  int64_t largest = 0;
  for (tp::GroupAttr group : groups) {
    largest = std::max(largest, group.getSize());
    if (group.hasKnownMembers())
      ranks.insert(group.getRanks().begin(), group.getRanks().end());
  }
  return std::max(largest, static_cast<int64_t>(ranks.size()));
}

/// Returns the values that all ranks compute by the same ops from the same
/// values. Memory that is not initialized counts as such: it is no rank's share
/// of anything.
static DenseSet<Value>
findComputedAlike(func::FuncOp function,
                  const analysis::PlacementAnalysis &placements,
                  ArrayRef<tp::GroupAttr> groups) {
  DenseSet<Value> alike;
  auto isReplicated = [&](Value value) {
    return llvm::all_of(groups, [&](tp::GroupAttr group) {
      return placements.getPlacement(value, group).getKind() ==
             tp::PlacementKind::Replicated;
    });
  };
  for (Value input : function.getArguments())
    if (isReplicated(input))
      alike.insert(input);
  for (Operation &op : function.getFunctionBody().front()) {
    bool isAlike =
        isa<tp::EvaluationOpInterface>(op) && !isa<tp::GroupOpInterface>(op) &&
        placements.knowsOtherRanks() &&
        llvm::all_of(op.getOperands(),
                     [&](Value operand) { return alike.contains(operand); });
    for (Value result : op.getResults())
      if (isAlike || isReplicated(result))
        alike.insert(result);
  }
  return alike;
}

std::optional<ReplicatedWork>
compiler::findReplicatedWork(func::FuncOp function,
                             const target::PriceModel &model) {
  llvm::Expected<analysis::PlacementAnalysis> placements =
      analysis::PlacementAnalysis::run(function);
  if (!placements) {
    llvm::consumeError(placements.takeError());
    return std::nullopt;
  }
  SmallVector<tp::GroupAttr> groups;
  for (tp::GroupAttr group : placements->getGroups())
    if (group.getSize() > 1)
      groups.push_back(group);
  if (groups.empty())
    return std::nullopt;
  llvm::Expected<target::Estimate> estimate = target::estimate(function, model);
  if (!estimate) {
    llvm::consumeError(estimate.takeError());
    return std::nullopt;
  }
  DenseSet<Value> alike = findComputedAlike(function, *placements, groups);
  ReplicatedWork work;
  work.numRanks = getNumRanks(groups);
  for (const target::OpEstimate &op : estimate->ops) {
    // Where the ranks' programs differ, the op stands for their constants.
    if (isa<tp::CollectiveOpInterface, tp::RankSelectOp>(op.op) ||
        op.op->getNumResults() == 0)
      continue;
    ++work.numOps;
    double seconds = op.price.getSeconds();
    work.seconds += seconds;
    if (!llvm::all_of(op.op->getResults(),
                      [&](Value result) { return alike.contains(result); }))
      continue;
    ++work.numReplicatedOps;
    work.replicatedSeconds += seconds;
  }
  if (work.numOps == 0)
    return std::nullopt;
  return work;
}

std::string compiler::describe(const ReplicatedWork &work) {
  return llvm::formatv("{0} of {1} ops ({2:f1} of {3:f1} ms) compute the same "
                       "on all {4} ranks",
                       work.numReplicatedOps, work.numOps,
                       1e3 * work.replicatedSeconds, 1e3 * work.seconds,
                       work.numRanks)
      .str();
}

llvm::json::Object compiler::toJson(const ReplicatedWork &work) {
  return llvm::json::Object{
      {"ranks", work.numRanks},
      {"ops", static_cast<int64_t>(work.numOps)},
      {"replicated_ops", static_cast<int64_t>(work.numReplicatedOps)},
      {"seconds", work.seconds},
      {"replicated_seconds", work.replicatedSeconds}};
}
