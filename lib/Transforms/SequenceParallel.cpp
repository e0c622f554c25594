//===- SequenceParallel.cpp - row-wise ops on shards ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PassPrices.h"
#include "RegionChoice.h"
#include "RegionRewrite.h"

#include "commute/Analysis/NodeName.h"
#include "commute/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace commute {
#define GEN_PASS_DEF_SEQUENCEPARALLEL
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;
using analysis::getNodeName;
using analysis::RegionOp;
using analysis::RegionRole;
using analysis::ShardRegion;

namespace {

/// A region and the choice of shards for it.
struct Candidate {
  const ShardRegion *region;
  std::unique_ptr<RegionChoice> choice;
  /// Whether the rewrite replaces an all_reduce or saves time. The next round
  /// could undo any other rewrite, and the pass would not terminate.
  bool isProgress() const {
    return choice->getSecondsAfter() < choice->getSecondsBefore() ||
           llvm::any_of(
               llvm::enumerate(region->ops),
               [&](const auto &entry) {
                 return entry.value().role == RegionRole::Reduce &&
                        choice->isLocal(entry.index());
               });
  }
};

class SequenceParallelPass
    : public commute::impl::SequenceParallelBase<SequenceParallelPass> {
public:
  using SequenceParallelBase::SequenceParallelBase;

  void runOnOperation() final;

private:
  /// Why an all_reduce is not replaced.
  struct Refusal {
    Location location;
    std::string reason;
  };

  bool isAlways() const { return policy == "always"; }
  /// Applies profitable rewrites on one group; false if there are none (left).
  bool applyRound(tp::GroupAttr group, const target::PriceModel &price,
                  const analysis::SymbolicSizes &sizes);
  void apply(const Candidate &candidate, const target::PriceModel &price,
             bool isRankSpecific);
  SmallVector<Refusal> findRefusals(const analysis::ShardRegions &regions,
                                    ArrayRef<Candidate> candidates,
                                    const target::PriceModel &price);
  std::string describeChoice(const Candidate &candidate,
                             const target::PriceModel &price);

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  /// The refusals of each group's last round. Rewrites on another group may
  /// make earlier ones obsolete.
  llvm::MapVector<tp::GroupAttr, SmallVector<Refusal>> refusals;
};

} // namespace

/// Rounds thresholds to two significant digits; the price model is no more
/// precise.
static int64_t roundToTwoDigits(double number) {
  double unit = 1;
  while (number / unit >= 100)
    unit *= 10;
  return std::llround(number / unit) * std::llround(unit);
}

static std::string quote(tp::GroupAttr group) {
  return "'" + group.getKey() + "'";
}

/// The first op of a region that communicates.
static Operation *getAnchor(const ShardRegion &region) {
  for (const RegionOp &entry : region.ops)
    if (entry.role == RegionRole::Reduce)
      return entry.chain.front();
  for (const RegionOp &entry : region.ops)
    if (entry.role == RegionRole::Gather)
      return entry.op;
  return nullptr;
}

/// All values of a region. A rewrite changes these values or erases the ops
/// that define them.
static llvm::DenseSet<Value> getFootprint(const ShardRegion &region) {
  llvm::DenseSet<Value> values;
  for (const auto &[value, dim] : region.dims)
    values.insert(value);
  for (const RegionOp &entry : region.ops) {
    values.insert(entry.op->result_begin(), entry.op->result_end());
    for (Operation *op : entry.chain)
      values.insert(op->result_begin(), op->result_end());
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

std::string
SequenceParallelPass::describeChoice(const Candidate &candidate,
                                     const target::PriceModel &price) {
  const ShardRegion &region = *candidate.region;
  Operation *anchor = getAnchor(region);
  auto entry = llvm::find_if(region.ops, [&](const RegionOp &op) {
    return op.op == anchor || llvm::is_contained(op.chain, anchor);
  });
  Value value = entry->op->getResult(0);
  unsigned dim = region.dims.lookup(value);
  auto type = cast<RankedTensorType>(value.getType());
  auto rows = tp::evaluateSize(
      type, dim, [&](StringRef symbol) { return price.getSize(symbol); });
  std::string text = llvm::formatv(
      "dim {0} ({1} rows over {2} ranks of group {3})", dim, rows.value_or(0),
      region.group.getSize(), quote(region.group));
  for (const std::string &assumption : region.assumptions)
    text += ", assuming " + assumption;
  return text;
}

/// For example "; profitable from about 2100 rows".
static std::string describeThreshold(const Candidate &candidate,
                                     const target::PriceModel &price) {
  std::optional<double> threshold = candidate.choice->getThreshold();
  if (!threshold)
    return "; not profitable at any number of rows";
  const ShardRegion &region = *candidate.region;
  const RegionOp &entry = region.ops.front();
  Value value = entry.op->getResult(0);
  if (!region.dims.contains(value))
    value = entry.op->getOperand(0);
  auto rows = tp::evaluateSize(
      cast<RankedTensorType>(value.getType()), region.dims.lookup(value),
      [&](StringRef symbol) { return price.getSize(symbol); });
  double count = rows.value_or(0) * *threshold;
  if (count < region.group.getSize())
    return "; profitable at any number of rows";
  return "; profitable from about " + std::to_string(roundToTwoDigits(count)) +
         " rows";
}

void SequenceParallelPass::apply(const Candidate &candidate,
                                 const target::PriceModel &price,
                                 bool isRankSpecific) {
  const ShardRegion &region = *candidate.region;
  RegionChoice &choice = *candidate.choice;
  std::string where = describeChoice(candidate, price);
  std::string threshold = describeThreshold(candidate, price);
  Location anchor = getAnchor(region)->getLoc();
  SmallVector<Location> reduces;
  for (auto [index, entry] : llvm::enumerate(region.ops))
    if (entry.role == RegionRole::Reduce && choice.isLocal(index))
      reduces.push_back(entry.chain.front()->getLoc());

  RegionChanges changes = rewriteRegion(
      region, [&](unsigned index) { return choice.isLocal(index); },
      isRankSpecific);
  numScatters += changes.numScatters;
  numLocalOps += changes.numLocalOps;
  numGathers += changes.numGathers;
  numSlices += changes.numSlices;

  remark::passed(anchor, getRemark("shards")) << remark::add(
      "sequence parallelism along {0}: {1} all_reduces replaced by "
      "reduce_scatters, {2} ops run on shards, {3} values gathered; {4} "
      "before, {5} after on {6}{7}",
      where, changes.numScatters, changes.numLocalOps, changes.numGathers,
      formatMicroseconds(choice.getSecondsBefore()),
      formatMicroseconds(choice.getSecondsAfter()), price.getTarget().name,
      threshold);
  for (Location location : reduces)
    remark::passed(location, getRemark("reduce-scatter"))
        << remark::add("replaced by a reduce_scatter along {0}", where);
  for (auto [value, method] : changes.sliced) {
    if (method == SliceMethod::RankSlice)
      remark::passed(value.getLoc(), getRemark("rank-slice")) << remark::add(
          "this replicated value is sliced: each rank keeps its own rows");
    else
      remark::passed(value.getLoc(), getRemark("scatter-replicated"))
          << remark::add("this replicated value is sharded with a "
                         "reduce_scatter(max) of equal values")
          << remark::suggest("--rank=R compiles the program for one rank, "
                             "which slices its own rows at no cost");
  }
}

/// Why no op after an all_reduce runs on shards: its first user that needs the
/// whole value.
static std::string describeReaders(const ShardRegion &region, Value value) {
  Operation *first = nullptr;
  // MLIR does not define the order of users.
  for (Operation *user : value.getUsers())
    if (region.borders.contains(user) &&
        (!first || user->isBeforeInBlock(first)))
      first = user;
  std::string text =
      "along dim " + std::to_string(region.dims.lookup(value)) + ", ";
  if (!first)
    return text + "no op after it can run on shards";
  const analysis::RowRefusal &refusal = region.borders.find(first)->second;
  if (refusal.reason == analysis::RowRefusal::Output)
    return "its result is returned, and graph outputs cannot be sharded";
  return text + getNodeName(first) + " " + describe(refusal);
}

SmallVector<SequenceParallelPass::Refusal>
SequenceParallelPass::findRefusals(const analysis::ShardRegions &regions,
                                   ArrayRef<Candidate> candidates,
                                   const target::PriceModel &price) {
  SmallVector<Refusal> found;
  for (const analysis::UnusedReduce &unused : regions.unused)
    found.push_back({unused.op->getLoc(), unused.reason});
  // Report each all_reduce for the dim with the smallest loss.
  struct Best {
    const Candidate *candidate = nullptr;
    const RegionOp *entry = nullptr;
    double loss = 0;
  };
  llvm::MapVector<Operation *, Best> bestOf;
  for (const Candidate &candidate : candidates) {
    std::optional<double> alternative =
        candidate.choice->isPriced()
            ? candidate.choice->getSecondsOfAlternative()
            : std::nullopt;
    // Without an alternative, no op can run on shards.
    double loss = alternative
                      ? *alternative - candidate.choice->getSecondsBefore()
                      : HUGE_VAL;
    for (const RegionOp &entry : candidate.region->ops) {
      if (entry.role != RegionRole::Reduce)
        continue;
      Best &best = bestOf[entry.chain.front()];
      if (!best.candidate || loss < best.loss)
        best = {&candidate, &entry, loss};
    }
  }
  // All all_reduces of a region share its description.
  DenseMap<const Candidate *, std::string> descriptions;
  for (auto &[op, best] : bestOf) {
    RegionChoice &choice = *best.candidate->choice;
    if (!choice.isPriced()) {
      found.push_back({op->getLoc(),
                       "sequence parallelism cannot be priced because some "
                       "sizes have no value"});
      continue;
    }
    if (best.loss == HUGE_VAL) {
      // Report indivisible dims first: most often, they are the ones that the
      // user meant.
      std::string reason = regions.indivisible.lookup(op);
      reason += (reason.empty() ? "" : "; ") +
                describeReaders(*best.candidate->region,
                                best.entry->op->getResult(0));
      found.push_back({op->getLoc(), reason});
      continue;
    }
    std::string &description = descriptions[best.candidate];
    if (description.empty())
      description = llvm::formatv(
          "sequence parallelism along {0} would take {1} instead of {2} on "
          "{3}{4}",
          describeChoice(*best.candidate, price),
          formatMicroseconds(*choice.getSecondsOfAlternative()),
          formatMicroseconds(choice.getSecondsBefore()), price.getTarget().name,
          describeThreshold(*best.candidate, price));
    found.push_back({op->getLoc(), description});
  }
  return found;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

bool SequenceParallelPass::applyRound(tp::GroupAttr group,
                                      const target::PriceModel &price,
                                      const analysis::SymbolicSizes &sizes) {
  llvm::Expected<analysis::PlacementAnalysis> placements =
      analysis::PlacementAnalysis::run(getOperation());
  if (!placements) {
    getOperation().emitError(llvm::toString(placements.takeError()));
    signalPassFailure();
    return false;
  }
  analysis::ShardRegions regions = analysis::findShardRegions(
      getOperation(), group, *placements, sizes, pad);
  bool isRankSpecific = getOperation()->getParentOfType<ModuleOp>()->hasAttr(
      tp::TPDialect::rankSpecificAttrName);
  std::vector<Candidate> candidates;
  for (const ShardRegion &region : regions.regions) {
    if (!getAnchor(region))
      continue;
    Candidate candidate{
        &region, std::make_unique<RegionChoice>(region, price, isRankSpecific,
                                                pipelined, isAlways())};
    candidate.choice->solve();
    candidates.push_back(std::move(candidate));
  }

  // Largest gain first; regions that share values with a chosen one wait for
  // the next round.
  SmallVector<const Candidate *> order;
  for (const Candidate &candidate : candidates)
    if (candidate.choice->isPriced() && candidate.choice->isAnyLocal() &&
        candidate.isProgress())
      order.push_back(&candidate);
  // Break ties by the order in which the candidates were found.
  llvm::sort(order, [](const Candidate *a, const Candidate *b) {
    return std::pair(-a->choice->getGain(), a) <
           std::pair(-b->choice->getGain(), b);
  });
  if (order.empty()) {
    refusals[group] = findRefusals(regions, candidates, price);
    return false;
  }
  // Choose before rewriting: a rewrite erases ops that other regions refer to.
  SmallVector<const Candidate *> chosen;
  llvm::DenseSet<Value> taken;
  for (const Candidate *candidate : order) {
    llvm::DenseSet<Value> values = getFootprint(*candidate->region);
    if (llvm::any_of(values,
                     [&](Value value) { return taken.contains(value); }))
      continue;
    taken.insert(values.begin(), values.end());
    chosen.push_back(candidate);
  }
  for (const Candidate *candidate : chosen)
    apply(*candidate, price, isRankSpecific);
  return true;
}

void SequenceParallelPass::runOnOperation() {
  refusals.clear();
  func::FuncOp function = getOperation();
  auto module = function->getParentOfType<ModuleOp>();
  if (policy != "always" && policy != "profitable") {
    function.emitError("sequence-parallel: unknown policy '" + policy +
                       "'; expected always or profitable");
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock())
    return;
  llvm::Expected<std::unique_ptr<PassPrices>> prices =
      PassPrices::load(targetName, function);
  if (!prices) {
    function.emitError(llvm::toString(prices.takeError()));
    return signalPassFailure();
  }
  const target::PriceModel &price = (*prices)->getModel();
  const analysis::SymbolicSizes &sizes = (*prices)->getSizes();
  SmallVector<tp::GroupAttr> groups;
  for (tp::GroupAttr group : analysis::getGroups(module))
    if (llvm::none_of(groups, [&](tp::GroupAttr known) {
          return known.hasSameMembers(group);
        }))
      groups.push_back(group);
  // Few rounds suffice, because each round removes collectives. A rewrite on
  // one group may enable another, so iterate until no group changes.
  constexpr unsigned maxRounds = 256;
  size_t numFinished = 0;
  for (unsigned round = 0, group = 0;
       round < maxRounds && numFinished < groups.size(); ++round) {
    if (applyRound(groups[group], price, sizes)) {
      numFinished = 0;
      continue;
    }
    ++numFinished;
    group = (group + 1) % groups.size();
  }
  for (const auto &[group, ofGroup] : refusals)
    for (const Refusal &refusal : ofGroup) {
      ++numRefused;
      remark::missed(refusal.location, getRemark("whole"))
          << remark::add("kept as all_reduce: {0}", refusal.reason);
    }
}
