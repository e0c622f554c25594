//===- ReindexingWalk.cpp - what a value is rearranged from -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/ReindexingWalk.h"

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

using namespace mlir;
using namespace commute::analysis;

bool ReindexingWalk::step(llvm::function_ref<bool(Operation *)> mayUndo) {
  Operation *latest = nullptr;
  // Usually the last operand is the latest, and to compare positions is cheaper
  // than to ask for interfaces.
  for (Value value : llvm::reverse(open)) {
    Operation *op = value.getDefiningOp();
    if (!op || (latest && (op->getBlock() != latest->getBlock() ||
                           op->isBeforeInBlock(latest))))
      continue;
    // What cannot be undone can only be the origin itself.
    if (isReindexing(op) && mayUndo(op))
      latest = op;
  }
  if (!latest)
    return false;
  open.remove(latest->getResult(0));
  undone.push_back(latest);
  open.insert(latest->operand_begin(), latest->operand_end());
  return true;
}
