//===- RepeatedCollectives.cpp - the same values sent again -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/RepeatedCollectives.h"

#include "commute/Analysis/EqualOps.h"
#include "commute/Analysis/OtherRanks.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

RepeatedCollectives::RepeatedCollectives(Region &region) : region(region) {
  for (Block &block : region)
    add(block);
}

void RepeatedCollectives::add(Block &block) {
  // The last one of each kind that repeats none.
  llvm::DenseMap<Operation *, Operation *, EqualOps> known;
  llvm::DenseMap<Operation *, Operation *> next;
  Operation *previous = nullptr;
  for (Operation &op : block) {
    // Values that are read at different times may differ.
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    if (dense && dense.writesIntoOperands()) {
      known.clear();
      continue;
    }
    if (!isa<tp::CollectiveOpInterface>(op))
      continue;
    auto [place, isNew] = known.try_emplace(&op, &op);
    Operation *first = place->second;
    if (!isNew)
      earlierOf[&op] = {first, first == previous ? nullptr : next[first]};
    if (!isNew && first == previous)
      continue;
    place->second = &op;
    if (previous)
      next[previous] = &op;
    previous = &op;
  }
}

/// The results of the ops that wait for an asynchronous collective, in order.
static SmallVector<Value> getCompleted(Operation *op) {
  SmallVector<Value> completed;
  for (Operation *user : op->getResult(0).getUsers())
    completed.push_back(user->getResult(0));
  llvm::sort(completed, [](Value a, Value b) {
    return a.getDefiningOp()->isBeforeInBlock(b.getDefiningOp());
  });
  return completed;
}

Legal<RepeatedCollective> RepeatedCollectives::find(Operation *op) {
  auto found = earlierOf.find(op);
  if (found == earlierOf.end())
    return Refusal{};
  auto [first, other] = found->second;
  if (areOtherRanksUnknown(op))
    return refuseForUnknownRanks(op, "this rank sends the same as in " +
                                         getNodeName(first) +
                                         "; other ranks must do so as well");
  if (other)
    return Refusal{.op = first,
                   .code = RefusalCode::OtherUsers,
                   .reason = "the result of " + getNodeName(first) +
                             " is the same, but " + getNodeName(other) +
                             " comes between; the value would occupy memory "
                             "until here"};
  RepeatedCollective repeated{first, {}};
  if (!cast<tp::CollectiveOpInterface>(op).isAsynchronous()) {
    for (auto [value, same] : llvm::zip(op->getResults(), first->getResults()))
      repeated.values.emplace_back(value, same);
    return checkReturned(std::move(repeated));
  }
  SmallVector<Value> ready = getCompleted(first);
  for (Value value : getCompleted(op)) {
    if (ready.empty() ||
        !ready.front().getDefiningOp()->isBeforeInBlock(value.getDefiningOp()))
      return Refusal{.op = first,
                     .code = RefusalCode::Dependence,
                     .reason = "the result of " + getNodeName(first) +
                               " is the same, but is waited for later"};
    repeated.values.emplace_back(value, ready.front());
  }
  return checkReturned(std::move(repeated));
}

Legal<RepeatedCollective>
RepeatedCollectives::checkReturned(RepeatedCollective repeated) {
  if (!returned)
    returned.emplace(region);
  for (auto [value, same] : repeated.values)
    if (returned->contains(value) && returned->contains(same))
      return Refusal{.op = repeated.first,
                     .code = RefusalCode::Output,
                     .reason = "the result of " + getNodeName(repeated.first) +
                               " is the same, but both are returned, and a "
                               "caller may write into one of them"};
  return repeated;
}
