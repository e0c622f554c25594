//===- Repetitions.cpp - what is sent or computed again ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/Repetitions.h"

#include "commute/Analysis/EqualOps.h"
#include "commute/Analysis/OtherRanks.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

Repetitions::Repetitions(Region &region) : region(region) {
  for (Block &block : region)
    add(block);
}

/// Whether an op is a function of one value, and of nothing but constants else.
/// Functions of several values are left out: a program that computes a whole
/// layer again has its reasons.
static bool isFunctionOfOneValue(Operation *op) {
  if (op->getNumRegions() != 0 || !isa<tp::EvaluationOpInterface>(op) ||
      isa<tp::CollectiveOpInterface>(op) || !isMemoryEffectFree(op) ||
      op->hasAttr(tp::TPDialect::variantAttrName))
    return false;
  Value only;
  for (Value operand : op->getOperands()) {
    if (operand.getDefiningOp<tp::ConstantOp>() || operand == only)
      continue;
    if (only)
      return false;
    only = operand;
  }
  return true;
}

/// Whether a function computes new elements, rather than only moving them.
static bool computes(Operation *op) {
  return !isa<tp::ReindexOpInterface, tp::ConstantOp, tp::IotaOp>(op);
}

void Repetitions::add(Block &block) {
  EqualOpTable known;
  // The collectives that do not repeat the one before them.
  SmallVector<Operation *> borders;
  // The number of these up to the op, by the first op of each kind.
  llvm::DenseMap<Operation *, unsigned> position;
  // What is computed from the result of a collective.
  llvm::DenseSet<Operation *> communicated;
  for (Operation &op : block) {
    // Values that are read at different times may differ.
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    if (dense && dense.writesIntoOperands()) {
      known.clear();
      communicated.insert(&op);
      continue;
    }
    bool isCollective = isa<tp::CollectiveOpInterface>(op);
    bool isCommunicated =
        isCollective || llvm::any_of(op.getOperands(), [&](Value operand) {
          return communicated.contains(operand.getDefiningOp());
        });
    if (isCommunicated)
      communicated.insert(&op);
    if (!isCollective && !isFunctionOfOneValue(&op))
      continue;
    Operation *&first = known.enter(&op);
    if (first != &op) {
      unsigned place = position.lookup(first);
      Operation *other = place < borders.size() ? borders[place] : nullptr;
      if (isCollective || (isCommunicated && computes(&op)))
        earlierOf[&op] = {first, other};
      // Collectives that stay apart have functions of their own.
      if (!isCollective)
        known.equate(&op, first);
      if (!other)
        continue;
      first = &op;
    }
    if (isCollective)
      borders.push_back(&op);
    position[&op] = borders.size();
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

Legal<Repetition> Repetitions::find(Operation *op) {
  auto found = earlierOf.find(op);
  if (found == earlierOf.end())
    return Refusal{};
  auto [first, other] = found->second;
  bool isCollective = isa<tp::CollectiveOpInterface>(op);
  if (isCollective && areOtherRanksUnknown(op))
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
  Repetition repeated{first, {}};
  if (!isCollective || !cast<tp::CollectiveOpInterface>(op).isAsynchronous()) {
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

Legal<Repetition> Repetitions::checkReturned(Repetition repeated) {
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
