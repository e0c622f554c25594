//===- ScheduledPrice.cpp - what a draft does to the schedule -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ScheduledPrice.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace commute;
using target::Lane;
using target::LaneSchedule;
using target::OpPrice;

/// The most ops after a draft that are looked at, for the first user of its
/// results.
static constexpr size_t maxOpsAfter = 256;

bool ScheduledPrices::scheduleAll(const target::PriceModel &model) {
  if (std::exchange(isScheduled, true))
    return isPriced;
  for (Operation &op : function.getBody().front()) {
    std::optional<OpPrice> price = model.getPrice(&op);
    if (!price)
      return false;
    places[&op] = ops.size();
    ops.push_back(&op);
    prices.push_back(*price);
    freeBefore.emplace_back(whole.getFree(Lane::Compute),
                            whole.getFree(Lane::Communication));
    whole.issue(&op, *price);
  }
  return isPriced = true;
}

Price ScheduledPrices::getPrice(
    const ReplacementDraft &draft, const target::PriceModel &model,
    llvm::function_ref<std::optional<double>(Operation *)> getSecondsApart) {
  if (!scheduleAll(model))
    return Price();
  // The ops that the draft changes.
  size_t begin = ops.size(), end = 0;
  auto include = [&](Operation *op) {
    if (auto place = places.find(op); place != places.end()) {
      begin = std::min(begin, place->second);
      end = std::max(end, place->second + 1);
    }
  };
  llvm::SmallDenseSet<Operation *, 8> replaced(draft.replaced.begin(),
                                               draft.replaced.end());
  llvm::for_each(draft.replaced, include);
  llvm::for_each(draft.hoisted, include);
  for (const auto &[tail, place] : draft.tails)
    include(place->getPrevNode() ? place->getPrevNode() : place);
  if (begin == ops.size())
    return Price::get(0, draft.getSeconds(model));
  size_t position = places.lookup(draft.position);
  begin = std::min(begin, position);
  end = std::max(end, position);
  // Up to the first op that needs its results, apart from views: whatever is
  // issued before may hide them.
  llvm::SmallDenseSet<Value, 4> results;
  for (auto [value, other] : draft.values)
    results.insert(value);
  size_t last = std::min(ops.size(), end + maxOpsAfter);
  for (size_t place = begin; place < last; ++place) {
    Operation *op = ops[place];
    if (replaced.contains(op) ||
        llvm::none_of(op->getOperands(),
                      [&](Value value) { return results.contains(value); }))
      continue;
    if (target::getSharedOperand(op, prices[place]) &&
        prices[place].getSeconds() == 0) {
      results.insert(op->result_begin(), op->result_end());
    } else if (place >= end) {
      last = place;
    }
  }
  end = std::max(end, last);

  auto outside = [&](Value value) { return whole.findReadiness(value); };
  auto [computeFrom, communicationFrom] = freeBefore[begin];
  LaneSchedule before(computeFrom, communicationFrom, outside),
      after(computeFrom, communicationFrom, outside);
  for (auto [value, other] : draft.values)
    after.substitute(value, other);
  bool isKnown = true;
  auto issueAll = [&](ArrayRef<Operation *> added) {
    for (Operation *op : added) {
      std::optional<OpPrice> price = model.getPrice(op);
      isKnown &= price.has_value();
      if (price)
        after.issue(op, *price);
    }
  };
  for (size_t place = begin; place < ops.size(); ++place) {
    Operation *op = ops[place];
    if (op == draft.position) {
      issueAll(draft.hoisted);
      issueAll(draft.ops.getOps());
    }
    for (const auto &[tail, at] : draft.tails)
      if (at == op)
        issueAll(tail.getOps());
    if (place >= end || op->hasTrait<OpTrait::IsTerminator>())
      break;
    OpPrice price = prices[place];
    if (!replaced.contains(op)) {
      before.issue(op, price);
      if (!llvm::is_contained(draft.hoisted, op))
        after.issue(op, price);
      continue;
    }
    if (std::optional<double> apart = getSecondsApart(op);
        apart && *apart < price.getSeconds()) {
      // What is saved are reordering copies, and else links.
      double saved = price.getSeconds() - *apart;
      for (double *part : {&price.unpackSeconds, &price.packSeconds,
                           &price.communicationSeconds}) {
        double taken = std::min(*part, saved);
        *part -= taken;
        saved -= taken;
      }
    }
    before.issue(op, price);
  }
  if (!isKnown)
    return Price();
  SmallVector<Value> old, replacements;
  for (auto [value, other] : draft.values) {
    old.push_back(value);
    replacements.push_back(other);
  }
  auto getEnd = [&](LaneSchedule &schedule, ValueRange needed) {
    return std::max(schedule.waitFor(needed), schedule.getFree(Lane::Compute));
  };
  double gain = getEnd(before, old) - getEnd(after, replacements);
  std::optional<double> seconds = draft.getSeconds(model);
  return Price::get(seconds ? std::optional(std::max(*seconds + gain, 0.0))
                            : std::nullopt,
                    seconds);
}
