//===- OtherRanks.cpp - what is known of other ranks' programs --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/OtherRanks.h"

#include "commute/Dialect/CarrierAttributes.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

bool analysis::areOtherRanksUnknown(Operation *op) {
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  return module && module->hasAttr(tp::unknownRanksAttrName);
}

Refusal analysis::refuseForUnknownRanks(Operation *op,
                                        const llvm::Twine &reason) {
  return {
      op, RefusalCode::UnknownRanks,
      (reason + ", and the programs of the other ranks are unknown").str(),
      "let the ranks exchange their programs (ranks=\"exchange\"), or state "
      "that all run this one (ranks=\"same\")"};
}
