//===- RepeatedCollectives.cpp - the same values sent again -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/RepeatedCollectives.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {
/// Collectives are equal if they compute the same function of the same values.
/// Discardable attributes say how an op was spelled.
struct EqualCollectives : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    auto *key = const_cast<Operation *>(op);
    return llvm::hash_combine(key->getName(), key->hashProperties(),
                              llvm::hash_combine_range(key->getOperands()));
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    auto *lhs = const_cast<Operation *>(a), *rhs = const_cast<Operation *>(b);
    return lhs->getName() == rhs->getName() &&
           lhs->getOperands() == rhs->getOperands() &&
           lhs->getResultTypes() == rhs->getResultTypes() &&
           lhs->getName().compareOpProperties(lhs->getPropertiesStorage(),
                                              rhs->getPropertiesStorage());
  }
};
} // namespace

RepeatedCollectives::RepeatedCollectives(Region &region) : region(region) {
  for (Block &block : region)
    add(block);
}

void RepeatedCollectives::add(Block &block) {
  // The last one of each kind that repeats none.
  llvm::DenseMap<Operation *, Operation *, EqualCollectives> known;
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
