//===- SplitRewrite.h - products in segments --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H
#define COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H

#include "Draft.h"

#include "commute/Analysis/Products/PartialProducts.h"

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

/// Products that replace one product, or what is made of several.
class SplitDraft : public ReplacementDraft {
public:
  explicit SplitDraft(analysis::ProductContext &context)
      : ReplacementDraft(context.getSymbols()), context(&context) {}

  /// Products in the draft.
  unsigned numProducts = 0;
  /// Sums are made in another order than before.
  bool isReassociated = false;
  /// What a person should know about rounding: the ends of sentences.
  llvm::SmallVector<std::string> notes;

  void note(std::string text);
  bool reassociates() const override { return isReassociated; }
  Price getPrice(const target::PriceModel &model) const override;
  void
  addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &all) const override;
  void apply(mlir::RewriterBase &rewriter) override;
  void
  count(llvm::function_ref<void(llvm::StringRef, unsigned)> add) const override;

private:
  analysis::ProductContext *context;
};

/// Drafts that are applied together.
class SplitDrafts : public Draft {
public:
  std::vector<std::unique_ptr<SplitDraft>> members;

  llvm::SmallVector<const Draft *> getParts() const override;
  bool reassociates() const override;
  Footprint getFootprint() const override;
  Price getPrice(const target::PriceModel &model) const override;
  void addOps(llvm::SmallVectorImpl<mlir::Operation *> &ops) const override;
  void
  addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &all) const override;
  void apply(mlir::RewriterBase &rewriter) override;
  void
  count(llvm::function_ref<void(llvm::StringRef, unsigned)> add) const override;
};

/// Whether a sum has no product that is not zero.
bool isSumOfZeros(const analysis::PartialProducts &products);
/// Along the contraction: a sum. Null where it cannot be written in this form.
std::unique_ptr<SplitDraft>
draftPartialSum(const analysis::PartialProducts &products,
                const SplitForm &form, analysis::ProductContext &context);
/// Along a parallel factor: products side by side.
std::unique_ptr<SplitDraft>
draftProductsSideBySide(const analysis::PartialProducts &products,
                        analysis::ProductContext &context);
/// Refuses where a user depends on the strides of the slices.
analysis::Legal<std::unique_ptr<SplitDraft>>
draftSlicedProduct(const analysis::SlicedProduct &product,
                   analysis::ProductContext &context);
std::unique_ptr<SplitDraft>
draftJoinedProducts(const analysis::JoinedProducts &products,
                    analysis::ProductContext &context);
/// A slice of a concatenation, of which only one part is used; null where that
/// cannot be proven.
std::unique_ptr<SplitDraft>
draftSlicedConcat(tp::SliceOp slice, analysis::ProductContext &context);

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
