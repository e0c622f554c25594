//===- RegionChoice.cpp - which ops of a region run on shards ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionChoice.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace commute;
using analysis::RegionOp;
using analysis::RegionRole;

/// Penalty for an all_reduce that is not replaced if every legal shard is
/// wanted: more than the cost of any region, far less than a forbidden choice.
static constexpr MinimumCut::Cost wholeReducePenalty = int64_t(1) << 40;
/// The same for an op after an all_reduce: otherwise, a reduce_scatter would be
/// followed directly by an all_gather.
static constexpr MinimumCut::Cost wholeOpPenalty = int64_t(1) << 36;
/// Maximum scale of the number of rows in the search for a threshold.
static constexpr double maxScale = 1 << 20;

/// Whether an op brings its result into a region. It uses its whole operand,
/// even if the operand is a value of the region as well.
static bool isSource(const RegionOp &entry) {
  return entry.role == RegionRole::Reduce || entry.role == RegionRole::Gather;
}

RegionChoice::RegionChoice(const analysis::ShardRegion &region,
                           const target::PriceModel &price, bool isRankSpecific,
                           bool isPipelined, bool prefersShards)
    : region(region), costs(region, price, isRankSpecific, isPipelined),
      prefersShards(prefersShards), numNodes(region.ops.size()),
      table(costs.getTable(1)) {
  for (auto [index, entry] : llvm::enumerate(region.ops))
    nodeOfOp[entry.op] = index;
  // Ops are in program order, so operands are visited before their users.
  behindReduce.resize(region.ops.size());
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    behindReduce[index] = entry.role == RegionRole::Reduce;
    if (isSource(entry))
      continue;
    for (Value operand : entry.op->getOperands())
      if (auto producer = nodeOfOp.find(operand.getDefiningOp());
          producer != nodeOfOp.end() && behindReduce[producer->second])
        behindReduce[index] = true;
  }
  findConversions();
  isOnShards.resize(numNodes);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

void RegionChoice::addConversions(Value value) {
  Operation *definition = value.getDefiningOp();
  auto producer = definition ? nodeOfOp.find(definition) : nodeOfOp.end();
  bool isProduced = producer != nodeOfOp.end();
  llvm::SmallSetVector<Node, 4> readers;
  bool hasOtherReaders = false;
  for (Operation *user : value.getUsers()) {
    if (analysis::readsOnlyTypes(user))
      continue;
    auto node = nodeOfOp.find(user);
    if (node == nodeOfOp.end() || isSource(region.ops[node->second]))
      hasOtherReaders = true;
    else
      readers.insert(node->second);
  }
  unsigned valueClass = costs.getClassOfValue(value);

  // Computed on shards but used whole: gathered once.
  if (isProduced && hasOtherReaders) {
    conversions.push_back(
        {Conversion::Gather, valueClass, producer->second, std::nullopt});
  } else if (isProduced && readers.size() == 1) {
    conversions.push_back(
        {Conversion::Gather, valueClass, producer->second, readers[0]});
  } else if (isProduced && !readers.empty()) {
    Node isWhole = numNodes++;
    conversions.push_back(
        {Conversion::Gather, valueClass, producer->second, isWhole});
    for (Node reader : readers)
      conversions.push_back(
          {Conversion::Forbidden, valueClass, isWhole, reader});
  }
  // Computed whole but used on shards: sliced once.
  if (readers.empty())
    return;
  Node isSliced = readers[0];
  if (readers.size() > 1) {
    isSliced = numNodes++;
    for (Node reader : readers)
      conversions.push_back(
          {Conversion::Forbidden, valueClass, reader, isSliced});
  }
  conversions.push_back(
      {Conversion::Slice, valueClass, isSliced,
       isProduced ? std::optional<Node>(producer->second) : std::nullopt});
}

void RegionChoice::findConversions() {
  llvm::DenseSet<Value> seen;
  auto add = [&](Value value) {
    if (region.dims.contains(value) && seen.insert(value).second)
      addConversions(value);
  };
  for (const RegionOp &entry : region.ops) {
    llvm::for_each(entry.op->getOperands(), add);
    llvm::for_each(entry.op->getResults(), add);
  }
}

//===----------------------------------------------------------------------===//
// The cut
//===----------------------------------------------------------------------===//

MinimumCut RegionChoice::buildCut(const RegionCosts::Table &table,
                                  bool prefersShards,
                                  const llvm::DenseSet<unsigned> &idle) const {
  MinimumCut cut;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    auto [local, whole] = table.ops[costs.getClassOfOp(index)];
    if (prefersShards && entry.role == RegionRole::Reduce &&
        !idle.contains(index))
      whole += wholeReducePenalty;
    if (prefersShards && entry.role == RegionRole::RowLocal && whole > 0 &&
        behindReduce[index])
      whole += wholeOpPenalty;
    cut.addNode(local, whole);
  }
  while (cut.getNumNodes() < numNodes)
    cut.addNode(0, 0);
  for (const Conversion &conversion : conversions) {
    const RegionCosts::ValueCosts &value = table.values[conversion.valueClass];
    Cost cost = conversion.kind == Conversion::Gather  ? value.gather
                : conversion.kind == Conversion::Slice ? value.slice
                                                       : MinimumCut::forbidden;
    if (conversion.whole)
      cut.addEdge(conversion.local, *conversion.whole, cost);
    else
      cut.addCost(conversion.local, cost, 0);
  }
  for (auto [a, b] : region.ties)
    cut.tie(a, b);
  return cut;
}

static bool hasShards(const std::vector<bool> &sides) {
  return llvm::is_contained(sides, true);
}

bool RegionChoice::isAnyLocal() const { return hasShards(isOnShards); }

llvm::DenseSet<unsigned>
RegionChoice::findIdleReduces(const Sides &sides) const {
  // Connected components of local ops, by union-find over their operands.
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
            table.ops[costs.getClassOfOp(node)].whole > 0);
  };
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (sides[node] && !isSource(region.ops[node]))
      for (Value operand : region.ops[node].op->getOperands())
        if (auto producer = nodeOfOp.find(operand.getDefiningOp());
            producer != nodeOfOp.end() && sides[producer->second])
          parent[find(node)] = find(producer->second);
  llvm::DenseSet<unsigned> working;
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (sides[node] && isShrunk(node))
      working.insert(find(node));
  llvm::DenseSet<unsigned> idle;
  for (unsigned node = 0; node < region.ops.size(); ++node)
    if (sides[node] && region.ops[node].role == RegionRole::Reduce &&
        !working.contains(find(node)))
      idle.insert(node);
  return idle;
}

RegionChoice::Choice RegionChoice::choose(const RegionCosts::Table &table,
                                          bool prefersShards) const {
  MinimumCut cut = buildCut(table, prefersShards, {});
  MinimumCut::Solution solution = cut.solve();
  if (prefersShards)
    if (auto idle = findIdleReduces(solution.isOnA); !idle.empty()) {
      cut = buildCut(table, prefersShards, idle);
      solution = cut.solve();
    }
  double before = cut.getCost(Sides(numNodes));
  return {std::move(solution.isOnA),
          (before - solution.cost) / table.unitsPerSecond};
}

void RegionChoice::solve() {
  Choice choice = choose(table, prefersShards);
  isOnShards = std::move(choice.sides);
  gain = choice.gain;
}

//===----------------------------------------------------------------------===//
// Prices of a choice
//===----------------------------------------------------------------------===//

RegionChoice::Bill RegionChoice::getBill(const Sides &sides) const {
  Bill bill;
  bill.local.resize(table.ops.size());
  bill.whole.resize(table.ops.size());
  bill.gathers.resize(table.values.size());
  bill.slices.resize(table.values.size());
  for (unsigned index = 0; index < region.ops.size(); ++index)
    ++(sides[index] ? bill.local : bill.whole)[costs.getClassOfOp(index)];
  for (const Conversion &conversion : conversions) {
    if (!sides[conversion.local] ||
        (conversion.whole && sides[*conversion.whole]))
      continue;
    assert(conversion.kind != Conversion::Forbidden && "no legal choice");
    ++(conversion.kind == Conversion::Gather
           ? bill.gathers
           : bill.slices)[conversion.valueClass];
  }
  return bill;
}

double RegionChoice::getSeconds(const Bill &bill,
                                const RegionCosts::Table &table) {
  // Integers are exact; a sum of doubles would depend on its order.
  Cost cost = 0;
  for (auto [local, whole, costs] :
       llvm::zip_equal(bill.local, bill.whole, table.ops))
    cost += local * costs.local + whole * costs.whole;
  for (auto [gathers, slices, costs] :
       llvm::zip_equal(bill.gathers, bill.slices, table.values)) {
    // A legal choice contains no forbidden conversions.
    cost += gathers ? gathers * costs.gather : 0;
    cost += slices ? slices * costs.slice : 0;
  }
  return cost / table.unitsPerSecond;
}

double RegionChoice::getSecondsBefore() const {
  return getSeconds(getBill(Sides(numNodes)), table);
}

double RegionChoice::getSecondsAfter() const {
  return getSeconds(getBill(isOnShards), table);
}

const RegionChoice::Sides *RegionChoice::findAlternative() const {
  if (!alternative) {
    alternative = isOnShards;
    if (!hasShards(*alternative))
      alternative =
          choose(costs.getTable(maxScale), /*prefersShards=*/false).sides;
    if (!hasShards(*alternative))
      alternative = choose(table, /*prefersShards=*/true).sides;
  }
  return hasShards(*alternative) ? &*alternative : nullptr;
}

std::optional<double> RegionChoice::getSecondsOfAlternative() const {
  const Sides *sides = findAlternative();
  if (!sides)
    return std::nullopt;
  return getSeconds(getBill(*sides), table);
}

std::optional<double> RegionChoice::getThreshold() const {
  const Sides *sides = findAlternative();
  if (!sides)
    return std::nullopt;
  Bill before = getBill(Sides(numNodes)), after = getBill(*sides);
  auto pays = [&](double scale) {
    RegionCosts::Table scaled = costs.getTable(scale);
    return getSeconds(after, scaled) < getSeconds(before, scaled);
  };
  // Bisect on a logarithmic scale, to within a few percent.
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
