//===- SplitDraft.cpp - drafts of products in segments ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitPrices.h"

using namespace mlir;
using namespace commute;

using Counting = llvm::function_ref<void(StringRef, unsigned)>;

static Price getSplitPrice(ArrayRef<const SplitDraft *> drafts,
                           const target::PriceModel &model) {
  SplitCost before = getCostBefore(drafts, model);
  SplitCost after = getCostAfter(drafts, model);
  if (!before.isKnown || !after.isKnown) {
    Price unknown;
    unknown.isProgress = false;
    return unknown;
  }
  Price price = Price::get(before.seconds, after.seconds);
  price.isProgress = after.doesLessThan(before);
  return price;
}

//===----------------------------------------------------------------------===//
// One draft
//===----------------------------------------------------------------------===//

void SplitDraft::note(std::string text) {
  if (!llvm::is_contained(notes, text))
    notes.push_back(std::move(text));
}

Price SplitDraft::getPrice(const target::PriceModel &model) const {
  return getSplitPrice({this}, model);
}

void SplitDraft::addReplaced(SmallVectorImpl<Operation *> &all) const {
  for (auto [before, after] : values)
    all.push_back(before.getDefiningOp());
}

void SplitDraft::apply(RewriterBase &rewriter) {
  for (Operation *op : ops.getOps())
    context->getWriteOrder().addInFront(op, position);
  ReplacementDraft::apply(rewriter);
}

void SplitDraft::count(Counting add) const {
  add("num-rewritten", 1);
  add("num-products", numProducts);
}

//===----------------------------------------------------------------------===//
// Several
//===----------------------------------------------------------------------===//

SmallVector<const Draft *> SplitDrafts::getParts() const {
  return llvm::map_to_vector(
      members, [](const std::unique_ptr<SplitDraft> &member) -> const Draft * {
        return member.get();
      });
}

bool SplitDrafts::reassociates() const {
  return llvm::any_of(members, [](const std::unique_ptr<SplitDraft> &member) {
    return member->reassociates();
  });
}

Footprint SplitDrafts::getFootprint() const {
  Footprint footprint;
  for (const std::unique_ptr<SplitDraft> &member : members)
    footprint.add(member->getFootprint());
  return footprint;
}

Price SplitDrafts::getPrice(const target::PriceModel &model) const {
  return getSplitPrice(
      llvm::map_to_vector(members,
                          [](const std::unique_ptr<SplitDraft> &member)
                              -> const SplitDraft * { return member.get(); }),
      model);
}

void SplitDrafts::addOps(SmallVectorImpl<Operation *> &ops) const {
  for (const std::unique_ptr<SplitDraft> &member : members)
    member->addOps(ops);
}

void SplitDrafts::addReplaced(SmallVectorImpl<Operation *> &all) const {
  for (const std::unique_ptr<SplitDraft> &member : members)
    member->addReplaced(all);
}

void SplitDrafts::apply(RewriterBase &rewriter) {
  for (std::unique_ptr<SplitDraft> &member : members)
    member->apply(rewriter);
}

void SplitDrafts::count(Counting add) const {
  for (const std::unique_ptr<SplitDraft> &member : members)
    member->count(add);
}
