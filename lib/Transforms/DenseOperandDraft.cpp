//===- DenseOperandDraft.cpp - one operand made dense -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DenseOperandDraft.h"

using namespace mlir;
using namespace commute;

DenseOperandDraft::DenseOperandDraft(OpOperand &use, Remedy remedy,
                                     Operation *source,
                                     analysis::StrideAnalysis &strides)
    : use(use), remedy(remedy), source(source), strides(strides),
      ops(strides.getSymbols()) {
  if (remedy == Remedy::InsertCopy)
    this->source = ops.add<tp::CopyOp>(use.getOwner()->getLoc(), use.get(),
                                       /*preserve_strides=*/false);
}

Footprint DenseOperandDraft::getFootprint() const {
  Footprint footprint;
  footprint.change(use.getOwner());
  if (remedy == Remedy::WriteDense)
    footprint.change(source);
  else if (remedy == Remedy::TakeCopy)
    footprint.relyOn(source);
  return footprint;
}

void DenseOperandDraft::writeDense() {
  if (auto convert = dyn_cast<tp::CastOp>(source))
    convert.setContiguous(true);
  else
    cast<tp::CopyOp>(source).setPreserveStrides(false);
  Value value = use.get();
  const tp::StridedShape &shape = strides.getShape(value);
  value.setType(strides.getSymbols().getType(
      tp::getTensor(value).getElementType(), shape.sizes,
      tp::getContiguousStrides(shape.sizes)));
  strides.add(source);
}

void DenseOperandDraft::apply(RewriterBase &rewriter) {
  switch (remedy) {
  case Remedy::WriteDense:
    rewriter.modifyOpInPlace(source, [&] { writeDense(); });
    return;
  case Remedy::InsertCopy:
    ops.insertBefore(use.getOwner());
    strides.add(source);
    [[fallthrough]];
  case Remedy::TakeCopy:
    rewriter.modifyOpInPlace(use.getOwner(),
                             [&] { use.set(source->getResult(0)); });
    return;
  }
}

void DenseOperandDraft::count(
    llvm::function_ref<void(StringRef, unsigned)> add) const {
  switch (remedy) {
  case Remedy::WriteDense:
    add("num-made-dense", 1);
    return;
  case Remedy::TakeCopy:
    add("num-shared", 1);
    return;
  case Remedy::InsertCopy:
    add("num-copies", 1);
    return;
  }
}
