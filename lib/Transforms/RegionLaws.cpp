//===- RegionLaws.cpp - regions that run on shards --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionLaws.h"

#include "RegionChoice.h"
#include "RegionRefusals.h"
#include "RegionRewrite.h"

#include "commute/Dialect/NodeName.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;
using analysis::RegionOp;
using analysis::RegionRole;
using analysis::ShardRegion;

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

namespace {

/// What the regions of one group share in a round.
struct RegionState {
  explicit RegionState(RegionOptions options) : options(options) {}

  RegionOptions options;
  bool isRankSpecific = false;
  std::optional<analysis::PlacementAnalysis> placements;
  analysis::ShardRegions regions;
  /// The all_reduces that rewrites have made: that they stay is not worth a
  /// remark.
  mutable llvm::DenseSet<Operation *> completions;

  const target::PriceModel &getModel() const {
    return options.prices.getModel();
  }
  RegionContext getContext() const {
    return {*placements, options.prices.getSizes(), getModel(), isRankSpecific,
            options.isPipelined};
  }
};

//===----------------------------------------------------------------------===//
// Draft
//===----------------------------------------------------------------------===//

/// A region with a choice of shards. Ops keep their places and names, so that
/// there are no new ops before it is applied.
class RegionDraft : public Draft {
public:
  RegionDraft(const ShardRegion &region, const RegionState &state)
      : region(region), state(state),
        choice(region, state.getModel(), state.isRankSpecific,
               state.options.isPipelined, state.options.prefersShards) {
    choice.solve();
  }

  Footprint getFootprint() const override;
  Price getPrice(const target::PriceModel &model) const override;
  /// That of the best choice with shards.
  Price getRefusedPrice(const target::PriceModel &model) const override;
  void apply(RewriterBase &rewriter) override;
  void count(llvm::function_ref<void(StringRef, unsigned)> add) const override;

  /// "dim 0 (8 rows over 2 ranks of group '0')".
  std::string describeDim() const;
  /// For example "; profitable from about 2100 rows".
  std::string describeThreshold() const;
  /// The approximate number of rows from which shards pay, if there is one.
  std::optional<double> getPayingRows() const {
    if (!payingRows)
      payingRows = findPayingRows();
    return *payingRows;
  }
  bool isPriced() const { return choice.isPriced(); }
  const SmallVector<LawRemark> &getRemarks() const { return remarks; }

private:
  std::optional<double> findPayingRows() const;
  void addRemarks(Location anchor, ArrayRef<Location> reduces,
                  const std::string &where, const std::string &threshold,
                  const Unstated &unstated);

  const ShardRegion &region;
  const RegionState &state;
  RegionChoice choice;
  /// Found once: every all_reduce of the region states it.
  mutable std::optional<std::optional<double>> payingRows;
  RegionChanges changes;
  SmallVector<LawRemark> remarks;
};

} // namespace

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

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

namespace {

class RegionFinding : public Finding {
public:
  RegionFinding(const ShardRegion &region, const RegionState &state)
      : region(region), state(state) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    return std::unique_ptr<Draft>(std::make_unique<RegionDraft>(region, state));
  }
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return static_cast<const RegionDraft &>(draft).getRemarks();
  }
  void explain(Refusal &refusal, Operation *site, const Draft &draft,
               const Price &price,
               const target::PriceModel &model) const override;
  /// All all_reduces of the region.
  SmallVector<Operation *> getRefusedSites(Operation *site) const override;

private:
  /// What holds is that the placement of inputs is not stated.
  void explainUnstated(Refusal &refusal, Value result,
                       const Refusal *indivisible, const Price &price,
                       const target::PriceModel &model) const;

  const ShardRegion &region;
  const RegionState &state;
  /// Shared by all all_reduces.
  mutable std::string description;
  mutable std::optional<Unstated> unstated;
};

} // namespace

SmallVector<Operation *> RegionFinding::getRefusedSites(Operation *site) const {
  SmallVector<Operation *> reduces;
  for (const RegionOp &entry : region.ops)
    if (entry.role == RegionRole::Reduce &&
        !state.completions.contains(entry.chain.front()))
      reduces.push_back(entry.chain.front());
  return reduces;
}

void RegionFinding::explain(Refusal &refusal, Operation *site,
                            const Draft &draft, const Price &price,
                            const target::PriceModel &model) const {
  const auto &shards = static_cast<const RegionDraft &>(draft);
  if (!shards.isPriced()) {
    refusal.code = RefusalCode::Unpriced;
    refusal.reason = "sequence parallelism cannot be priced because some sizes "
                     "have no value";
    return;
  }
  auto entry = llvm::find_if(region.ops, [&](const RegionOp &op) {
    return !op.chain.empty() && op.chain.front() == site;
  });
  Value result = entry->op->getResult(0);
  if (!unstated)
    unstated = findUnstatedGain(region, state.getContext());
  // Most often, the dims that cannot be sharded equally are the ones that the
  // user meant.
  auto known = state.regions.indivisible.find(site);
  const Refusal *indivisible =
      known == state.regions.indivisible.end() ? nullptr : &known->second;
  if (std::optional<double> rows =
          price.isKnown() ? shards.getPayingRows() : std::nullopt)
    refusal.payingRows = roundToTwoDigits(*rows);
  // A price at which shards do not pay only follows from what is not stated.
  if (unstated->seconds)
    return explainUnstated(refusal, result, indivisible, price, model);
  // Whatever the price of what can run on shards, a strategy that does not ask
  // for it lacks something else.
  if (!price.isKnown() || refusal.code == RefusalCode::NoProgress) {
    Refusal users = describeUsers(region, result);
    refusal = indivisible ? *indivisible : users;
    if (indivisible) {
      refusal.reason += "; " + users.reason;
      if (refusal.remedy.empty()) {
        refusal.remedy = users.remedy;
        refusal.option = users.option;
      }
      refusal.blocker = users.blocker;
    }
    refusal.op = nullptr;
    return;
  }
  if (description.empty())
    description = llvm::formatv(
        "sequence parallelism along {0} would take {1} instead of {2} on "
        "{3}{4}",
        shards.describeDim(), formatMicroseconds(*price.after),
        formatMicroseconds(*price.before), model.getTarget().name,
        shards.describeThreshold());
  refusal.reason = description;
  if (indivisible) {
    refusal.reason += "; " + indivisible->reason;
    refusal.remedy = indivisible->remedy;
    refusal.option = indivisible->option;
  } else if (Unstated first = findUnstated(region); first.user) {
    refusal.reason += "; " + first.reason;
    refusal.remedy = first.remedy;
    refusal.option = first.option;
  }
}

void RegionFinding::explainUnstated(Refusal &refusal, Value result,
                                    const Refusal *indivisible,
                                    const Price &price,
                                    const target::PriceModel &model) const {
  auto [before, after] = *unstated->seconds;
  bool isAlways = refusal.code == RefusalCode::NoProgress;
  refusal.code = RefusalCode::Varying;
  refusal.blocker = unstated->user;
  refusal.reason = llvm::formatv(
      "along dim {0}, {1}; with that, sequence parallelism would take {2} "
      "instead of {3} on {4}",
      region.dims.lookup(result), unstated->reason, formatMicroseconds(after),
      formatMicroseconds(before), model.getTarget().name);
  // A strategy that asks for no gain does not refuse by this price.
  if (price.isKnown() && !isAlways)
    refusal.reason += llvm::formatv("; as it is, {0} instead of {1}",
                                    formatMicroseconds(*price.after),
                                    formatMicroseconds(*price.before));
  if (indivisible)
    refusal.reason += "; " + indivisible->reason;
  refusal.remedy = unstated->remedy;
  refusal.option = unstated->option;
}

//===----------------------------------------------------------------------===//
// Law
//===----------------------------------------------------------------------===//

namespace {

class RegionLaws : public LawGroup {
public:
  RegionLaws(tp::GroupAttr group, RegionOptions options)
      : group(group), state(options) {}

  llvm::Error beginRound(func::FuncOp function) override;

  tp::GroupAttr group;
  RegionState state;
  /// By the op that it is found at: the regions, and what is in none.
  llvm::DenseMap<Operation *, SmallVector<const ShardRegion *, 1>> found;
  llvm::DenseMap<Operation *, const Refusal *> refused;
};

class RegionLaw : public Law {
public:
  explicit RegionLaw(const RegionLaws &laws) : laws(laws) {}

  StringRef getName() const override { return "shard-region"; }
  bool isSite(OperationName name) const override {
    return name.hasInterface<tp::CollectiveOpInterface>();
  }
  void find(Operation *site, Findings &findings) override {
    if (const Refusal *refusal = laws.refused.lookup(site);
        refusal && !laws.state.completions.contains(site))
      findings.refuse(site, *refusal);
    if (auto known = laws.found.find(site); known != laws.found.end())
      for (const ShardRegion *region : known->second)
        findings.add(site,
                     std::make_unique<RegionFinding>(*region, laws.state));
  }
  std::string describe(const Refusal &refusal, Operation *site) const override {
    return "kept as all_reduce: " + refusal.reason;
  }

private:
  const RegionLaws &laws;
};

} // namespace

llvm::Error RegionLaws::beginRound(func::FuncOp function) {
  llvm::Expected<analysis::PlacementAnalysis> placements =
      analysis::PlacementAnalysis::run(function);
  if (!placements)
    return placements.takeError();
  state.placements = std::move(*placements);
  state.isRankSpecific = function->getParentOfType<ModuleOp>()->hasAttr(
      tp::TPDialect::rankSpecificAttrName);
  state.regions = analysis::findShardRegions(
      function, group, *state.placements, state.options.prices.getSizes(),
      {state.options.pads, !state.options.exactRounding});
  found.clear();
  for (const ShardRegion &region : state.regions.regions)
    if (Operation *anchor = getAnchor(region))
      found[anchor].push_back(&region);
  refused.clear();
  for (const Refusal &refusal : state.regions.unused)
    refused[refusal.op] = &refusal;
  return llvm::Error::success();
}

std::unique_ptr<LawGroup> commute::makeRegionLaws(tp::GroupAttr group,
                                                  RegionOptions options) {
  auto laws = std::make_unique<RegionLaws>(group, options);
  laws->add<RegionLaw>(*laws);
  return laws;
}
