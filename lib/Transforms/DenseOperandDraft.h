//===- DenseOperandDraft.h - one operand made dense -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_DENSEOPERANDDRAFT_H
#define COMMUTE_LIB_TRANSFORMS_DENSEOPERANDDRAFT_H

#include "Draft.h"

#include "commute/Analysis/Sizes/StrideAnalysis.h"

namespace commute {

/// How an operand is made dense.
enum class Remedy {
  /// Change the op that defines it, which has no other users, to write it
  /// dense.
  WriteDense,
  /// Reuse an existing dense copy.
  TakeCopy,
  /// Insert a copy.
  InsertCopy,
};

/// The operand stays where it is, so there is nothing to erase.
class DenseOperandDraft : public Draft {
public:
  /// `source` is the op to change, or the copy to reuse; null for a new copy.
  /// `strides` learns of what the draft does.
  DenseOperandDraft(mlir::OpOperand &use, Remedy remedy,
                    mlir::Operation *source, analysis::StrideAnalysis &strides);

  Footprint getFootprint() const override;
  Price getPrice(const target::PriceModel &model) const override {
    return Price::get(0, ops.getSeconds(model));
  }
  void addOps(llvm::SmallVectorImpl<mlir::Operation *> &all) const override {
    llvm::append_range(all, ops.getOps());
  }
  void apply(mlir::RewriterBase &rewriter) override;
  void
  count(llvm::function_ref<void(llvm::StringRef, unsigned)> add) const override;

private:
  /// Has the op that defines the operand write it dense.
  void writeDense();

  mlir::OpOperand &use;
  Remedy remedy;
  mlir::Operation *source;
  analysis::StrideAnalysis &strides;
  OpDraft ops;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_DENSEOPERANDDRAFT_H
