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

/// The form of a sum of partial products.
struct SplitForm {
  /// Each product is added to the sum of the previous ones (addmm), rather than
  /// separately.
  bool accumulates = true;
  /// Slices of the right operand are copied to dense memory.
  bool copiesSlices = false;
  /// Equal parts are multiplied once, repeated rows are multiplied once, and
  /// constant parts become part of the bias.
  bool simplifies = true;
};

/// Products that replace one product, or the ops computed from several
/// products.
class SplitDraft : public ReplacementDraft {
public:
  explicit SplitDraft(analysis::ProductContext &context)
      : ReplacementDraft(context.getSymbols()), context(&context) {}

  /// Products in the draft.
  unsigned numProducts = 0;
  /// True if sums are computed in a different order than before.
  bool isReassociated = false;
  /// Remarks about rounding, as the ends of sentences.
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

/// Returns true if all products of a sum are zero.
bool isSumOfZeros(const analysis::PartialProducts &products);
/// Splits along the contraction into a sum. Returns null if the sum cannot be
/// written in this form.
std::unique_ptr<SplitDraft>
draftPartialSum(const analysis::PartialProducts &products,
                const SplitForm &form, analysis::ProductContext &context);
/// Splits along a parallel factor into separate products.
std::unique_ptr<SplitDraft>
draftProductsSideBySide(const analysis::PartialProducts &products,
                        analysis::ProductContext &context);
/// Refuses if a user depends on the strides of the slices.
analysis::Legal<std::unique_ptr<SplitDraft>>
draftSlicedProduct(const analysis::SlicedProduct &product,
                   analysis::ProductContext &context);
std::unique_ptr<SplitDraft>
draftJoinedProducts(const analysis::JoinedProducts &products,
                    analysis::ProductContext &context);
/// Drafts a slice of a concatenation that uses only one part. Returns null if
/// that cannot be proven.
std::unique_ptr<SplitDraft>
draftSlicedConcat(tp::SliceOp slice, analysis::ProductContext &context);

//===----------------------------------------------------------------------===//
// Building blocks of drafts
//===----------------------------------------------------------------------===//

/// Returns an operand of a product on a segment of `size` or, with
/// `takesShard`, this rank's shard of it.
mlir::Value takeSegment(OpDraft &ops, const analysis::SegmentOperand &operand,
                        tp::Size size, bool takesShard,
                        mlir::Location location);
/// Applies the ops `steps` to another value.
mlir::Value takeSteps(OpDraft &ops, mlir::Value value,
                      llvm::ArrayRef<analysis::DimStep> steps,
                      mlir::Location location);
/// Concatenates values along a dim.
mlir::Value joinValues(OpDraft &ops, llvm::ArrayRef<mlir::Value> values,
                       unsigned dim, mlir::Location location);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SPLITREWRITE_H
