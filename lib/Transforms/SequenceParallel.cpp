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

/// A region with its choice.
struct Candidate {
  const ShardRegion *region;
  std::unique_ptr<RegionChoice> choice;
  /// A rewrite takes an all_reduce away or saves time. What does neither could
  /// be undone by the next round, and so on without end.
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
  /// Why an all_reduce stays one.
  struct Refusal {
    Location location;
    std::string reason;
  };

  bool isAlways() const { return policy == "always"; }
  /// Rewrites what pays on one group; false where nothing (more) does.
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

  /// Of each group as its last round found them: what another group's rewrite
  /// makes possible is no refusal.
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

/// All values of a region: a rewrite changes them, or takes the ops away that
/// make them.
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

/// "; shards pay from about 2100 rows".
static std::string describeThreshold(const Candidate &candidate,
                                     const target::PriceModel &price) {
  std::optional<double> threshold = candidate.choice->getThreshold();
  if (!threshold)
    return "; no number of rows would make them pay";
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
    return "; shards pay from the first row on";
  return "; shards pay from about " + std::to_string(roundToTwoDigits(count)) +
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
      "{0}: {1} all_reduces became reduce_scatters, {2} ops run "
      "on shards, {3} values are gathered; {4} before, {5} "
      "after on {6}{7}",
      where, changes.numScatters, changes.numLocalOps, changes.numGathers,
      formatMicroseconds(choice.getSecondsBefore()),
      formatMicroseconds(choice.getSecondsAfter()), price.getTarget().name,
      threshold);
  for (Location location : reduces)
    remark::passed(location, getRemark("reduce-scatter"))
        << remark::add("became a reduce_scatter: {0}", where);
  for (auto [value, method] : changes.sliced) {
    if (method == SliceMethod::RankSlice)
      remark::passed(value.getLoc(), getRemark("rank-slice")) << remark::add(
          "every rank takes its own rows of this replicated value");
    else
      remark::passed(value.getLoc(), getRemark("scatter-replicated"))
          << remark::add("this replicated value is sharded with a "
                         "reduce_scatter(max) of equal values")
          << remark::suggest("--rank=R lets the program of one rank slice its "
                             "own rows, at no cost");
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
    return text + "no op after it could run on shards";
  const analysis::RowRefusal &refusal = region.borders.find(first)->second;
  if (refusal.reason == analysis::RowRefusal::Output)
    return "it is returned, and outputs of the graph are not sharded";
  return text + getNodeName(first) + " " + describe(refusal);
}

SmallVector<SequenceParallelPass::Refusal>
SequenceParallelPass::findRefusals(const analysis::ShardRegions &regions,
                                   ArrayRef<Candidate> candidates,
                                   const target::PriceModel &price) {
  SmallVector<Refusal> found;
  for (const analysis::UnusedReduce &unused : regions.unused)
    found.push_back({unused.op->getLoc(), unused.reason});
  // The dim that comes nearest speaks for the all_reduce.
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
    // One that pays only with shards has work on them.
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
  // What a region says of itself is said of all its all_reduces.
  DenseMap<const Candidate *, std::string> descriptions;
  for (auto &[op, best] : bestOf) {
    RegionChoice &choice = *best.candidate->choice;
    if (!choice.isPriced()) {
      found.push_back(
          {op->getLoc(), "the price is not known for sizes without a value"});
      continue;
    }
    if (best.loss == HUGE_VAL) {
      // Other dims may fail for another reason, which comes first: most often
      // the user means these.
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

  // The dims that gain most first; what shares values with them waits for the
  // next round.
  SmallVector<const Candidate *> order;
  for (const Candidate &candidate : candidates)
    if (candidate.choice->isPriced() && candidate.choice->isAnyLocal() &&
        candidate.isProgress())
      order.push_back(&candidate);
  // Equal ones in the order in which they were found.
  llvm::sort(order, [](const Candidate *a, const Candidate *b) {
    return std::pair(-a->choice->getGain(), a) <
           std::pair(-b->choice->getGain(), b);
  });
  if (order.empty()) {
    refusals[group] = findRefusals(regions, candidates, price);
    return false;
  }
  // Chosen first: a rewrite takes ops away that other regions name.
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
    function.emitError(
        "sequence-parallel: policy is always or profitable, not '" + policy +
        "'");
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
  // Each round takes collectives away, so that few suffice. What one group's
  // rewrite adds may be work on shards for another: until no group has any.
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
