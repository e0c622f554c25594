//===- ReturnedMemory.cpp - values that callers may write into --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/ReturnedMemory.h"

#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// Whether a result of an op may lie in the memory of an operand.
static bool mayShareMemory(Operation *op) {
  auto strided = dyn_cast<tp::StrideOpInterface>(op);
  return !strided || strided.mayShareMemory();
}

ReturnedMemory::ReturnedMemory(Region &region) {
  SmallVector<Value> work;
  for (Block &block : region)
    if (!block.empty() && block.back().hasTrait<OpTrait::IsTerminator>())
      llvm::append_range(work, block.back().getOperands());
  while (!work.empty()) {
    Value value = work.pop_back_val();
    if (!values.insert(value).second)
      continue;
    Operation *op = value.getDefiningOp();
    if (op && mayShareMemory(op))
      llvm::append_range(work, op->getOperands());
  }
}
