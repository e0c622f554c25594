//===- RegionDraft.cpp - a region with a choice of shards -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionDraft.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commute;
using analysis::RegionOp;
using analysis::RegionRole;
using analysis::ShardRegion;

int64_t commute::roundToTwoDigits(double number) {
  double unit = 1;
  while (number / unit >= 100)
    unit *= 10;
  return std::llround(number / unit) * std::llround(unit);
}

static std::string quote(tp::GroupAttr group) {
  return "'" + group.getKey() + "'";
}

Operation *commute::getAnchor(const ShardRegion &region) {
  for (const RegionOp &entry : region.ops)
    if (entry.role == RegionRole::Reduce)
      return entry.chain.front();
  for (const RegionOp &entry : region.ops)
    if (entry.role == RegionRole::Gather)
      return entry.op;
  return nullptr;
}
std::pair<const ShardRegion *, const Unstated *>
RegionState::findUnstatedGain(Operation *reduce) const {
  std::pair<const ShardRegion *, const Unstated *> best;
  double most = 0;
  auto known = ofReduce.find(reduce);
  if (known == ofReduce.end())
    return best;
  for (const ShardRegion *region : known->second) {
    auto [place, isNew] = unstated.try_emplace(region);
    if (isNew)
      place->second = commute::findUnstatedGain(*region, getContext());
    if (!place->second.seconds)
      continue;
    auto [before, after] = *place->second.seconds;
    if (before - after > most) {
      best = {region, &place->second};
      most = before - after;
    }
  }
  return best;
}

//===----------------------------------------------------------------------===//
// Rewrite
//===----------------------------------------------------------------------===//

Footprint RegionDraft::getFootprint() const {
  // A rewrite changes the values of a region or erases the ops that define
  // them.
  Footprint footprint;
  for (const auto &[value, dim] : region.dims)
    footprint.change(value);
  for (const RegionOp &entry : region.ops) {
    for (Value result : entry.op->getResults())
      footprint.change(result);
    for (Operation *op : entry.chain)
      for (Value result : op->getResults())
        footprint.change(result);
  }
  return footprint;
}

Price RegionDraft::getPrice(const target::PriceModel &model) const {
  Price price;
  price.isProgress = false;
  if (!choice.isPriced())
    return price;
  price.before = choice.getSecondsBefore();
  price.after = choice.getSecondsAfter();
  price.gain = choice.getGain();
  // The next round could undo a rewrite that neither saves time nor replaces an
  // all_reduce.
  price.isProgress = choice.isAnyLocal() &&
                     (*price.after < *price.before ||
                      llvm::any_of(
                          llvm::enumerate(region.ops),
                          [&](const auto &entry) {
                            return entry.value().role == RegionRole::Reduce &&
                                   choice.isLocal(entry.index());
                          }));
  return price;
}

Price RegionDraft::getRefusedPrice(const target::PriceModel &model) const {
  if (!choice.isPriced())
    return Price();
  return Price::get(choice.getSecondsBefore(),
                    choice.getSecondsOfAlternative());
}

void RegionDraft::apply(RewriterBase &rewriter) {
  // Describe the region first: the rewrite changes its types and erases ops.
  std::string where = describeDim(), threshold = describeThreshold();
  Unstated unstated = findUnstated(region);
  Location anchor = getAnchor(region)->getLoc();
  SmallVector<Location> reduces;
  for (auto [index, entry] : llvm::enumerate(region.ops))
    if (entry.role == RegionRole::Reduce && choice.isLocal(index))
      reduces.push_back(entry.chain.front()->getLoc());
  changes = rewriteRegion(
      region, [&](unsigned index) { return choice.isLocal(index); },
      state.isRankSpecific, rewriter);
  state.completions.insert(changes.completions.begin(),
                           changes.completions.end());
  addRemarks(anchor, reduces, where, threshold, unstated);
}

void RegionDraft::count(
    llvm::function_ref<void(StringRef, unsigned)> add) const {
  add("num-reduce-scatters", changes.numScatters);
  add("num-local-ops", changes.numLocalOps);
  add("num-all-gathers", changes.numGathers);
  add("num-slices", changes.numSlices);
  add("num-reductions", changes.numReductions);
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

void RegionDraft::addRemarks(Location anchor, ArrayRef<Location> reduces,
                             const std::string &where,
                             const std::string &threshold,
                             const Unstated &unstated) {
  remarks.push_back(
      {anchor, "shards",
       llvm::formatv(
           "sequence parallelism along {0}: {1} all_reduces replaced by "
           "reduce_scatters, {2} ops run on shards, {3} values gathered{4}; "
           "{5} before, {6} after on {7}{8}{9}",
           where, changes.numScatters, changes.numLocalOps, changes.numGathers,
           changes.numReductions
               ? ", " + std::to_string(changes.numReductions) +
                     " reductions of rows completed by an all_reduce"
               : "",
           formatMicroseconds(choice.getSecondsBefore()),
           formatMicroseconds(choice.getSecondsAfter()),
           state.getModel().getTarget().name, threshold,
           unstated.user ? "; " + unstated.reason : ""),
       unstated.remedy});
  for (Location location : reduces)
    remarks.push_back({location, "reduce-scatter",
                       "replaced by a reduce_scatter along " + where});
  for (auto [value, method] : changes.sliced) {
    if (method == SliceMethod::RankSlice)
      remarks.push_back(
          {value.getLoc(), "rank-slice",
           "this replicated value is sliced: each rank keeps its own rows"});
    else
      remarks.push_back({value.getLoc(), "scatter-replicated",
                         "this replicated value is sharded with a "
                         "reduce_scatter(max) of equal values",
                         "--rank=R compiles the program for one rank, which "
                         "slices its own rows at no cost"});
  }
}

std::string RegionDraft::describeDim() const {
  Operation *anchor = getAnchor(region);
  auto entry = llvm::find_if(region.ops, [&](const RegionOp &op) {
    return op.op == anchor || llvm::is_contained(op.chain, anchor);
  });
  Value value = entry->op->getResult(0);
  unsigned dim = region.dims.lookup(value);
  auto type = cast<RankedTensorType>(value.getType());
  auto rows = tp::evaluateSize(type, dim, [&](StringRef symbol) {
    return state.getModel().getSize(symbol);
  });
  std::string text = llvm::formatv(
      "dim {0} ({1} rows over {2} ranks of group {3})", dim, rows.value_or(0),
      region.group.getSize(), quote(region.group));
  for (const std::string &assumption : region.assumptions)
    text += ", assuming " + assumption;
  return text;
}

std::optional<double> RegionDraft::findPayingRows() const {
  std::optional<double> threshold = choice.getThreshold();
  if (!threshold)
    return std::nullopt;
  const RegionOp &entry = region.ops.front();
  Value value = entry.op->getResult(0);
  if (!region.dims.contains(value))
    value = *llvm::find_if(entry.op->getOperands(), [&](Value operand) {
      return region.dims.contains(operand);
    });
  auto rows = tp::evaluateSize(
      cast<RankedTensorType>(value.getType()), region.dims.lookup(value),
      [&](StringRef symbol) { return state.getModel().getSize(symbol); });
  return rows.value_or(0) * *threshold;
}

std::string RegionDraft::describeThreshold() const {
  std::optional<double> rows = getPayingRows();
  if (!rows)
    return "; not profitable at any number of rows";
  if (*rows < region.group.getSize())
    return "; profitable at any number of rows";
  return "; profitable from about " + std::to_string(roundToTwoDigits(*rows)) +
         " rows";
}
