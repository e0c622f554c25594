//===- Draft.cpp - a rewrite that is not yet made ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Draft.h"

#include "ResultTypes.h"

using namespace mlir;
using namespace commute;

void ReplacementDraft::addOps(SmallVectorImpl<Operation *> &all) const {
  llvm::append_range(all, ops.getOps());
  for (const auto &[tail, place] : tails)
    llvm::append_range(all, tail.getOps());
}

void ReplacementDraft::addReplaced(SmallVectorImpl<Operation *> &all) const {
  llvm::append_range(all, replaced);
}

Footprint ReplacementDraft::getFootprint() const {
  Footprint footprint;
  SmallVector<Operation *> own;
  addOps(own);
  for (ArrayRef<Operation *> changed :
       {ArrayRef(replaced), ArrayRef(hoisted), ArrayRef(own)})
    for (Operation *op : changed)
      footprint.change(op);
  footprint.change(position);
  for (Operation *op : reliedOn)
    footprint.relyOn(op);
  // A value that is now computed later: its users must not be moved before
  // `position`.
  for (auto [before, after] : values)
    if (before.getDefiningOp()->isBeforeInBlock(position))
      for (Operation *user : before.getUsers())
        footprint.relyOn(user);
  return footprint;
}

std::optional<double>
ReplacementDraft::getSeconds(const target::PriceModel &model) const {
  std::optional<double> total = ops.getSeconds(model);
  for (const auto &[tail, place] : tails) {
    std::optional<double> seconds = tail.getSeconds(model);
    if (!total || !seconds)
      return std::nullopt;
    *total += *seconds;
  }
  return total;
}

Price ReplacementDraft::getPrice(const target::PriceModel &model) const {
  std::optional<double> before = 0;
  for (Operation *op : replaced) {
    std::optional<double> seconds = model.getSeconds(op);
    before =
        before && seconds ? std::optional(*before + *seconds) : std::nullopt;
  }
  return Price::get(before, getSeconds(model));
}

void ReplacementDraft::apply(RewriterBase &rewriter) {
  for (Operation *op : hoisted)
    rewriter.moveOpBefore(op, position);
  ops.insertBefore(position);
  for (auto &[tail, place] : tails)
    tail.insertBefore(place);
  for (auto [before, after] : values)
    replaceValue(before, after);
  for (auto [value, type] : retyped)
    value.setType(type);
}
