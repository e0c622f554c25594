//===- MicroPipeline.cpp - collectives fused with products ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveSpelling.h"
#include "FusedForms.h"
#include "PassPrices.h"
#include "PipelineRewrite.h"

#include "commute/Analysis/NodeName.h"
#include "commute/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"

namespace commute {
#define GEN_PASS_DEF_MICROPIPELINE
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;
using analysis::FusionContext;
using analysis::FusionRefusal;
using analysis::GatherFusion;
using analysis::getNodeName;
using analysis::ScatterFusion;

namespace {

/// A legal fusion with its draft and its price.
struct Candidate {
  Operation *collective;
  SmallVector<tp::MatmulOp> products;
  std::optional<GatherFusion> gather;
  std::optional<ScatterFusion> scatter;
  std::optional<double> secondsBefore;
  std::optional<double> secondsAfter;

  double getGain() const {
    return secondsBefore && secondsAfter ? *secondsBefore - *secondsAfter : 0;
  }
  std::optional<PipelineDraft> draft;
};

class MicroPipelinePass
    : public commute::impl::MicroPipelineBase<MicroPipelinePass> {
public:
  using MicroPipelineBase::MicroPipelineBase;

  void runOnOperation() final;

private:
  /// Finds and prices all fusions, and applies those that are profitable and
  /// do not overlap. Returns true if overlapping ones are left for another
  /// round.
  bool applyRound();
  std::vector<Candidate> findCandidates(const FusionContext &context);
  /// Drafts and prices every fusion.
  void draftFusions(std::vector<Candidate> &candidates);
  /// Why a legal fusion is not applied; empty if it is.
  std::string findObjection(const Candidate &candidate);
  /// The products of a fusion, its price and its effects, for the remark.
  std::string describe(const Candidate &candidate);
  void apply(Candidate &candidate);

  void refuse(Operation *op, const Twine &sentence) {
    refusals[op].push_back(sentence.str());
  }
  void report(Location location, StringRef sentence) {
    ++numRefused;
    remark::missed(location, getRemark("apart"))
        << remark::add("{0}", sentence.str());
  }
  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  /// Null for policy=upstream, which needs no prices.
  const target::PriceModel *price = nullptr;
  /// Why collectives are not fused, as found in the last round; only of
  /// collectives that still exist.
  llvm::MapVector<Operation *, SmallVector<std::string, 1>> refusals;
  /// Collectives whose product was fused with another collective; only of
  /// collectives that still exist.
  llvm::MapVector<Operation *, std::string> outbid;
};

} // namespace

std::vector<Candidate>
MicroPipelinePass::findCandidates(const FusionContext &context) {
  std::vector<Candidate> candidates;
  SmallVector<FusionRefusal> refused;
  for (Operation *op : context.getCollectives()) {
    refused.clear();
    if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
      if (std::optional<GatherFusion> fusion =
              findGatherFusion(gather, context, refused)) {
        Candidate candidate{op, {}, std::move(fusion), {}, {}, {}, {}};
        for (const analysis::GatheredProduct &product :
             candidate.gather->products)
          candidate.products.push_back(product.matmul);
        candidates.push_back(std::move(candidate));
      }
    } else {
      auto scatter = cast<tp::ReduceScatterOp>(op);
      if (std::optional<ScatterFusion> fusion =
              findScatterFusion(scatter, context, refused)) {
        Candidate candidate{op, {}, {}, std::move(fusion), {}, {}, {}};
        candidate.products = candidate.scatter->products;
        candidates.push_back(std::move(candidate));
      }
    }
    // Report refused products at the collective, where users look for them.
    // They are refused whether or not the collective is fused with other
    // products.
    for (const FusionRefusal &refusal : refused)
      refuse(op, refusal.op == op
                     ? "not fused: " + refusal.reason
                     : "not fused with " + getNodeName(refusal.op) + ": " +
                           refusal.reason);
  }
  return candidates;
}

/// Seconds on the compute units before each op.
static llvm::DenseMap<Operation *, double>
addUpSeconds(func::FuncOp function, const target::PriceModel &price) {
  llvm::DenseMap<Operation *, double> sums;
  double sum = 0;
  for (Operation &op : function.getBody().front()) {
    sums[&op] = sum;
    std::optional<target::OpPrice> seconds = price.getPrice(&op);
    sum += seconds ? seconds->computeSeconds : 0;
  }
  return sums;
}

void MicroPipelinePass::draftFusions(std::vector<Candidate> &candidates) {
  // Ops between an asynchronous collective and its wait already hide part of
  // its time. Sum up lazily: usually there are no such ops.
  llvm::DenseMap<Operation *, double> sums;
  auto getHiddenSeconds = [&](Operation *collective) {
    double hidden = 0;
    Operation *begin = collective->getNextNode();
    for (Operation *end : collective->getUsers()) {
      if (end == begin || !isa<tp::CompletionOpInterface>(end) ||
          end->getBlock() != collective->getBlock())
        continue;
      if (sums.empty())
        sums = addUpSeconds(getOperation(), *price);
      hidden = std::max(hidden, sums[end] - sums[begin]);
    }
    return hidden;
  };
  for (Candidate &candidate : candidates) {
    candidate.draft = candidate.gather ? draftGatherFusion(*candidate.gather)
                                       : draftScatterFusion(*candidate.scatter);
    if (!price)
      continue;
    double before = 0;
    bool isKnown = true;
    for (Operation *op : candidate.draft->replaced) {
      std::optional<double> seconds = price->getSeconds(op);
      isKnown &= seconds.has_value();
      double exposed = seconds.value_or(0);
      if (op == candidate.collective) {
        // If not fused, lower-collectives restores the original chain.
        if (std::optional<double> chain = getChainSeconds(op, *price))
          exposed = std::min(exposed, *chain);
        exposed = std::max(exposed - getHiddenSeconds(op), 0.0);
      }
      before += exposed;
    }
    if (isKnown)
      candidate.secondsBefore = before;
    candidate.secondsAfter = candidate.draft->getSeconds(*price);
  }
}

std::string MicroPipelinePass::findObjection(const Candidate &candidate) {
  // lower-collectives would decompose the fused op again.
  for (Operation *op : candidate.draft->ops.getOps())
    if (std::string problem = findFormProblem(op); !problem.empty())
      return problem;
  if (policy == "always")
    return "";
  if (policy == "upstream") {
    // Inductor's rule: narrow slices of a contraction are not profitable.
    constexpr int64_t minContraction = 1024;
    if (!candidate.gather || !candidate.gather->contracts)
      return "";
    auto shard =
        cast<RankedTensorType>(candidate.collective->getOperandTypes()[0]);
    if (shard.getShape().back() >= minContraction)
      return "";
    return "each rank's shard has " + std::to_string(shard.getShape().back()) +
           " elements along the contraction dimension, and upstream's rule "
           "needs at least " +
           std::to_string(minContraction);
  }
  if (!candidate.secondsBefore || !candidate.secondsAfter)
    return "it cannot be priced because some sizes have no value; "
           "policy=always fuses it without a price";
  double before = *candidate.secondsBefore, after = *candidate.secondsAfter;
  if (after * (1 + margin) < before)
    return "";
  return formatMicroseconds(after) + " fused, " + formatMicroseconds(before) +
         " unfused on " + price->getTarget().name +
         describeMargin(before, after, margin);
}

std::string MicroPipelinePass::describe(const Candidate &candidate) {
  std::string text;
  bool hasBias = false;
  for (tp::MatmulOp product : candidate.products) {
    text += (text.empty() ? "" : ", ") + getNodeName(product);
    hasBias |= bool(product.getBias());
  }
  if (candidate.secondsBefore && candidate.secondsAfter)
    text += "; " + formatMicroseconds(*candidate.secondsBefore) + " before, " +
            formatMicroseconds(*candidate.secondsAfter) + " after on " +
            price->getTarget().name;
  if (candidate.gather && candidate.gather->contracts)
    text += "; the contraction is accumulated one shard at a time, which "
            "rounds in a different order";
  if (candidate.gather && !candidate.gather->pieces.empty())
    text += candidate.gather->contracts
                ? "; the rows of the other operand are reordered to match the "
                  "order of the shards"
                : "; the rows of the product are rearranged instead of those "
                  "of the gathered value";
  if (candidate.gather && candidate.gather->returnsGathered)
    text += "; the gathered value is also returned, for its other users";
  if (candidate.gather && hasBias)
    text += "; biases are added after the fused op";
  if (candidate.scatter && candidate.products.size() > 1)
    text += "; the operands of the summed products are concatenated into one "
            "product";
  return text;
}

void MicroPipelinePass::apply(Candidate &candidate) {
  // Skip formatting when no remark engine is attached.
  if (getContext().getRemarkEngine())
    remark::passed(candidate.collective->getLoc(), getRemark("fused"))
        << remark::add("fused with {0}", describe(candidate));
  ++(candidate.gather ? numGathers : numScatters);
  numProducts += candidate.products.size();
  candidate.draft->apply();
}

bool MicroPipelinePass::applyRound() {
  refusals.clear();
  FusionContext context(getOperation());
  std::vector<Candidate> candidates = findCandidates(context);
  draftFusions(candidates);
  // Largest gain first: a product is fused with one collective only.
  std::vector<Candidate *> order;
  for (Candidate &candidate : candidates)
    order.push_back(&candidate);
  // Break ties by program order.
  llvm::sort(order, [](const Candidate *a, const Candidate *b) {
    return std::pair(-a->getGain(), a) < std::pair(-b->getGain(), b);
  });
  llvm::DenseMap<Operation *, Operation *> goesWith;
  // A fusion erases and moves ops that other candidates refer to. Candidates
  // that overlap with an applied one wait for the next round.
  llvm::SmallPtrSet<Operation *, 16> touched;
  // So do candidates that would be moved before a value that they use.
  llvm::SmallPtrSet<Operation *, 16> lateReaders;
  std::vector<Candidate *> chosen;
  bool isPutOff = false;
  for (Candidate *current : order) {
    Candidate &candidate = *current;
    std::string objection = findObjection(candidate);
    if (!objection.empty()) {
      refuse(candidate.collective, "not fused: " + objection);
      // Drop the draft now: its ops would count as extra users of their
      // operands.
      candidate.draft.reset();
      continue;
    }
    for (tp::MatmulOp product : candidate.products)
      if (Operation *other = goesWith.lookup(product))
        outbid[candidate.collective] = "not fused: " + getNodeName(product) +
                                       " is fused with " + getNodeName(other) +
                                       " instead";
    SmallVector<Operation *> footprint = candidate.draft->getFootprint();
    SmallVector<Operation *> late = candidate.draft->getLateReaders();
    auto isIn = [](const auto &set) {
      return [&](Operation *op) { return set.contains(op); };
    };
    if (llvm::any_of(footprint, isIn(touched)) ||
        llvm::any_of(footprint, isIn(lateReaders)) ||
        llvm::any_of(late, isIn(touched))) {
      isPutOff = true;
      candidate.draft.reset();
      continue;
    }
    touched.insert(footprint.begin(), footprint.end());
    lateReaders.insert(late.begin(), late.end());
    for (tp::MatmulOp product : candidate.products)
      goesWith[product] = candidate.collective;
    chosen.push_back(&candidate);
  }
  SmallVector<Operation *> replaced;
  for (Candidate *candidate : chosen) {
    // Report the products that the collective is not fused with now: the
    // collective no longer exists in the next round.
    Operation *collective = candidate->collective;
    if (auto refused = refusals.find(collective); refused != refusals.end())
      for (StringRef reason : refused->second)
        report(collective->getLoc(), reason);
    apply(*candidate);
    llvm::append_range(replaced, candidate->draft->replaced);
  }
  llvm::DenseSet<Operation *> erased;
  eraseReplaced(replaced, [&](Operation *op) { erased.insert(op); });
  // The next round may allocate an op at the address of an erased one.
  auto isErased = [&](const auto &entry) {
    return erased.contains(entry.first);
  };
  refusals.remove_if(isErased);
  outbid.remove_if(isErased);
  return isPutOff;
}

void MicroPipelinePass::runOnOperation() {
  func::FuncOp function = getOperation();
  if (policy != "always" && policy != "profitable" && policy != "upstream") {
    function.emitError("micro-pipeline: unknown policy '" + policy +
                       "'; expected always, profitable or upstream");
    return signalPassFailure();
  }
  if (!function.getBody().hasOneBlock())
    return;
  std::unique_ptr<PassPrices> prices;
  if (policy != "upstream") {
    llvm::Expected<std::unique_ptr<PassPrices>> loaded =
        PassPrices::load(targetName, function);
    if (!loaded) {
      function.emitError(llvm::toString(loaded.takeError()));
      return signalPassFailure();
    }
    prices = std::move(*loaded);
    price = &prices->getModel();
  }
  refusals.clear();
  outbid.clear();
  // Terminates: each round that postpones a candidate also fuses a collective.
  while (applyRound())
    ;
  price = nullptr;
  for (const auto &[op, reason] : outbid)
    report(op->getLoc(), reason);
  for (const auto &[op, reasons] : refusals)
    if (!outbid.contains(op))
      for (StringRef reason : reasons)
        report(op->getLoc(), reason);
}
