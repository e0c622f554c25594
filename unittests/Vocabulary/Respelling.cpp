//===- Respelling.cpp - writing a whole graph anew ------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Respelling.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace commute;

/// PyTorch takes symbolic sizes as values of the graph, which tp ops have not.
static bool statesSizes(Operation *op) {
  return isa<tp::ReshapeOp, tp::SliceOp, tp::BroadcastOp, tp::ConstantOp,
             tp::IotaOp, tp::RmsNormOp, tp::LayerNormOp>(op);
}

static bool canBeWritten(Operation *op) {
  if (isa<tp::CallOp>(op))
    return false;
  return !statesSizes(op) || llvm::all_of(op->getResultTypes(), [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  });
}

size_t test::forgetNodes(vocabulary::ImportedProgram &imported) {
  llvm::DenseSet<StringRef> kept;
  imported.module->walk([&](Operation *op) {
    auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
    // Inner ops are written with the op that needs them.
    bool isKept = !canBeWritten(op);
    for (Value operand : op->getOperands())
      if (Operation *inner = operand.getDefiningOp())
        isKept |= inner->hasAttr("tp.inner") && !canBeWritten(inner);
    if (names && isKept)
      for (StringAttr name : names.getAsRange<StringAttr>())
        kept.insert(name.getValue());
  });
  size_t numForgotten = 0;
  for (vocabulary::NodeRecord &record : imported.records) {
    bool isKept = llvm::any_of(record.roots, [&](const auto &root) {
      return kept.contains(root.name);
    });
    if (isKept)
      continue;
    record.roots.clear();
    ++numForgotten;
  }
  return numForgotten;
}

std::string test::printWithoutNames(ModuleOp module) {
  OwningOpRef<ModuleOp> copy = module.clone();
  copy->walk([](Operation *op) {
    if (isa_and_present<tp::TPDialect>(op->getDialect()))
      op->setDiscardableAttrs(ArrayRef<NamedAttribute>());
    op->removeDiscardableAttr(tp::TPDialect::signatureAttrName);
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os);
  return text;
}
