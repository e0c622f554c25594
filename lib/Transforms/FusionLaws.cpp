//===- FusionLaws.cpp - collectives fused with products ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusionLaws.h"

#include "CollectiveSpelling.h"
#include "FusedForms.h"
#include "PassPrices.h"
#include "PipelineRewrite.h"
#include "ScheduledPrice.h"

#include "commute/Analysis/OtherRanks.h"
#include "commute/Analysis/Placements/PlacementAnalysis.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::GatherFusion;
using analysis::Legal;
using analysis::Refusal;
using analysis::ScatterFusion;

//===----------------------------------------------------------------------===//
// Price
//===----------------------------------------------------------------------===//

namespace {

/// Facts that hold for a round.
struct FusionState {
  explicit FusionState(func::FuncOp function)
      : context(function), prices(function), function(function) {}

  /// Returns true if all ranks of the group are known to hold the same value.
  bool isReplicated(Value value, tp::GroupAttr group);

  analysis::FusionContext context;
  ScheduledPrices prices;

private:
  func::FuncOp function;
  /// Computed lazily: only biases are asked for.
  std::optional<analysis::PlacementAnalysis> placements;
};

class FusionDraft : public ReplacementDraft {
public:
  FusionDraft(ReplacementDraft &&draft, Operation *collective,
              ScheduledPrices &prices)
      : ReplacementDraft(std::move(draft)), collective(collective),
        prices(prices) {}

  Price getPrice(const target::PriceModel &model) const override;

private:
  Operation *collective;
  ScheduledPrices &prices;
};

} // namespace

bool FusionState::isReplicated(Value value, tp::GroupAttr group) {
  if (!placements) {
    llvm::Expected<analysis::PlacementAnalysis> found =
        analysis::PlacementAnalysis::run(function);
    if (!found) {
      // The driver reports what is wrong with the placements.
      llvm::consumeError(found.takeError());
      return false;
    }
    placements = std::move(*found);
  }
  return placements->getPlacement(value, group).getKind() ==
         tp::PlacementKind::Replicated;
}

Price FusionDraft::getPrice(const target::PriceModel &model) const {
  return prices.getPrice(*this, model,
                         [&](Operation *op) -> std::optional<double> {
                           // If not fused, lower-collectives restores the
                           // original chain.
                           if (op == collective)
                             return getChainSeconds(op, model);
                           return std::nullopt;
                         });
}

//===----------------------------------------------------------------------===//
// Findings
//===----------------------------------------------------------------------===//

namespace {

class PricedFusion : public FusionFinding {
public:
  PricedFusion(Operation *collective, FusionState &state, double margin)
      : FusionFinding(collective), state(state), margin(margin) {}

  Legal<std::unique_ptr<Draft>> draft() override;
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override;
  void explain(Refusal &refusal, Operation *site, const Draft &draft,
               const Price &price,
               const target::PriceModel &model) const override;
  std::string describeConflict(const Finding &other) const override;

protected:
  virtual ReplacementDraft draftOps() const = 0;
  /// Why other ranks must make this rewrite too for its values to be right;
  /// empty if it holds whatever they run.
  virtual StringRef getNeedOfOtherRanks() const { return ""; }
  /// What to know about the fused op: ends of sentences.
  virtual std::string describeEffects() const = 0;

  bool hasBias() const {
    return llvm::any_of(products,
                        [](tp::MatmulOp op) { return bool(op.getBias()); });
  }

  FusionState &state;
  double margin;
  SmallVector<tp::MatmulOp> products;
};

class FusedGather : public PricedFusion {
public:
  FusedGather(GatherFusion found, FusionState &state, double margin)
      : PricedFusion(found.gather, state, margin), fusion(std::move(found)) {
    for (const analysis::GatheredProduct &product : fusion.products)
      products.push_back(product.matmul);
  }
  bool contracts() const override { return fusion.contracts; }

private:
  ReplacementDraft draftOps() const override {
    return draftGatherFusion(fusion);
  }
  std::string describeEffects() const override;

  GatherFusion fusion;
};

class FusedScatter : public PricedFusion {
public:
  FusedScatter(ScatterFusion found, FusionState &state, double margin)
      : PricedFusion(found.scatter, state, margin), fusion(std::move(found)) {
    products = fusion.products;
  }

private:
  ReplacementDraft draftOps() const override {
    tp::ReduceScatterOp scatter = fusion.scatter;
    return draftScatterFusion(fusion, [&](Value value) {
      return state.isReplicated(value, scatter.getGroup());
    });
  }
  StringRef getNeedOfOtherRanks() const override {
    return fusion.biases.empty()
               ? ""
               : "the biases of all ranks would be added after the fused op";
  }
  std::string describeEffects() const override {
    std::string text;
    if (products.size() > 1)
      text += "; the operands of the summed products are concatenated into one "
              "product";
    if (!fusion.biases.empty())
      text += "; biases are added after the fused op";
    return text;
  }

  ScatterFusion fusion;
};

} // namespace

Legal<std::unique_ptr<Draft>> PricedFusion::draft() {
  if (StringRef need = getNeedOfOtherRanks();
      !need.empty() && analysis::areOtherRanksUnknown(collective))
    return analysis::refuseForUnknownRanks(collective, need);
  auto draft =
      std::make_unique<FusionDraft>(draftOps(), collective, state.prices);
  // lower-collectives would decompose the fused op again.
  for (Operation *op : draft->ops.getOps())
    if (Legal<> form =
            checkFusedForm(op, collective->getParentOfType<ModuleOp>());
        !form) {
      form.getRefusal().op = collective;
      return std::move(form.getRefusal());
    }
  draft->counts.emplace_back(isa<tp::AllGatherOp>(collective)
                                 ? "num-all-gathers"
                                 : "num-reduce-scatters",
                             1);
  draft->counts.emplace_back("num-products", products.size());
  return std::unique_ptr<Draft>(std::move(draft));
}

SmallVector<LawRemark>
PricedFusion::describe(const Draft &draft, const Price &price,
                       const target::PriceModel *model) const {
  std::string text = "fused with ";
  for (auto [index, product] : llvm::enumerate(products))
    text += (index == 0 ? "" : ", ") + getNodeName(product);
  if (price.isKnown() && model)
    text += "; " + formatMicroseconds(*price.before) + " before, " +
            formatMicroseconds(*price.after) + " after on " +
            model->getTarget().name;
  return {{collective->getLoc(), "fused", text + describeEffects()}};
}

void PricedFusion::explain(Refusal &refusal, Operation *site,
                           const Draft &draft, const Price &price,
                           const target::PriceModel &model) const {
  if (!price.isKnown()) {
    refusal.reason = "it cannot be priced because some sizes have no value";
    refusal.remedy = "policy=always fuses it without a price";
    return;
  }
  refusal.reason = formatMicroseconds(*price.after) + " fused, " +
                   formatMicroseconds(*price.before) + " unfused on " +
                   model.getTarget().name +
                   describeMargin(*price.before, *price.after, margin);
}

std::string PricedFusion::describeConflict(const Finding &other) const {
  const auto &rival = static_cast<const PricedFusion &>(other);
  for (tp::MatmulOp product : products)
    if (llvm::is_contained(rival.products, product))
      return getNodeName(product) + " is fused with " +
             getNodeName(rival.collective) + " instead";
  return "";
}

std::string FusedGather::describeEffects() const {
  std::string text;
  if (fusion.contracts)
    text += "; the contraction is accumulated one shard at a time, which "
            "rounds in a different order";
  if (!fusion.pieces.empty())
    text += fusion.contracts
                ? "; the rows of the other operand are reordered to match the "
                  "order of the shards"
                : "; the rows of the product are rearranged instead of those "
                  "of the gathered value";
  if (fusion.returnsGathered)
    text += "; the gathered value is also returned, for its other users";
  if (hasBias())
    text += "; biases are added after the fused op";
  return text;
}

//===----------------------------------------------------------------------===//
// Laws
//===----------------------------------------------------------------------===//

namespace {

class FusionLaws : public LawGroup {
public:
  explicit FusionLaws(double margin) : margin(margin) {
    // A fused op is a site of no law.
    createsSites = false;
  }

  llvm::Error beginRound(func::FuncOp function) override {
    state = std::make_unique<FusionState>(function);
    return llvm::Error::success();
  }

  const double margin;
  std::unique_ptr<FusionState> state;
};

class FusionLaw : public Law {
public:
  explicit FusionLaw(FusionLaws &laws) : laws(laws) {}

  std::string describe(const Refusal &refusal, Operation *site) const override {
    // Report products at the collective, where users look for them.
    if (refusal.op && refusal.op != site)
      return "not fused with " + getNodeName(refusal.op) + ": " +
             refusal.reason;
    return "not fused: " + refusal.reason;
  }

protected:
  /// Not those in regions of other ops.
  static bool isInFunction(Operation *op) {
    return isa<func::FuncOp>(op->getParentOp());
  }

  FusionLaws &laws;
};

/// all_gather(a) @ b = all_gather_matmul(a, b)
class GatherFusionLaw : public FusionLaw {
public:
  using FusionLaw::FusionLaw;

  StringRef getName() const override { return "gather-fusion"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::AllGatherOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    if (!isInFunction(site))
      return;
    SmallVector<Refusal> products;
    Legal<GatherFusion> fusion = findGatherFusion(
        cast<tp::AllGatherOp>(site), laws.state->context, products);
    for (Refusal &refusal : products)
      findings.refuse(site, std::move(refusal));
    if (fusion)
      findings.add(site, std::make_unique<FusedGather>(
                             std::move(*fusion), *laws.state, laws.margin));
    else
      findings.refuse(site, std::move(fusion.getRefusal()));
  }
};

/// reduce_scatter(a @ b) = matmul_reduce_scatter(a, b)
class ScatterFusionLaw : public FusionLaw {
public:
  using FusionLaw::FusionLaw;

  StringRef getName() const override { return "scatter-fusion"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::ReduceScatterOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    if (!isInFunction(site))
      return;
    Legal<ScatterFusion> fusion =
        findScatterFusion(cast<tp::ReduceScatterOp>(site), laws.state->context);
    if (fusion)
      findings.add(site, std::make_unique<FusedScatter>(
                             std::move(*fusion), *laws.state, laws.margin));
    else
      findings.refuse(site, std::move(fusion.getRefusal()));
  }
};

} // namespace

std::unique_ptr<LawGroup> commute::makeFusionLaws(double margin) {
  auto laws = std::make_unique<FusionLaws>(margin);
  laws->add<GatherFusionLaw>(*laws);
  laws->add<ScatterFusionLaw>(*laws);
  return laws;
}
