//===- Draft.h - a rewrite that is not yet made -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_DRAFT_H
#define COMMUTE_LIB_TRANSFORMS_DRAFT_H

#include "OpDraft.h"

#include "mlir/IR/PatternMatch.h"

namespace commute {

/// The ops that a rewrite changes, and those that it relies on. Two rewrites
/// overlap if one changes an op that the other changes or relies on.
class Footprint {
public:
  /// The rewrite erases, moves or changes an op, or inserts other ops next to
  /// it.
  void change(mlir::Operation *op) { changed.push_back(op); }
  void change(mlir::Value value) {
    changed.push_back(value.getAsOpaquePointer());
  }
  /// The rewrite needs an op to remain in place. Other rewrites may rely on it,
  /// too.
  void relyOn(mlir::Operation *op) { reliedOn.push_back(op); }

  void add(const Footprint &other) {
    llvm::append_range(changed, other.changed);
    llvm::append_range(reliedOn, other.reliedOn);
  }

  llvm::ArrayRef<void *> getChanged() const { return changed; }
  llvm::ArrayRef<void *> getReliedOn() const { return reliedOn; }

private:
  llvm::SmallVector<void *> changed;
  llvm::SmallVector<void *> reliedOn;
};

/// The predicted effect of a rewrite.
struct Price {
  /// Seconds of the replaced ops and of their replacements; nullopt if a size
  /// is unknown.
  std::optional<double> before, after;
  /// The measure by which rewrites are compared: the seconds saved, unless the
  /// law prefers another one.
  double gain = 0;
  /// True if the rewrite lowers the measure that makes its law terminate.
  bool isProgress = true;

  static Price get(std::optional<double> before, std::optional<double> after) {
    return {before, after, before && after ? *before - *after : 0, true};
  }
  bool isKnown() const { return before && after; }
};

/// A rewrite that can be priced, and then applied or dropped.
class Draft {
public:
  virtual ~Draft() = default;

  virtual Footprint getFootprint() const = 0;
  virtual Price getPrice(const target::PriceModel &model) const = 0;
  /// Returns the price to report if the rewrite is refused.
  virtual Price getRefusedPrice(const target::PriceModel &model) const {
    return getPrice(model);
  }
  /// Returns rewrites that can be applied independently of each other.
  virtual llvm::SmallVector<const Draft *> getParts() const { return {}; }
  /// Returns true if sums are rounded in a different order than before.
  virtual bool reassociates() const { return false; }
  /// The new ops. They are in no block until the draft is applied.
  virtual void addOps(llvm::SmallVectorImpl<mlir::Operation *> &ops) const {}
  /// The ops that have no users once the draft is applied.
  virtual void
  addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &replaced) const {}
  /// Applies the rewrite. The driver erases the replaced ops and those that
  /// only they used.
  virtual void apply(mlir::RewriterBase &rewriter) = 0;
  /// Adds to statistics of the pass, after the draft is applied.
  virtual void
  count(llvm::function_ref<void(llvm::StringRef, unsigned)> add) const {}
};

/// A draft of ops whose results replace values.
class ReplacementDraft : public Draft {
public:
  explicit ReplacementDraft(mlir::MLIRContext *context) : ops(context) {}
  explicit ReplacementDraft(const tp::SymbolSpace &symbols) : ops(symbols) {}
  ReplacementDraft(ReplacementDraft &&) = default;
  ~ReplacementDraft() override {
    // Destroy in reverse order, because a tail may use earlier ones.
    while (!tails.empty())
      tails.pop_back();
  }

  OpDraft ops;
  /// The op before which `ops` are inserted.
  mlir::Operation *position = nullptr;
  /// Ops that use `ops` and values defined after `position`, with the op that
  /// each is inserted before.
  std::vector<std::pair<OpDraft, mlir::Operation *>> tails;
  /// Ops to move before `ops`, in order.
  llvm::SmallVector<mlir::Operation *> hoisted;
  /// Values and their replacements.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
  /// Values computed from these, whose strides change with them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::RankedTensorType>> retyped;
  /// Ops without users after the rewrite, including those that define `values`.
  llvm::SmallVector<mlir::Operation *> replaced;
  /// Ops that must remain in place.
  llvm::SmallVector<mlir::Operation *> reliedOn;
  llvm::SmallVector<std::pair<llvm::StringRef, unsigned>> counts;

  Footprint getFootprint() const override;
  Price getPrice(const target::PriceModel &model) const override;
  void addOps(llvm::SmallVectorImpl<mlir::Operation *> &all) const override;
  void
  addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &all) const override;
  void apply(mlir::RewriterBase &rewriter) override;
  void count(
      llvm::function_ref<void(llvm::StringRef, unsigned)> add) const override {
    for (auto [name, number] : counts)
      add(name, number);
  }

  /// Returns the seconds of all new ops; nullopt if a size is unknown.
  std::optional<double> getSeconds(const target::PriceModel &model) const;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_DRAFT_H
