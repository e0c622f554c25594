//===- WaitedValues.cpp - values that are used after their wait -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "WaitedValues.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace commute;

bool compiler::useResultsOfWaits(ModuleOp module) {
  func::FuncOp main = analysis::getMain(module);
  if (!main)
    return false;
  bool hasChanged = false;
  for (auto completion : main.getOps<tp::CompletionOpInterface>()) {
    Value begun = completion.getBegun();
    if (!completion->use_empty())
      continue;
    begun.replaceUsesWithIf(completion->getResult(0), [&](OpOperand &use) {
      // A second wait for the same value stays one.
      bool isLater = completion->isBeforeInBlock(use.getOwner()) &&
                     !isa<tp::CompletionOpInterface>(use.getOwner());
      hasChanged |= isLater;
      return isLater;
    });
  }
  return hasChanged;
}
