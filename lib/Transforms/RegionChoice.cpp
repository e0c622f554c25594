//===- RegionChoice.cpp - which ops of a region run on shards ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionChoice.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using analysis::MinimumCut;
using analysis::RegionOp;
using analysis::RegionRole;

/// Costs are whole picoseconds: a cut in floating point might not end.
static constexpr double costsPerSecond = 1e12;
/// What an all_reduce that stays whole costs beside its time where every legal
/// shard is wanted: more than any region takes, and far less than what is
/// forbidden.
static constexpr MinimumCut::Cost wholeReducePenalty = int64_t(1) << 40;
/// The same of an op behind an all_reduce: without it, an all_reduce would be
/// cut only to be joined again.
static constexpr MinimumCut::Cost wholeOpPenalty = int64_t(1) << 36;
/// Rows are scaled by up to this when a threshold is looked for.
static constexpr double maxScale = 1 << 20;

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

RegionChoice::RegionChoice(const analysis::ShardRegion &region,
                           const target::PriceModel &price, bool isRankSpecific,
                           bool prefersShards)
    : region(region), price(price), isRankSpecific(isRankSpecific),
      prefersShards(prefersShards) {
  for (auto [index, entry] : llvm::enumerate(region.ops))
    nodeOfOp[entry.op] = index;
  // Ops are in program order: what an op reads has been seen.
  behindReduce.resize(region.ops.size());
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    behindReduce[index] = entry.role == RegionRole::Reduce;
    for (Value operand : entry.op->getOperands())
      if (auto producer = nodeOfOp.find(operand.getDefiningOp());
          entry.role != RegionRole::Reduce && producer != nodeOfOp.end() &&
          behindReduce[producer->second])
        behindReduce[index] = true;
  }
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

MinimumCut::Cost RegionChoice::getCollectiveCost(tp::CommunicationKind kind,
                                                 Value value, unsigned dim,
                                                 double scale) const {
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes) {
    priced = false;
    return 0;
  }
  // Blocks lie one behind the other only along the outermost dim.
  ArrayRef<int64_t> outer = getTensor(value).getShape().take_front(dim);
  bool rearranges = kind != tp::CommunicationKind::AllReduce &&
                    llvm::any_of(outer, [](int64_t size) { return size != 1; });
  double seconds = price.getCommunicationSeconds(
      kind, region.group, static_cast<int64_t>(*bytes * scale), rearranges);
  // Rows are added in a copy before a reduce_scatter, and left out in a copy
  // after a gather.
  if (region.isPadded && kind != tp::CommunicationKind::AllReduce)
    seconds += price.getCopySeconds(*bytes * scale);
  return costsPerSecond * seconds;
}

MinimumCut::Cost RegionChoice::getGatherCost(Value value, double scale) const {
  // A gathered value is dense; readers of another layout would see it change.
  tp::SymbolSpace symbols(value.getContext());
  if (tp::getDensity(symbols.getShape(getTensor(value))) != tp::Density::Dense)
    return MinimumCut::forbidden;
  return getCollectiveCost(tp::CommunicationKind::AllGather, value,
                           region.dims.lookup(value), scale);
}

MinimumCut::Cost RegionChoice::getSliceCost(Value value, double scale) const {
  unsigned dim = region.dims.lookup(value);
  std::optional<SliceMethod> method =
      findSliceMethod(value, dim, region.group, isRankSpecific);
  if (!method)
    return MinimumCut::forbidden;
  if (*method == SliceMethod::ReduceScatter)
    return getCollectiveCost(tp::CommunicationKind::ReduceScatter, value, dim,
                             scale);
  // A view, of which the first reader takes rows instead of all; not for
  // nothing, so that values are not cut and joined for fun.
  if (!region.isPadded)
    return 1;
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes)
    priced = false;
  return 1 + costsPerSecond * price.getCopySeconds(bytes.value_or(0) * scale);
}

MinimumCut::Cost RegionChoice::getOpCost(const RegionOp &entry, bool isLocal,
                                         double scale) const {
  double count = region.group.getSize();
  switch (entry.role) {
  case RegionRole::RowLocal: {
    std::optional<double> seconds = price.getShardSeconds(
        entry.op,
        cast<tp::DimensionRuleOpInterface>(entry.op).getDimensionRule(),
        entry.factor, (isLocal ? count : 1) / scale);
    if (!seconds)
      priced = false;
    return costsPerSecond * seconds.value_or(0);
  }
  case RegionRole::Reduce: {
    Value result = entry.op->getResult(0);
    return getCollectiveCost(isLocal ? tp::CommunicationKind::ReduceScatter
                                     : tp::CommunicationKind::AllReduce,
                             result, region.dims.lookup(result), scale);
  }
  case RegionRole::Gather: {
    Value result = entry.op->getResult(0);
    return isLocal ? 0
                   : getCollectiveCost(tp::CommunicationKind::AllGather, result,
                                       region.dims.lookup(result), scale);
  }
  case RegionRole::Slice:
    // The value is there as a shard, or is sliced as the program says.
    return isLocal ? 0 : 1;
  }
  llvm_unreachable("all roles are listed");
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

namespace {
/// Who reads a value of the region.
struct Readers {
  SmallVector<MinimumCut::Node, 4> inRegion;
  bool hasOthers = false;
};
} // namespace

static Readers findReaders(Value value,
                           const DenseMap<Operation *, unsigned> &nodeOfOp) {
  Readers readers;
  for (Operation *user : value.getUsers()) {
    if (analysis::readsOnlyTypes(user))
      continue;
    auto node = nodeOfOp.find(user);
    if (node == nodeOfOp.end())
      readers.hasOthers = true;
    else if (!llvm::is_contained(readers.inRegion, node->second))
      readers.inRegion.push_back(node->second);
  }
  return readers;
}

MinimumCut RegionChoice::buildCut(double scale, bool prefersShards) const {
  MinimumCut cut;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    MinimumCut::Cost local = getOpCost(entry, /*isLocal=*/true, scale);
    MinimumCut::Cost whole = getOpCost(entry, /*isLocal=*/false, scale);
    if (prefersShards && entry.role == RegionRole::Reduce &&
        !idleReduces.contains(index))
      whole += wholeReducePenalty;
    if (prefersShards && entry.role == RegionRole::RowLocal && whole > 0 &&
        behindReduce[index])
      whole += wholeOpPenalty;
    cut.addNode(local, whole);
  }

  llvm::DenseSet<Value> seen;
  auto addValue = [&](Value value) {
    if (!region.dims.contains(value) || !seen.insert(value).second)
      return;
    Operation *definition = value.getDefiningOp();
    auto producer = definition ? nodeOfOp.find(definition) : nodeOfOp.end();
    bool isProduced = producer != nodeOfOp.end();
    Readers readers = findReaders(value, nodeOfOp);
    // Local where it is made, whole for a reader: gathered once.
    if (isProduced) {
      MinimumCut::Cost gather = getGatherCost(value, scale);
      if (readers.hasOthers) {
        cut.addCost(producer->second, gather, 0);
      } else if (readers.inRegion.size() == 1) {
        cut.addEdge(producer->second, readers.inRegion.front(), gather);
      } else if (!readers.inRegion.empty()) {
        MinimumCut::Node isWhole = cut.addNode(0, 0);
        cut.addEdge(producer->second, isWhole, gather);
        for (MinimumCut::Node reader : readers.inRegion)
          cut.addEdge(isWhole, reader, MinimumCut::forbidden);
      }
    }
    // Whole where it is made, local for a reader: sliced once.
    if (readers.inRegion.empty())
      return;
    MinimumCut::Cost sliceCost = getSliceCost(value, scale);
    MinimumCut::Node isSliced = readers.inRegion.front();
    if (readers.inRegion.size() > 1) {
      isSliced = cut.addNode(0, 0);
      for (MinimumCut::Node reader : readers.inRegion)
        cut.addEdge(reader, isSliced, MinimumCut::forbidden);
    }
    if (isProduced)
      cut.addEdge(isSliced, producer->second, sliceCost);
    else
      cut.addCost(isSliced, sliceCost, 0);
  };
  // The markers of a repeated layer stand for all its repetitions: what comes
  // in and what goes out has to be alike. Kinds are paired by their order.
  DenseMap<std::pair<int64_t, unsigned>, MinimumCut::Node> markers;
  DenseMap<std::pair<int64_t, unsigned>, unsigned> numMarkers;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    for (Value operand : entry.op->getOperands())
      addValue(operand);
    for (Value result : entry.op->getResults())
      addValue(result);
    // What a collective has started is read through its wait.
    if (auto wait = dyn_cast<tp::WaitOp>(entry.op))
      if (auto started = nodeOfOp.find(wait.getInput().getDefiningOp());
          started != nodeOfOp.end())
        cut.tie(index, started->second);
    if (auto marker = dyn_cast<tp::RegionMarkerOp>(entry.op)) {
      unsigned order =
          numMarkers[{marker.getId(), unsigned(marker.getKind())}]++;
      auto [known, isNew] = markers.try_emplace({marker.getId(), order}, index);
      if (!isNew)
        cut.tie(index, known->second);
    }
  }
  return cut;
}

static bool hasShards(const std::vector<bool> &isOnA) {
  return std::find(isOnA.begin(), isOnA.end(), true) != isOnA.end();
}

bool RegionChoice::isAnyLocal() const { return hasShards(solution.isOnA); }

void RegionChoice::dropIdleReduces() {
  // Local ops that hang together, by union of what they read.
  SmallVector<unsigned> parent(region.ops.size());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](unsigned node) {
    while (parent[node] != node)
      node = parent[node] = parent[parent[node]];
    return node;
  };
  auto isShrunk = [&](unsigned node) {
    const RegionOp &entry = region.ops[node];
    return entry.role == RegionRole::Gather ||
           entry.role == RegionRole::Slice ||
           (entry.role == RegionRole::RowLocal &&
            getOpCost(entry, /*isLocal=*/false, 1) > 0);
  };
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (isLocal(node))
      for (Value operand : region.ops[node].op->getOperands())
        if (auto producer = nodeOfOp.find(operand.getDefiningOp());
            producer != nodeOfOp.end() && isLocal(producer->second))
          parent[find(node)] = find(producer->second);
  llvm::DenseSet<unsigned> working;
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (isLocal(node) && isShrunk(node))
      working.insert(find(node));
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (isLocal(node) && region.ops[node].role == RegionRole::Reduce &&
        !working.contains(find(node)))
      idleReduces.insert(node);
}

void RegionChoice::solve() {
  MinimumCut cut = buildCut(1, prefersShards);
  solution = cut.solve();
  if (prefersShards) {
    dropIdleReduces();
    if (!idleReduces.empty())
      solution = buildCut(1, prefersShards).solve();
  }
  MinimumCut plain = prefersShards ? buildCut(1, false) : std::move(cut);
  secondsBefore =
      plain.getCost(std::vector<bool>(plain.getNumNodes())) / costsPerSecond;
  secondsAfter = plain.getCost(solution.isOnA) / costsPerSecond;
}

//===----------------------------------------------------------------------===//
// Thresholds
//===----------------------------------------------------------------------===//

const std::vector<bool> *RegionChoice::findPattern() const {
  if (!pattern) {
    // As chosen, as chosen for many rows, or what comes nearest to paying.
    pattern = solution.isOnA;
    if (!hasShards(*pattern))
      pattern = buildCut(maxScale, false).solve().isOnA;
    if (!hasShards(*pattern)) {
      RegionChoice forced(region, price, isRankSpecific,
                          /*prefersShards=*/true);
      forced.solve();
      pattern = forced.solution.isOnA;
    }
  }
  return hasShards(*pattern) ? &*pattern : nullptr;
}

std::optional<double> RegionChoice::getSecondsOfAlternative() const {
  const std::vector<bool> *choice = findPattern();
  if (!choice)
    return std::nullopt;
  return buildCut(1, false).getCost(*choice) / costsPerSecond;
}

std::optional<double> RegionChoice::getThreshold() const {
  const std::vector<bool> *choice = findPattern();
  if (!choice)
    return std::nullopt;
  auto pays = [&](double scale) {
    MinimumCut cut = buildCut(scale, false);
    return cut.getCost(*choice) <
           cut.getCost(std::vector<bool>(cut.getNumNodes()));
  };
  // On a logarithmic scale, to about a twentieth.
  double low = -std::log2(maxScale), high = std::log2(maxScale);
  if (pays(1))
    high = 0;
  else
    low = 0;
  if (high > 0 && !pays(std::exp2(high)))
    return std::nullopt;
  for (int step = 0; step < 10; ++step) {
    double middle = (low + high) / 2;
    (pays(std::exp2(middle)) ? high : low) = middle;
  }
  return std::exp2(high);
}
