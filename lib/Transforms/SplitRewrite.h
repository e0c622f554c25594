//===- SplitRewrite.h - products in segments --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H
#define COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H

#include "OpDraft.h"

#include "commute/Analysis/PartialProducts.h"

namespace commute {

/// How a sum of partial products is written.
struct SplitForm {
  /// Products add to the sum of those before (addmm), rather than being added
  /// afterwards.
  bool accumulates = true;
  /// Slices of the right operand are copied, to be dense.
  bool copiesSlices = false;
  /// Parts that are multiplied alike are multiplied once, rows that repeat once
  /// as well, and constant parts become part of the bias.
  bool simplifies = true;
};

/// Ops that stand for others, and what becomes of those.
struct SplitDraft {
  explicit SplitDraft(const tp::SymbolSpace &symbols) : ops(symbols) {}

  OpDraft ops;
  /// In front of which they go.
  mlir::Operation *position = nullptr;
  /// Values, and what stands for them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
  /// Values behind them, whose strides become others with theirs.
  llvm::SmallVector<std::pair<mlir::Value, mlir::RankedTensorType>> retyped;
  /// Products in the draft.
  unsigned numProducts = 0;
  /// Sums are made in another order than before.
  bool reassociates = false;
  /// What a person should know of rounding: the ends of sentences.
  llvm::SmallVector<std::string> notes;

  void note(std::string text);
  /// Ops that nobody reads any more once the draft stands for them.
  void addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &replaced) const;
  /// Puts the draft into the program; the ops that it stands for are unread,
  /// and for the caller to erase.
  void apply();
};

/// Along the contraction: a sum. nullopt where it cannot be written.
std::optional<SplitDraft>
draftPartialSum(const analysis::PartialProducts &products,
                const SplitForm &form, analysis::ProductContext &context);
/// Along a parallel factor: products side by side.
SplitDraft draftProductsSideBySide(const analysis::PartialProducts &products,
                                   analysis::ProductContext &context);
/// nullopt where somebody sees that the slices lie in memory as they do, which
/// `reason` says.
std::optional<SplitDraft>
draftSlicedProduct(const analysis::SlicedProduct &product,
                   analysis::ProductContext &context, std::string &reason);
SplitDraft draftJoinedProducts(const analysis::JoinedProducts &products,
                               analysis::ProductContext &context);
/// A slice of a concatenation, of which only one part is read.
std::optional<SplitDraft> draftSlicedConcat(tp::SliceOp slice,
                                            analysis::ProductContext &context);

//===----------------------------------------------------------------------===//
// What drafts are made of
//===----------------------------------------------------------------------===//

/// An operand of a product on a segment of `size`, or, with `takesShard`, this
/// rank's shard of it.
mlir::Value takeSegment(OpDraft &ops, const analysis::SegmentOperand &operand,
                        tp::Size size, bool takesShard,
                        mlir::Location location);
/// Ops that do what `steps` do, to another value.
mlir::Value takeSteps(OpDraft &ops, mlir::Value value,
                      llvm::ArrayRef<analysis::DimStep> steps,
                      mlir::Location location);
/// Joins values along a dim.
mlir::Value joinValues(OpDraft &ops, llvm::ArrayRef<mlir::Value> values,
                       unsigned dim, mlir::Location location);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H
