//===- SplitPrices.cpp - whether products in segments pay -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitPrices.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;

/// Whether a value is the result of a product, possibly reshaped or sliced.
static bool isOfProduct(Value value) {
  constexpr unsigned maxSteps = 16;
  for (unsigned step = 0; step < maxSteps; ++step) {
    Operation *op = value.getDefiningOp();
    if (isa_and_present<tp::MatmulOp>(op))
      return true;
    if (!op || !analysis::keepsElementsOfOperand(op))
      return false;
    value = op->getOperand(0);
  }
  return false;
}

void SplitCost::add(Operation *op, const target::PriceModel &price) {
  std::optional<target::OpPrice> opPrice = price.getPrice(op);
  auto workOp = dyn_cast<tp::WorkOpInterface>(op);
  auto symbols = [&](StringRef name) { return price.getSize(name); };
  std::optional<tp::Work> work =
      workOp ? workOp.getWork(symbols) : std::optional(tp::Work());
  if (!opPrice || !work) {
    isKnown = false;
    return;
  }
  // Erasing a collective that other work already hides saves no time.
  auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
  if (!collective || !collective.isAsynchronous())
    seconds += opPrice->getSeconds();
  flops += double(work->matmulFlops);
  numProducts += isa<tp::MatmulOp>(op);
  if (isa<tp::ConcatOp>(op))
    joinedBytes += double(work->bytesWritten);
  if (auto slice = dyn_cast<tp::SliceOp>(op))
    numSlices += isOfProduct(slice.getInput());
}

SmallVector<Operation *>
commute::findUnread(ArrayRef<const SplitDraft *> drafts) {
  SmallVector<Operation *> replaced;
  // Replacements are used by the users of the values that they replace.
  llvm::SmallPtrSet<Operation *, 8> standsForOthers;
  for (const SplitDraft *draft : drafts) {
    draft->addReplaced(replaced);
    for (auto [before, after] : draft->values)
      standsForOthers.insert(after.getDefiningOp());
  }
  llvm::SetVector<Operation *> unread(replaced.begin(), replaced.end());
  for (unsigned index = 0; index < unread.size(); ++index) {
    for (Value operand : unread[index]->getOperands()) {
      Operation *op = operand.getDefiningOp();
      if (!op || unread.contains(op) || standsForOthers.contains(op) ||
          !isMemoryEffectFree(op))
        continue;
      // Ops of drafts count as users, too.
      if (llvm::all_of(op->getUsers(),
                       [&](Operation *user) { return unread.contains(user); }))
        unread.insert(op);
    }
  }
  return unread.takeVector();
}

SplitCost commute::getCostBefore(ArrayRef<const SplitDraft *> drafts,
                                 const target::PriceModel &price) {
  SplitCost cost;
  for (Operation *op : findUnread(drafts))
    cost.add(op, price);
  return cost;
}

SplitCost commute::getCostAfter(ArrayRef<const SplitDraft *> drafts,
                                const target::PriceModel &price) {
  SplitCost cost;
  for (const SplitDraft *draft : drafts)
    for (Operation *op : draft->ops.getOps())
      cost.add(op, price);
  return cost;
}
