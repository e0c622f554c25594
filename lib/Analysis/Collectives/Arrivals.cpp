//===- Arrivals.cpp - values that are used before they arrive -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/Arrivals.h"

#include "commute/Dialect/OpaqueOperators.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// Returns true if the results of an op are there only after a wait.
static bool isAsynchronous(Operation *op) {
  if (auto call = dyn_cast<tp::CallOp>(op))
    return tp::startsCommunication(call);
  auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
  return collective && collective.isAsynchronous();
}

/// Returns the value that an op waits for, or null if it does not wait.
static Value getAwaited(Operation *op) {
  if (auto call = dyn_cast<tp::CallOp>(op))
    return tp::getAwaited(call);
  auto completion = dyn_cast<tp::CompletionOpInterface>(op);
  return completion ? completion.getBegun() : Value();
}

/// Returns true if an op uses no element of its operands: it takes a view, or
/// uses sizes alone.
static bool readsNoElements(Operation *op) {
  if (auto call = dyn_cast<tp::CallOp>(op))
    return tp::readsNoElements(call);
  // A reshape is a view only where strides allow it, and reads otherwise. The
  // work of an op that reads a tensor of unknown size is unknown.
  auto working = dyn_cast<tp::WorkOpInterface>(op);
  std::optional<tp::Work> work;
  if (working)
    work = working.getWork(
        [](StringRef) -> std::optional<int64_t> { return std::nullopt; });
  return work && work->bytesRead == 0;
}

static bool mayShareMemory(Operation *op) {
  auto strided = dyn_cast<tp::StrideOpInterface>(op);
  return strided && strided.mayShareMemory();
}

Arrivals::Owners Arrivals::getOwners(Value value) const {
  auto known = ownersOf.find(value);
  return known == ownersOf.end() ? Owners{value} : known->second;
}

void Arrivals::shareMemory(Operation *op) {
  if (!mayShareMemory(op))
    return;
  Owners owners;
  for (Value operand : op->getOperands())
    for (Value owner : getOwners(operand))
      if (!llvm::is_contained(owners, owner))
        owners.push_back(owner);
  for (Value result : op->getResults())
    ownersOf[result] = owners;
}

void Arrivals::read(Operation *op) {
  for (Value operand : op->getOperands())
    for (Value owner : getOwners(operand)) {
      if (isa<BlockArgument>(owner))
        usedInputs.insert(owner);
      auto begun = pending.find(owner);
      if (begun != pending.end() && readEarly.insert(begun->second).second)
        earlyReads.push_back({op, begun->second});
    }
}

void Arrivals::start(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  ArrayRef<int64_t> written =
      call ? call.getMutatedOperands() : ArrayRef<int64_t>();
  for (Value result : op->getResults()) {
    if (written.empty()) {
      pending[result] = result;
      continue;
    }
    // The results are the operands that the op writes into.
    Owners &owners = ownersOf[result];
    for (int64_t operand : written)
      for (Value owner : getOwners(op->getOperand(operand))) {
        owners.push_back(owner);
        pending[owner] = result;
      }
  }
}

void Arrivals::wait(Operation *op, Value awaited) {
  Owners owners = getOwners(awaited);
  for (Value owner : owners) {
    if (auto input = dyn_cast<BlockArgument>(owner);
        input && !usedInputs.contains(input))
      awaitedInputs.set(input.getArgNumber());
    pending.erase(owner);
  }
  for (Value result : op->getResults())
    ownersOf[result] = owners;
}

Arrivals::Arrivals(func::FuncOp function, const llvm::BitVector &pendingInputs,
                   bool ignoresUnusedWaits)
    : awaitedInputs(function.getNumArguments()) {
  Block &block = function.getBody().front();
  pendingOutputs.resize(block.getTerminator()->getNumOperands());
  auto matters = [](Operation &op) {
    return isAsynchronous(&op) || getAwaited(&op);
  };
  // Most programs of one device have neither.
  if (pendingInputs.none() && llvm::none_of(block, matters))
    return;
  for (unsigned input : pendingInputs.set_bits())
    pending[function.getArgument(input)] = function.getArgument(input);
  for (Operation &op : block.without_terminator()) {
    if (Value awaited = getAwaited(&op)) {
      // A call is never erased.
      if (!ignoresUnusedWaits || !op.use_empty() || isa<tp::CallOp>(op))
        wait(&op, awaited);
    } else if (readsNoElements(&op)) {
      shareMemory(&op);
    } else {
      read(&op);
      if (isAsynchronous(&op))
        start(&op);
    }
  }
  for (auto [output, value] :
       llvm::zip_equal(pendingOutputs, block.getTerminator()->getOperands()))
    for (Value owner : getOwners(value))
      if (Value begun = pending.lookup(owner))
        output = begun;
}

Value Arrivals::getPendingOutput(unsigned index) const {
  return pendingOutputs[index];
}
