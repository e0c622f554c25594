//===- RegionRefusals.cpp - why a region stays whole ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionRefusals.h"

#include "RegionChoice.h"

#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::MissingStatement;
using analysis::Refusal;
using analysis::RefusalCode;
using analysis::RegionOp;
using analysis::RegionRole;
using analysis::ShardRegion;

/// The ops that lack a statement, in program order, of which each trial grows
/// the region once.
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

static Unstated describe(const ShardRegion &region, Operation *user) {
  const MissingStatement &missing = region.unstated.find(user)->second;
  const Refusal &refusal = region.borders.find(user)->second;
  Unstated result;
  result.user = user;
  result.reason = getNodeName(user) + " " + refusal.reason;
  // The reason of a product does not name its weight.
  if (missing.isOfProduct)
    result.reason += ": " + missing.text;
  result.remedy = missing.remedy;
  result.option = missing.option;
  return result;
}

Unstated commute::findUnstated(const ShardRegion &region) {
  SmallVector<Operation *> users =
      getUnstated(region, /*includesProducts=*/false);
  return users.empty() ? Unstated() : describe(region, users.front());
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
  SmallVector<Operation *> users =
      getUnstated(region, /*includesProducts=*/!hasWork(region, context.model));
  if (users.size() > maxTrials)
    users.truncate(maxTrials);
  for (Operation *user : users) {
    ShardRegion stated = analysis::growIfReplicated(
        region, region.unstated.find(user)->second.inputs, context.placements,
        context.sizes);
    RegionChoice choice(stated, context.model, context.isRankSpecific,
                        context.isPipelined, /*prefersShards=*/false);
    if (!choice.isPriced())
      continue;
    choice.solve();
    double before = choice.getSecondsBefore(), after = choice.getSecondsAfter();
    if (after >= before)
      continue;
    Unstated result = describe(region, user);
    result.seconds = {before, after};
    return result;
  }
  return {};
}

Refusal commute::describeUsers(const ShardRegion &region, Value value) {
  Operation *first = nullptr;
  // What needs a value needs what its wait returns.
  SmallVector<Operation *> users(value.getUsers());
  for (Operation *user : value.getUsers())
    if (isa<tp::CompletionOpInterface>(user))
      llvm::append_range(users, user->getUsers());
  // MLIR does not define the order of users.
  for (Operation *user : users)
    if (region.borders.contains(user) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  std::string text =
      "along dim " + std::to_string(region.dims.lookup(value)) + ", ";
  if (!first)
    return {nullptr, RefusalCode::WholeRows,
            text + "no op after it can run on shards"};
  Refusal refusal = region.borders.find(first)->second;
  refusal.op = nullptr;
  refusal.blocker = first;
  refusal.reason =
      refusal.code == RefusalCode::Output
          ? "its result is returned, and graph outputs cannot be sharded"
          : text + getNodeName(first) + " " + refusal.reason;
  return refusal;
}
