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

/// What a rewrite changes of a program, and what has to stay as it is for it.
/// Two rewrites overlap if one changes what the other changes or relies on.
class Footprint {
public:
  /// The rewrite erases, moves or changes an op, or inserts others next to it.
  void change(mlir::Operation *op) { changed.push_back(op); }
  void change(mlir::Value value) {
    changed.push_back(value.getAsOpaquePointer());
  }
  /// The rewrite needs an op in its place, as others may, too.
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
  /// Seconds of the ops that the rewrite replaces, and of those that replace
  /// them; nullopt where a size is not known.
  std::optional<double> before, after;
  /// By what rewrites are compared with each other: the seconds saved, unless
  /// the law prefers something else.
  double gain = 0;
  /// Whether the rewrite lowers the measure that makes its law terminate.
  bool isProgress = true;

  static Price get(std::optional<double> before, std::optional<double> after) {
    return {before, after, before && after ? *before - *after : 0, true};
  }
  bool isKnown() const { return before && after; }
};

/// A rewrite that can be priced, and made or dropped.
class Draft {
public:
  virtual ~Draft() = default;

  virtual Footprint getFootprint() const = 0;
  virtual Price getPrice(const target::PriceModel &model) const = 0;
  /// The price to tell if the rewrite is refused.
  virtual Price getRefusedPrice(const target::PriceModel &model) const {
    return getPrice(model);
  }
  /// Rewrites that could be made one without the other.
  virtual llvm::SmallVector<const Draft *> getParts() const { return {}; }
  /// Whether sums round in another order than before.
  virtual bool reassociates() const { return false; }
  /// The new ops. They are in no block until the draft is applied.
  virtual void addOps(llvm::SmallVectorImpl<mlir::Operation *> &ops) const {}
  /// The ops that have no users once the draft is applied.
  virtual void
  addReplaced(llvm::SmallVectorImpl<mlir::Operation *> &replaced) const {}
  /// Makes the rewrite. The driver erases what is replaced, and what only that
  /// used.
  virtual void apply(mlir::RewriterBase &rewriter) = 0;
  /// What to add to which statistic of the pass, once it is applied.
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
    // A tail may use those before it.
    while (!tails.empty())
      tails.pop_back();
  }

  OpDraft ops;
  /// Before which `ops` are inserted.
  mlir::Operation *position = nullptr;
  /// Ops that use `ops` and values defined after `position`, with the op that
  /// each is inserted before.
  std::vector<std::pair<OpDraft, mlir::Operation *>> tails;
  /// Ops to move before `ops`, in order.
  llvm::SmallVector<mlir::Operation *> hoisted;
  /// Values, and what replaces them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> values;
  /// Values computed from those, whose strides change with them.
  llvm::SmallVector<std::pair<mlir::Value, mlir::RankedTensorType>> retyped;
  /// Ops without users afterwards, those that define `values` among them.
  llvm::SmallVector<mlir::Operation *> replaced;
  /// Ops that have to keep their places.
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

  /// Seconds of all new ops; nullopt where a size is not known.
  std::optional<double> getSeconds(const target::PriceModel &model) const;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_DRAFT_H
