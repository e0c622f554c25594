//===- ShardRegions.cpp - where values may live as shards -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Placements/ShardRegions.h"

#include "Placements/RegionGrowth.h"

#include "commute/Dialect/GroupSpelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::getTensor;

bool analysis::readsOnlyTypes(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  return call && call.getReadsTypes();
}

/// Where a region may begin: the result of an all_reduce, each rearrangement of
/// it, and the gathered dim of an all_gather.
static SmallVector<std::pair<Value, unsigned>> getSeeds(Operation *op,
                                                        tp::GroupAttr group) {
  SmallVector<std::pair<Value, unsigned>> seeds;
  if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    if (gather.getGroup().hasSameMembers(group))
      seeds.emplace_back(gather.getResult(), gather.getGatherAxis());
    return seeds;
  }
  auto reduce = dyn_cast<tp::AllReduceOp>(op);
  if (!reduce || !reduce.getGroup().hasSameMembers(group))
    return seeds;
  Value value = reduce.getResult();
  while (true) {
    for (unsigned dim = 0; dim < getTensor(value).getRank(); ++dim)
      seeds.emplace_back(value, dim);
    if (!value.hasOneUse() || !isRearrangement(*value.user_begin()))
      return seeds;
    value = (*value.user_begin())->getResult(0);
  }
}

/// "dims 0 (size 7) and 1 (size 15)".
static std::string describeDims(ArrayRef<std::string> dims) {
  std::string text = dims.size() > 1 ? "dims " : "dim ";
  for (auto [index, dim] : llvm::enumerate(dims))
    text += (index == 0 ? "" : index + 1 == dims.size() ? " and " : ", ") + dim;
  return text + (dims.size() > 1 ? " are " : " is ");
}

/// Describes the dims of an all_reduce's result that are not divisible by the
/// group's size, and what would change that; not applicable if all are
/// divisible.
static Refusal describeIndivisible(Operation *op, tp::GroupAttr group,
                                   const SymbolicSizes &sizes,
                                   bool allowsPadding) {
  RankedTensorType type = getTensor(op->getResult(0));
  if (type.getRank() == 0)
    return {op, RefusalCode::Indivisible, "its result is a scalar"};
  std::string ranks = std::to_string(group.getSize());
  SmallVector<std::string> refuted, unknown;
  std::string assumption;
  bool wouldPad = false;
  tp::SymbolSpace space(type.getContext());
  tp::Sizes dims = space.getSizes(type);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (sizes.isDivisible(type, dim, group.getSize()).holds())
      continue;
    std::string size;
    llvm::raw_string_ostream os(size);
    tp::printSize(os, dims[dim], space.getNames());
    std::string text = std::to_string(dim) + " (size " + size + ")";
    if (!type.isDynamicDim(dim)) {
      refuted.push_back(text);
      wouldPad |= type.getDimSize(dim) > group.getSize();
      continue;
    }
    unknown.push_back(text);
    std::string condition = size + " % " + ranks + " == 0";
    llvm::Expected<tp::SizeAssumption> parsed =
        tp::parseSizeAssumption(condition);
    if (!parsed)
      llvm::consumeError(parsed.takeError());
    else if (assumption.empty())
      assumption = condition;
  }
  std::string text;
  if (!refuted.empty())
    text = describeDims(refuted) + "not divisible by " + ranks + " ranks";
  if (!unknown.empty())
    text += (text.empty() ? "" : ", and ") + describeDims(unknown) +
            "not known to be divisible by " + ranks + " ranks";
  if (text.empty())
    return {};
  Refusal refusal{op, RefusalCode::Indivisible, text};
  if (!assumption.empty()) {
    refusal.remedy = "--assume '" + assumption + "' would allow it";
    refusal.option = {"assume", assumption};
  } else if (wouldPad && !allowsPadding) {
    refusal.remedy = "sequence-parallel{pad=true} would pad it";
    refusal.option = {"passes", "sequence-parallel{pad=true}"};
  }
  return refusal;
}

ShardRegions analysis::findShardRegions(func::FuncOp function,
                                        tp::GroupAttr group,
                                        const PlacementAnalysis &placements,
                                        const SymbolicSizes &sizes,
                                        RegionLimits limits) {
  bool allowsPadding = limits.allowsPadding;
  ShardRegions result;
  if (group.getSize() == 1) {
    function.walk([&](tp::AllReduceOp reduce) {
      if (reduce.getGroup().hasSameMembers(group))
        result.unused.push_back(
            {reduce, RefusalCode::SingleRank, "its group has one member"});
    });
    return result;
  }
  tp::GroupSpelling spelling = tp::getGroupSpelling(group, function);
  if (!spelling.hasReduceScatter) {
    std::string reason = spelling.vocabulary.str() +
                         " has no reduce_scatter, and PyTorch's name of group "
                         "'" +
                         group.getName().str() + "' is not stated";
    function.walk([&](tp::AllReduceOp reduce) {
      if (reduce.getGroup().hasSameMembers(group))
        result.unused.push_back({reduce, RefusalCode::UnnamedGroup, reason});
    });
    return result;
  }
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  for (Operation &op : function.getBody().front()) {
    SmallVector<std::pair<Value, unsigned>> seeds = getSeeds(&op, group);
    if (seeds.empty())
      continue;
    bool hasRegion = false;
    for (auto [value, dim] : seeds) {
      bool isDivisible =
          sizes.isDivisible(getTensor(value), dim, group.getSize()).holds();
      int64_t rows = getTensor(value).getDimSize(dim);
      bool isPadded = !isDivisible && allowsPadding &&
                      !ShapedType::isDynamic(rows) && rows > group.getSize();
      if (!isDivisible && !isPadded)
        continue;
      hasRegion = true;
      if (seen.contains({value, dim}))
        continue;
      ShardRegion region =
          RegionGrowth(group, placements, sizes)
              .grow(value, dim, isPadded, limits.allowsReductions);
      for (const auto &entry : region.dims)
        seen.insert(entry);
      result.regions.push_back(std::move(region));
    }
    if (!isa<tp::AllReduceOp>(op))
      continue;
    Refusal indivisible = describeIndivisible(&op, group, sizes, allowsPadding);
    if (!hasRegion)
      result.unused.push_back(std::move(indivisible));
    else if (indivisible.isApplicable())
      result.indivisible[&op] = std::move(indivisible);
  }
  return result;
}

ShardRegion analysis::growIfReplicated(const ShardRegion &region,
                                       ArrayRef<BlockArgument> inputs,
                                       const PlacementAnalysis &placements,
                                       const SymbolicSizes &sizes) {
  Value seed;
  for (const RegionOp &entry : region.ops)
    for (Value result : entry.op->getResults())
      if (!seed && region.dims.contains(result))
        seed = result;
  if (!seed)
    return region;
  return RegionGrowth(region.group, placements, sizes, inputs)
      .grow(seed, region.dims.lookup(seed), region.isPadded,
            region.allowsReductions);
}
