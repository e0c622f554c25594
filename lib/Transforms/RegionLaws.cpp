//===- RegionLaws.cpp - regions that run on shards --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionLaws.h"

#include "RegionDraft.h"

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
  void explainUnstated(Refusal &refusal, Operation *reduce,
                       const ShardRegion &lacking, const Unstated &unstated,
                       const Refusal *indivisible, const Price &price) const;

  const ShardRegion &region;
  const RegionState &state;
  /// Shared by all all_reduces.
  mutable std::string description;
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

/// The value of a region that its all_reduce leads to.
static Value getReducedValue(const ShardRegion &region, Operation *reduce) {
  auto entry = llvm::find_if(region.ops, [&](const RegionOp &op) {
    return !op.chain.empty() && op.chain.front() == reduce;
  });
  return entry->op->getResult(0);
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
  Value result = getReducedValue(region, site);
  // Most often, the dims that cannot be sharded equally are the ones that the
  // user meant.
  auto known = state.regions.indivisible.find(site);
  const Refusal *indivisible =
      known == state.regions.indivisible.end() ? nullptr : &known->second;
  if (std::optional<double> rows =
          price.isKnown() ? shards.getPayingRows() : std::nullopt)
    refusal.payingRows = roundToTwoDigits(*rows);
  // A price at which shards do not pay only follows from what is not stated.
  if (auto [lacking, unstated] = state.findUnstatedGain(site); unstated)
    return explainUnstated(refusal, site, *lacking, *unstated, indivisible,
                           price);
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

void RegionFinding::explainUnstated(Refusal &refusal, Operation *reduce,
                                    const ShardRegion &lacking,
                                    const Unstated &unstated,
                                    const Refusal *indivisible,
                                    const Price &price) const {
  auto [before, after] = *unstated.seconds;
  bool isAlways = refusal.code == RefusalCode::NoProgress;
  refusal.code = RefusalCode::Varying;
  refusal.blocker = unstated.user;
  refusal.reason = llvm::formatv(
      "along dim {0}, {1}; with that, sequence parallelism would take {2} "
      "instead of {3} on {4}",
      lacking.dims.lookup(getReducedValue(lacking, reduce)), unstated.reason,
      formatMicroseconds(after), formatMicroseconds(before),
      state.getModel().getTarget().name);
  // A strategy that asks for no gain does not refuse by this price.
  if (price.isKnown() && !isAlways)
    refusal.reason += llvm::formatv("; as it is, {0} instead of {1}",
                                    formatMicroseconds(*price.after),
                                    formatMicroseconds(*price.before));
  if (indivisible)
    refusal.reason += "; " + indivisible->reason;
  refusal.remedy = unstated.remedy;
  refusal.option = unstated.option;
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
  state.ofReduce.clear();
  state.unstated.clear();
  for (const ShardRegion &region : state.regions.regions)
    for (const RegionOp &entry : region.ops)
      if (entry.role == RegionRole::Reduce)
        state.ofReduce[entry.chain.front()].push_back(&region);
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
