//===- SharedViews.cpp - equal views become one -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SharedViews.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace commute;

namespace {
/// Ops are equal if they compute the same function of the same value.
struct EqualOps : llvm::DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op), OperationEquivalence::directHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};
} // namespace

void commute::shareViews(Block &block, RewriterBase &rewriter) {
  llvm::DenseSet<Operation *, EqualOps> known;
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
