//===- SharedViews.cpp - equal views become one -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SharedViews.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"
#include "commute/Analysis/EqualOps.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace commute;

void commute::shareViews(Block &block, RewriterBase &rewriter) {
  llvm::DenseSet<Operation *, analysis::EqualOps> known;
  for (Operation &op : llvm::make_early_inc_range(block)) {
    // Copies that are made at different times may differ.
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    if (dense && dense.writesIntoOperands())
      known.clear();
    // Ops with discardable attributes are nodes of the program; keep them.
    if (!(analysis::keepsElementsOfOperand(&op) || isa<tp::RankSliceOp>(op)) ||
        !op.getDiscardableAttrs().empty())
      continue;
    auto [first, isNew] = known.insert(&op);
    if (isNew)
      continue;
    op.getResult(0).replaceAllUsesWith((*first)->getResult(0));
    rewriter.eraseOp(&op);
  }
}
