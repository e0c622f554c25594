//===- ElementwiseKernels.cpp - elementwise ops in one kernel -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseKernels.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

/// How many views are looked through.
static constexpr unsigned maxViews = 8;
/// How many readers of a value are looked at: values that are read more often
/// are those of the whole program, such as rotary embeddings.
static constexpr unsigned maxReaders = 16;

bool target::isElementwise(Operation *op) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || op->getNumResults() != 1 || !isMemoryEffectFree(op) ||
      isa<tp::CollectiveOpInterface, tp::CompletionOpInterface,
          tp::ReindexOpInterface>(op))
    return false;
  tp::DimensionRule rule = ruled.getDimensionRule();
  return llvm::all_of(rule.factors, [](const tp::Factor &factor) {
    return factor.kind == tp::Factor::Kind::Parallel;
  });
}

/// Whether an op rearranges or shares the elements of its first operand without
/// a kernel.
static bool isView(Operation *op) {
  auto strides = dyn_cast<tp::StrideOpInterface>(op);
  return strides && strides.mayShareMemory() &&
         isa<tp::ReindexOpInterface>(op) && op->getNumOperands() == 1;
}

static Operation *getProducer(Value value) {
  Operation *op = value.getDefiningOp();
  for (unsigned view = 0; op && isView(op) && view < maxViews; ++view)
    op = op->getOperand(0).getDefiningOp();
  return op;
}

/// Whether all that reads a value, through views, is elementwise.
static bool hasOnlyElementwiseReaders(Value value, unsigned depth,
                                      unsigned &numReaders) {
  for (Operation *user : value.getUsers()) {
    // Ops of drafts are in no block.
    if (!user->getBlock())
      continue;
    if (++numReaders > maxReaders)
      return false;
    if (isElementwise(user))
      continue;
    if (depth == maxViews || !isView(user) ||
        !hasOnlyElementwiseReaders(user->getResult(0), depth + 1, numReaders))
      return false;
  }
  return true;
}

/// Whether an op that computes `value`, or other operands of the same kernel,
/// reads `input`.
static bool isReadBy(Value input, Value value, unsigned depth,
                     unsigned &numOps) {
  Operation *producer = getProducer(value);
  if (!producer || depth == maxViews || ++numOps > maxReaders ||
      !isElementwise(producer))
    return false;
  return llvm::any_of(producer->getOperands(), [&](Value operand) {
    return operand == input || isReadBy(input, operand, depth + 1, numOps);
  });
}

KernelShare target::findKernelShare(Operation *op) {
  KernelShare share;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    Operation *producer = getProducer(operand);
    unsigned numOps = 0;
    share.isInRegisters.push_back(
        (producer && isElementwise(producer)) ||
        llvm::is_contained(op->getOperands().take_front(index), operand) ||
        llvm::any_of(op->getOperands(), [&](Value other) {
          return other != operand && isReadBy(operand, other, 0, numOps);
        }));
  }
  unsigned numReaders = 0;
  share.isUnwritten =
      op->getBlock() && !op->use_empty() &&
      hasOnlyElementwiseReaders(op->getResult(0), 0, numReaders);
  return share;
}
