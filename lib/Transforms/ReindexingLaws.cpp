//===- ReindexingLaws.cpp - collectives amid reindexing ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ReindexingLaws.h"

#include "CollectiveSpelling.h"
#include "SharedViews.h"

#include "commute/Analysis/Collectives/ChainedCollectives.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/ReturnedMemory.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::ReindexedCollective;

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

namespace {

/// A concatenation of the shards of an all_gather in their order.
class Identity : public Finding {
public:
  Identity(tp::AllGatherOp gather, Value value)
      : gather(gather), value(value) {}

  Legal<std::unique_ptr<Draft>> draft() override;

  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return {{value.getLoc(), "identity",
             "removed: this concat reassembles the gathered tensor in its "
             "original order"}};
  }

private:
  tp::AllGatherOp gather;
  Value value;
};

class IdentityLaw : public Law {
public:
  explicit IdentityLaw(std::optional<analysis::ReturnedMemory> &returned)
      : returned(returned) {}

  StringRef getName() const override { return "identity"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::AllGatherOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    auto gather = cast<tp::AllGatherOp>(site);
    SmallVector<Value> values = analysis::findIdentities(gather);
    if (values.empty())
      findings.refuse(site, {});
    for (Value value : values)
      if (isCopyReturned(gather, value))
        findings.refuse(site, {.op = value.getDefiningOp(),
                               .code = analysis::RefusalCode::Output,
                               .reason = "it copies " + getNodeName(gather) +
                                         ", both are returned, and a caller "
                                         "may write into one of them"});
      else
        findings.add(site, std::make_unique<Identity>(gather, value));
  }

private:
  bool isCopyReturned(tp::AllGatherOp gather, Value value) {
    if (!returned)
      returned.emplace(*gather->getParentRegion());
    return returned->contains(value) && returned->contains(gather.getResult());
  }

  std::optional<analysis::ReturnedMemory> &returned;
};

class IdentityLaws : public LawGroup {
public:
  IdentityLaws() { add<IdentityLaw>(returned); }

  llvm::Error beginRound(func::FuncOp function) override {
    returned.reset();
    return llvm::Error::success();
  }

private:
  /// Computed if there is an identity.
  std::optional<analysis::ReturnedMemory> returned;
};

} // namespace

Legal<std::unique_ptr<Draft>> Identity::draft() {
  auto draft = std::make_unique<ReplacementDraft>(gather.getContext());
  Operation *concat = value.getDefiningOp();
  draft->position = concat;
  Value whole = gather.getResult();
  if (gather.getAsync())
    for (Operation *user : gather.getResult().getUsers())
      if (isa<tp::CompletionOpInterface>(user) && user->isBeforeInBlock(concat))
        whole = user->getResult(0);
  draft->values.emplace_back(value, whole);
  draft->replaced.push_back(concat);
  draft->counts.emplace_back("num-identities", 1);
  return std::unique_ptr<Draft>(std::move(draft));
}

//===----------------------------------------------------------------------===//
// Collectives along another dim
//===----------------------------------------------------------------------===//

namespace {

/// A collective that is, with the ops around it, one along another dim or over
/// another group.
class ReindexedFinding : public Finding {
public:
  ReindexedFinding(Operation *collective, ReindexedCollective found,
                   const SpellingWriter &spelling)
      : collective(collective), found(std::move(found)), spelling(spelling),
        location(collective->getLoc()),
        isGather(isa<tp::AllGatherOp>(collective)) {
    if (Operation *first = getFirstOfChain())
      firstOfChain = getNodeName(first);
  }

  Legal<std::unique_ptr<Draft>> draft() override;
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override;

private:
  /// The first collective of a chain; null if there is only one.
  Operation *getFirstOfChain() const;

  Operation *collective;
  ReindexedCollective found;
  const SpellingWriter &spelling;
  // For the remark: the draft erases the ops.
  Location location;
  bool isGather;
  std::string firstOfChain;
};

/// Notes how the collective was spelled, so that it can be spelled that way
/// again.
class ReindexedDraft : public ReplacementDraft {
public:
  ReindexedDraft(Operation *collective, const ReindexedCollective &found,
                 const SpellingWriter &spelling)
      : ReplacementDraft(collective->getContext()), found(found),
        spelling(spelling) {}

  void apply(RewriterBase &rewriter) override {
    // Record a spelling only for a single result, and before there are new ops
    // between the old ones.
    if (found.results.size() == 1)
      spelling.write(collective, found.ops, found.input);
    ReplacementDraft::apply(rewriter);
    // Erase the ops now: spellings note the ops that stay around them.
    for (Operation *op : llvm::reverse(found.ops))
      rewriter.eraseOp(op);
    replaced.clear();
  }

  /// The new one.
  Operation *collective = nullptr;

private:
  const ReindexedCollective &found;
  const SpellingWriter &spelling;
};

} // namespace

Operation *ReindexedFinding::getFirstOfChain() const {
  auto chained = llvm::find_if(found.ops, [&](Operation *op) {
    return op != collective && isa<tp::CollectiveOpInterface>(op);
  });
  return chained == found.ops.end() ? nullptr : *chained;
}

Legal<std::unique_ptr<Draft>> ReindexedFinding::draft() {
  auto draft = std::make_unique<ReindexedDraft>(collective, found, spelling);
  draft->position = collective;
  Value input = found.input;
  if (input.getType() != found.inputType)
    input = draft->ops.add<tp::ReshapeOp>(location, found.inputType, input);
  bool isAsync;
  Operation *op;
  if (auto gather = dyn_cast<tp::AllGatherOp>(collective)) {
    isAsync = gather.getAsync();
    op = draft->ops.add<tp::AllGatherOp>(location, found.resultType, input,
                                         found.axis, found.group, isAsync);
  } else {
    auto scatter = cast<tp::ReduceScatterOp>(collective);
    isAsync = scatter.getAsync();
    op = draft->ops.add<tp::ReduceScatterOp>(location, found.resultType,
                                             scatter.getReduction(), input,
                                             found.axis, found.group, isAsync);
  }
  draft->collective = op;
  Value value = op->getResult(0);
  if (isAsync &&
      !isa<tp::CollectiveOpInterface>(found.results.front().getDefiningOp())) {
    Operation *wait = *llvm::find_if(found.ops, [&](Operation *other) {
      auto completion = dyn_cast<tp::CompletionOpInterface>(other);
      return completion && completion.getBegun() == collective->getResult(0);
    });
    OpDraft tail(collective->getContext());
    value = tail.add<tp::WaitOp>(wait->getLoc(), value);
    draft->tails.emplace_back(std::move(tail), wait);
  }
  for (Value result : found.results) {
    auto type = cast<RankedTensorType>(result.getType());
    Value replacement = value;
    if (type.getShape() != found.resultType.getShape()) {
      // Users see the strides that were recorded.
      OpDraft tail(collective->getContext());
      replacement = tail.add<tp::ReshapeOp>(result.getLoc(), type, value);
      draft->tails.emplace_back(std::move(tail),
                                result.getDefiningOp()->getNextNode());
    }
    draft->values.emplace_back(result, replacement);
  }
  draft->replaced.assign(found.ops);
  if (Operation *source = found.input.getDefiningOp())
    draft->reliedOn.push_back(source);
  draft->counts.emplace_back(!firstOfChain.empty() ? "num-chains"
                             : isGather            ? "num-all-gathers"
                                                   : "num-reduce-scatters",
                             1);
  return std::unique_ptr<Draft>(std::move(draft));
}

SmallVector<LawRemark>
ReindexedFinding::describe(const Draft &draft, const Price &price,
                           const target::PriceModel *model) const {
  std::string kind = isGather ? "all_gather" : "reduce_scatter";
  std::string along = " along dim " + std::to_string(found.axis);
  if (firstOfChain.empty())
    return {{location, isGather ? "gather-axis" : "scatter-axis",
             "recognized as " + std::string(isGather ? "an " : "a ") + kind +
                 along + " (together with " +
                 std::to_string(found.ops.size() - 1) + " surrounding op" +
                 (found.ops.size() == 2 ? ")" : "s)")}};
  auto element = cast<RankedTensorType>(found.input.getType()).getElementType();
  return {{location, "chain",
           "merged with the preceding " + firstOfChain + " into one " + kind +
               along + " over group '" + found.group.getKey() + "'" +
               (!isGather && isa<FloatType>(element)
                    ? "; it sums over all ranks at once, which rounds "
                      "differently"
                    : "")}};
}

//===----------------------------------------------------------------------===//
// Laws
//===----------------------------------------------------------------------===//

namespace {

class ReindexingLaw : public Law {
protected:
  void add(Operation *site, Legal<ReindexedCollective> found,
           Findings &findings) {
    if (!found)
      return findings.refuse(site, std::move(found.getRefusal()));
    if (!spelling)
      spelling.emplace(site->getContext());
    findings.add(site, std::make_unique<ReindexedFinding>(
                           site, std::move(*found), *spelling));
  }

private:
  std::optional<SpellingWriter> spelling;
};

class AxisLaw : public ReindexingLaw {
public:
  StringRef getName() const override { return "axis"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::AllGatherOp, tp::ReduceScatterOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    if (auto gather = dyn_cast<tp::AllGatherOp>(site))
      add(site, analysis::findReindexedGather(gather), findings);
    else
      add(site, analysis::findReindexedScatter(cast<tp::ReduceScatterOp>(site)),
          findings);
  }
};

class AxisLaws : public LawGroup {
public:
  /// Collectives of the same value read equal views of it.
  void endRound(func::FuncOp function, RewriterBase &rewriter) override {
    for (Block &block : function.getBody())
      shareViews(block, rewriter);
  }
};

class ChainLaw : public ReindexingLaw {
public:
  StringRef getName() const override { return "chain"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::AllGatherOp, tp::ReduceScatterOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    if (!analysis::findCollectiveInFront(site))
      return findings.refuse(site, {});
    if (groups.empty())
      groups = analysis::getGroups(site->getParentOfType<ModuleOp>());
    if (auto gather = dyn_cast<tp::AllGatherOp>(site))
      add(site, analysis::findChainedGather(gather, groups), findings);
    else
      add(site,
          analysis::findChainedScatter(cast<tp::ReduceScatterOp>(site), groups),
          findings);
  }

private:
  /// Of the module; looked up when needed.
  SmallVector<tp::GroupAttr> groups;
};

} // namespace

std::unique_ptr<LawGroup> commute::makeIdentityLaws() {
  return std::make_unique<IdentityLaws>();
}

std::unique_ptr<LawGroup> commute::makeAxisLaws() {
  auto laws = std::make_unique<AxisLaws>();
  laws->add<AxisLaw>();
  return laws;
}

std::unique_ptr<LawGroup> commute::makeChainLaws() {
  auto laws = std::make_unique<LawGroup>();
  laws->add<ChainLaw>();
  return laws;
}
