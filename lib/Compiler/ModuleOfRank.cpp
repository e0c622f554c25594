//===- ModuleOfRank.cpp - what one rank runs of a merged module -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "MergedRanks.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Sets the arguments that a call has on this rank.
static void restoreArguments(tp::CallOp call) {
  auto texts =
      call->getAttrOfType<ArrayAttr>(tp::TPDialect::argumentsOfRanksAttrName);
  if (!texts)
    return;
  unsigned last = call->getNumOperands() - 1;
  auto index = call->getOperand(last).getDefiningOp<tp::ConstantOp>();
  call.setArgumentsAttr(
      cast<StringAttr>(texts[cast<IntegerAttr>(index.getValue()).getInt()]));
  call->eraseOperand(last);
  call->removeAttr(tp::TPDialect::argumentsOfRanksAttrName);
}

static void restoreNames(Operation *op,
                         const llvm::StringMap<std::string> &ownNames) {
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  if (!names || ownNames.empty())
    return;
  SmallVector<StringRef> renamed;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    auto own = ownNames.find(name.getValue());
    renamed.push_back(own == ownNames.end() ? name.getValue()
                                            : StringRef(own->second));
  }
  op->setAttr(tp::TPDialect::namesAttrName,
              Builder(op->getContext()).getStrArrayAttr(renamed));
}

OwningOpRef<ModuleOp>
compiler::getModuleOfRank(ModuleOp merged, int64_t rank,
                          const llvm::StringMap<std::string> &ownNames) {
  OwningOpRef<ModuleOp> module = merged.clone();
  (*module)->setAttr(tp::TPDialect::rankAttrName,
                     Builder(merged.getContext()).getI64IntegerAttr(rank));
  func::FuncOp main = analysis::getMain(*module);
  SmallVector<Operation *> ops;
  for (Operation &op : main.getBody().front().without_terminator())
    ops.push_back(&op);
  for (Operation *&op : ops)
    if (auto select = dyn_cast<tp::RankSelectOp>(op)) {
      Value own = select.getValueOfRank(rank);
      if (Operation *variant = own.getDefiningOp())
        variant->removeAttr(tp::TPDialect::variantAttrName);
      select.getResult().replaceAllUsesWith(own);
      select.erase();
      op = nullptr;
    }
  llvm::erase(ops, nullptr);
  for (Operation *op : ops) {
    if (auto call = dyn_cast<tp::CallOp>(op))
      restoreArguments(call);
    restoreNames(op, ownNames);
  }
  // Erase the variants of other ranks.
  for (Operation *op : llvm::reverse(ops)) {
    if (!op->hasAttr(tp::TPDialect::variantAttrName))
      continue;
    if (op->use_empty())
      op->erase();
    else
      op->removeAttr(tp::TPDialect::variantAttrName);
  }
  return module;
}
