//===- RegionRefusals.cpp - why a region stays whole ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionRefusals.h"

#include "RegionChoice.h"

#include "commute/Dialect/NodeName.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using analysis::MissingStatement;
using analysis::Refusal;
using analysis::RefusalCode;
using analysis::RegionOp;
using analysis::RegionRole;
using analysis::ShardRegion;

/// How often a region is grown again for one refusal.
static constexpr unsigned maxTrials = 4;

/// The ops of a region that need whole values only because nothing states the
/// placement of inputs, in program order.
static SmallVector<Operation *> getUnstated(const ShardRegion &region,
                                            bool includesProducts) {
  SmallVector<Operation *> users;
  for (const auto &[op, refusal] : region.borders) {
    auto missing = region.unstated.find(op);
    if (refusal.code == RefusalCode::Varying &&
        missing != region.unstated.end() &&
        (includesProducts || !missing->second.isOfProduct))
      users.push_back(op);
  }
  llvm::sort(users,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return users;
}

/// `missing`: what is to be stated, for `user` and maybe for others after it.
static Unstated describe(const ShardRegion &region, Operation *user,
                         const MissingStatement &missing) {
  Unstated result;
  result.user = user;
  result.reason = getNodeName(user) + " " +
                  region.borders.find(user)->second.reason + ": " +
                  missing.text;
  result.remedy = missing.remedy;
  result.option = missing.option;
  return result;
}

Unstated commute::findUnstated(const ShardRegion &region) {
  SmallVector<Operation *> users =
      getUnstated(region, /*includesProducts=*/false);
  if (users.empty())
    return {};
  return describe(region, users.front(),
                  region.unstated.find(users.front())->second);
}

/// Whether an op of the region would take less time on shards.
static bool hasWork(const ShardRegion &region,
                    const target::PriceModel &model) {
  return llvm::any_of(region.ops, [&](const RegionOp &entry) {
    return entry.role == RegionRole::RowLocal &&
           model.getSeconds(entry.op).value_or(0) > 0;
  });
}

Unstated commute::findUnstatedGain(const ShardRegion &region,
                                   const RegionContext &context) {
  Unstated best;
  Operation *first = nullptr;
  SmallVector<BlockArgument> inputs;
  std::optional<ShardRegion> grown;
  for (unsigned trial = 0; trial < maxTrials; ++trial) {
    // What one op lacks ends the region before the next one.
    const ShardRegion &current = grown ? *grown : region;
    SmallVector<Operation *> users = getUnstated(
        current, /*includesProducts=*/!hasWork(current, context.model));
    if (users.empty())
      break;
    if (!first)
      first = users.front();
    for (BlockArgument input :
         current.unstated.find(users.front())->second.inputs)
      if (!llvm::is_contained(inputs, input))
        inputs.push_back(input);
    grown = analysis::growIfReplicated(region, inputs, context.placements,
                                       context.sizes);
    RegionChoice choice(*grown, context.model, context.isRankSpecific,
                        context.isPipelined, /*prefersShards=*/false);
    if (!choice.isPriced())
      break;
    choice.solve();
    double before = choice.getSecondsBefore(), after = choice.getSecondsAfter();
    double gain = best.seconds ? best.seconds->first - best.seconds->second : 0;
    if (before - after <= gain)
      continue;
    best = describe(region, first,
                    analysis::describeStatement(inputs, region.group));
    best.seconds = {before, after};
  }
  return best;
}

Refusal commute::describeUsers(const ShardRegion &region, Value value) {
  // What needs a value may need what other ops make of its rows.
  llvm::SmallSetVector<Operation *, 8> users(value.user_begin(),
                                             value.user_end());
  for (size_t next = 0; next < users.size(); ++next)
    if (!region.borders.contains(users[next]))
      for (Value result : users[next]->getResults())
        if (region.dims.contains(result))
          users.insert(result.user_begin(), result.user_end());
  // MLIR does not define the order of users.
  Operation *first = nullptr;
  for (Operation *user : users)
    if (region.borders.contains(user) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  std::string text =
      "along dim " + std::to_string(region.dims.lookup(value)) + ", ";
  if (!first) {
    auto reduction = llvm::find_if(region.ops, [&](const RegionOp &entry) {
      return entry.role == RegionRole::RowReduction && users.contains(entry.op);
    });
    if (reduction == region.ops.end())
      return {nullptr, RefusalCode::WholeRows,
              text + "no op after it can run on shards"};
    return {.code = RefusalCode::WholeRows,
            .reason = text + getNodeName(reduction->op) +
                      " reduces the rows, which would take another all_reduce",
            .blocker = reduction->op};
  }
  Refusal refusal = region.borders.find(first)->second;
  refusal.op = nullptr;
  refusal.blocker = first;
  bool isReturned = llvm::any_of(first->getOperands(), [&](Value operand) {
    auto wait = operand.getDefiningOp<tp::CompletionOpInterface>();
    return operand == value || (wait && wait.getBegun() == value);
  });
  if (refusal.code == RefusalCode::Output)
    refusal.reason = (isReturned ? "its result" : "what follows from it") +
                     std::string(" is returned, and graph outputs cannot be "
                                 "sharded");
  else
    refusal.reason = text + getNodeName(first) + " " + refusal.reason;
  if (auto missing = region.unstated.find(first);
      missing != region.unstated.end())
    refusal.reason += ": " + missing->second.text;
  return refusal;
}
