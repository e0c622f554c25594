//===- RegionCosts.cpp - what a region costs on shards and whole *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionCosts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using analysis::MinimumCut;
using analysis::RegionOp;
using analysis::RegionRole;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

std::optional<SliceMethod> commute::findSliceMethod(Value value, unsigned dim,
                                                    tp::GroupAttr group,
                                                    bool isRankSpecific) {
  // The place of a block of symbolic size cannot be written down.
  if (isRankSpecific && !getTensor(value).isDynamicDim(dim))
    return SliceMethod::RankSlice;
  // TensorCast, whose groups have no names, scatters only sums.
  if (group.getName().empty())
    return std::nullopt;
  return SliceMethod::ReduceScatter;
}

/// Whether a collective that moves blocks reads a value as it is, without a
/// copy of it in order.
static bool isDense(Value value) {
  tp::SymbolSpace symbols(value.getContext());
  return tp::getDensity(symbols.getShape(getTensor(value))) ==
         tp::Density::Dense;
}

/// What the all_reduce of a source reads.
static Value getReducedValue(const RegionOp &entry) {
  return entry.chain.front()->getOperand(0);
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {

/// An op of a region as far as its price goes: all but who makes its operands
/// and who reads its results.
struct OpKey {
  Operation *op;
  RegionRole role;
  /// The factor that is cut, or the dim of the result.
  unsigned cut;
  /// Of a source: what it reads has to be copied.
  bool isCopied = false;
};

struct OpKeyInfo {
  static OpKey getEmptyKey() {
    return {DenseMapInfo<Operation *>::getEmptyKey(), RegionRole::RowLocal, 0};
  }
  static OpKey getTombstoneKey() {
    return {DenseMapInfo<Operation *>::getTombstoneKey(), RegionRole::RowLocal,
            0};
  }
  static OperationEquivalence::Flags getFlags() {
    return OperationEquivalence::IgnoreLocations |
           OperationEquivalence::IgnoreDiscardableAttrs;
  }
  static unsigned getHashValue(const OpKey &key) {
    llvm::hash_code op = OperationEquivalence::computeHash(
        key.op, [](Value value) { return hash_value(value.getType()); },
        OperationEquivalence::ignoreHashValue, getFlags());
    return llvm::hash_combine(op, key.role, key.cut, key.isCopied);
  }
  static bool isEqual(const OpKey &a, const OpKey &b) {
    if (a.role != b.role || a.cut != b.cut || a.isCopied != b.isCopied)
      return false;
    if (a.op == b.op)
      return true;
    for (const OpKey *key : {&a, &b})
      if (key->op == getEmptyKey().op || key->op == getTombstoneKey().op)
        return false;
    auto haveOneType = [](Value x, Value y) {
      return success(x.getType() == y.getType());
    };
    return OperationEquivalence::isEquivalentTo(
        a.op, b.op, haveOneType, /*markEquivalent=*/nullptr, getFlags());
  }
};

} // namespace

RegionCosts::RegionCosts(const analysis::ShardRegion &region,
                         const target::PriceModel &price, bool isRankSpecific)
    : region(region), price(price), isRankSpecific(isRankSpecific) {
  DenseMap<OpKey, unsigned, OpKeyInfo> opClasses;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    unsigned cut = entry.role == RegionRole::RowLocal ? entry.factor
                   : entry.role == RegionRole::Slice
                       ? 0
                       : region.dims.lookup(entry.op->getResult(0));
    bool isCopied =
        entry.role == RegionRole::Reduce && !isDense(getReducedValue(entry));
    auto [known, isNew] = opClasses.try_emplace(
        {entry.op, entry.role, cut, isCopied}, ops.size());
    if (isNew)
      ops.push_back(index);
    classOfOp.push_back(known->second);
  }
  DenseMap<std::pair<Type, unsigned>, unsigned> valueClasses;
  for (auto [value, dim] : region.dims) {
    auto [known, isNew] =
        valueClasses.try_emplace({value.getType(), dim}, values.size());
    if (isNew)
      values.push_back(value);
    classOfValue[value] = known->second;
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

std::optional<double>
RegionCosts::getCollectiveSeconds(tp::CommunicationKind kind, Value value,
                                  double scale) const {
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes)
    return std::nullopt;
  // Blocks lie one behind the other only along the outermost dim.
  ArrayRef<int64_t> outer =
      getTensor(value).getShape().take_front(region.dims.lookup(value));
  bool rearranges = kind != tp::CommunicationKind::AllReduce &&
                    llvm::any_of(outer, [](int64_t size) { return size != 1; });
  double whole = *bytes * scale;
  double moved = kind == tp::CommunicationKind::AllReduce
                     ? whole
                     : whole * getPaddedShare();
  double seconds = price.getCommunicationSeconds(
      kind, region.group, static_cast<int64_t>(moved), rearranges);
  // Added rows are left out again in a copy.
  if (region.isPadded && kind == tp::CommunicationKind::AllGather)
    seconds += price.getCopySeconds(whole);
  if (kind == tp::CommunicationKind::ReduceScatter)
    seconds += getPadSeconds(whole);
  return seconds;
}

double RegionCosts::getPaddedShare() const {
  if (!region.isPadded)
    return 1;
  return double(llvm::alignTo(region.rows, region.group.getSize())) /
         region.rows;
}

double RegionCosts::getPadSeconds(double bytes) const {
  if (!region.isPadded)
    return 0;
  // Two kernels: one writes the rows that are added, one copies all.
  double padded = bytes * getPaddedShare();
  return price.getCopySeconds(padded) + price.getCopySeconds(padded - bytes);
}

std::optional<double> RegionCosts::getScatterSeconds(Value value, bool isDense,
                                                     double scale) const {
  std::optional<double> seconds =
      getCollectiveSeconds(tp::CommunicationKind::ReduceScatter, value, scale);
  if (seconds && !isDense)
    *seconds += price.getCopySeconds(*price.getBytes(value.getType()) * scale);
  return seconds;
}

std::optional<double> RegionCosts::getCutSeconds(Value value,
                                                 double scale) const {
  // A view, of which the first reader takes rows instead of all.
  if (!region.isPadded)
    return 0;
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes)
    return std::nullopt;
  return getPadSeconds(*bytes * scale);
}

std::optional<double> RegionCosts::getSeconds(const RegionOp &entry,
                                              bool isLocal,
                                              double scale) const {
  double parts = isLocal ? region.group.getSize() / getPaddedShare() : 1;
  switch (entry.role) {
  case RegionRole::RowLocal:
    return price.getShardSeconds(
        entry.op,
        cast<tp::DimensionRuleOpInterface>(entry.op).getDimensionRule(),
        entry.factor, parts / scale);
  case RegionRole::Reduce: {
    Value result = entry.op->getResult(0);
    if (!isLocal)
      return getCollectiveSeconds(tp::CommunicationKind::AllReduce, result,
                                  scale);
    return getScatterSeconds(result, isDense(getReducedValue(entry)), scale);
  }
  case RegionRole::Gather:
    if (isLocal)
      return 0;
    return getCollectiveSeconds(tp::CommunicationKind::AllGather,
                                entry.op->getResult(0), scale);
  case RegionRole::Slice:
    // The value is there as a shard, or is cut as the program says.
    return 0;
  }
  llvm_unreachable("all roles are listed");
}

RegionCosts::Table RegionCosts::getTable(double scale) const {
  Table table;
  table.unitsPerSecond /= std::max(scale, 1.0);
  auto take = [&](std::optional<double> seconds) -> Cost {
    table.isComplete &= seconds.has_value();
    return table.unitsPerSecond * seconds.value_or(0);
  };
  for (unsigned index : ops) {
    const RegionOp &entry = region.ops[index];
    Cost local = take(getSeconds(entry, /*isLocal=*/true, scale));
    Cost whole = take(getSeconds(entry, /*isLocal=*/false, scale));
    // Not for nothing, so that values are not cut and joined for fun.
    table.ops.push_back(
        {local, whole + (entry.role == RegionRole::Slice ? 1 : 0)});
  }
  for (Value value : values) {
    ValueCosts costs = {MinimumCut::forbidden, MinimumCut::forbidden};
    // A gathered value is dense; readers of another layout would see it change.
    if (isDense(value))
      costs.gather = take(
          getCollectiveSeconds(tp::CommunicationKind::AllGather, value, scale));
    std::optional<SliceMethod> method = findSliceMethod(
        value, region.dims.lookup(value), region.group, isRankSpecific);
    if (method == SliceMethod::ReduceScatter)
      costs.slice = take(getScatterSeconds(value, isDense(value), scale));
    else if (method == SliceMethod::RankSlice)
      costs.slice = 1 + take(getCutSeconds(value, scale));
    table.values.push_back(costs);
  }
  return table;
}
