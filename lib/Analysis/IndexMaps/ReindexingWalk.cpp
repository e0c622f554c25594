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
  for (Value value : open) {
    Operation *op = value.getDefiningOp();
    // What cannot be undone can only be the origin itself.
    if (!op || !isReindexing(op) || !mayUndo(op))
      continue;
    if (!latest || latest->isBeforeInBlock(op))
      latest = op;
  }
  if (!latest)
    return false;
  open.remove(latest->getResult(0));
  undone.push_back(latest);
  open.insert(latest->operand_begin(), latest->operand_end());
  return true;
}
