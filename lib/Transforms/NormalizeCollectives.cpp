//===- NormalizeCollectives.cpp - collectives on their real dim -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Passes.h"

#include "CollectiveSpelling.h"
#include "ResultTypes.h"

#include "commute/Analysis/ChainedCollectives.h"
#include "commute/Analysis/InputPlacements.h"
#include "commute/Analysis/NodeName.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace commute {
#define GEN_PASS_DEF_NORMALIZECOLLECTIVES
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;
using analysis::ReindexedCollective;

namespace {

class NormalizeCollectivesPass
    : public commute::impl::NormalizeCollectivesBase<NormalizeCollectivesPass> {
public:
  using NormalizeCollectivesBase::NormalizeCollectivesBase;

  void runOnOperation() final;

private:
  struct Finding {
    Operation *op;
    ReindexedCollective collective;
  };
  using Search = llvm::function_ref<std::optional<ReindexedCollective>(
      Operation *, analysis::ReindexRefusal &)>;
  using Refusals = llvm::MapVector<Operation *, analysis::ReindexRefusal>;
  /// The non-overlapping findings of `search` among `collectives`. Those that
  /// overlap an earlier finding are appended to `rest`.
  std::vector<Finding> findAll(ArrayRef<Operation *> collectives, Search search,
                               SmallVectorImpl<Operation *> &rest,
                               Refusals &refusals);
  SmallVector<Operation *> getCollectives();
  /// Collectives with only reindexing between them and another collective.
  SmallVector<Operation *> getLinked();
  /// Rewrites collectives to act along their actual dims, until nothing
  /// changes. Returns false if there was nothing to rewrite.
  bool findAxes(SmallVector<Operation *> collectives, bool saysRefusals);
  /// Runs `findAxes` again on collectives that may share ops.
  void settleLinked();
  /// Merges chains of collectives over several groups. Returns false, and
  /// reports the refusals, if there is nothing (more) to merge.
  bool joinChains(SmallVector<Operation *> collectives);
  /// Emits the remark for a rewritten collective.
  void report(const Finding &finding);
  /// Creates the new collective and replaces the old ops.
  Operation *apply(const Finding &finding);
  /// Removes concats that reassemble the gathered value in its original order.
  /// Returns false if there are none.
  bool removeIdentities(tp::AllGatherOp gather);
  void reportRefusal(Operation *op, const analysis::ReindexRefusal &refusal);

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  /// The collectives that the pass created.
  llvm::DenseSet<Operation *> made;
};

} // namespace

void NormalizeCollectivesPass::reportRefusal(
    Operation *op, const analysis::ReindexRefusal &refusal) {
  if (refusal.name.empty() || again)
    return;
  ++numRefused;
  remark::missed(op->getLoc(), getRemark(refusal.name))
      << remark::add("{0}", refusal.reason);
}

/// The operand of the new collective, reshaped if necessary.
static Value getInput(const ReindexedCollective &found, OpBuilder &builder,
                      Location location) {
  if (found.input.getType() == found.inputType)
    return found.input;
  return tp::ReshapeOp::create(builder, location, found.inputType, found.input);
}

/// Replaces `before` and the ops around it with the new `collective`, and
/// erases them.
static void replace(const ReindexedCollective &found, Operation *before,
                    Operation *collective, bool isAsync) {
  // Record a spelling only for a single result.
  if (found.results.size() == 1)
    noteSpelling(collective, found.ops, found.input);
  Value value = collective->getResult(0);
  Operation *wait = nullptr;
  if (isAsync &&
      !isa<tp::CollectiveOpInterface>(found.results.front().getDefiningOp())) {
    wait = *llvm::find_if(found.ops, [&](Operation *op) {
      auto completion = dyn_cast<tp::CompletionOpInterface>(op);
      return completion && completion.getBegun() == before->getResult(0);
    });
    OpBuilder builder(wait);
    value = tp::WaitOp::create(builder, wait->getLoc(), value);
  }
  for (Value result : found.results) {
    auto type = cast<RankedTensorType>(result.getType());
    Value replacement = value;
    if (type.getShape() != found.resultType.getShape()) {
      OpBuilder builder(result.getContext());
      builder.setInsertionPointAfterValue(result);
      replacement =
          tp::ReshapeOp::create(builder, result.getLoc(), type, value);
    }
    replaceValue(result, replacement);
  }
  for (Operation *op : llvm::reverse(found.ops))
    op->erase();
}

/// Erases unused reindexing ops and the ops that become unused with them.
static void eraseUnused(ArrayRef<Operation *> unread) {
  llvm::SetVector<Operation *> ops(unread.begin(), unread.end());
  for (size_t next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands())
      if (Operation *maker = operand.getDefiningOp();
          maker && analysis::isReindexing(maker) &&
          maker->getBlock() == ops[next]->getBlock())
        ops.insert(maker);
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return b->isBeforeInBlock(a); });
  for (Operation *unused : sorted)
    if (unused->use_empty())
      unused->erase();
}

bool NormalizeCollectivesPass::removeIdentities(tp::AllGatherOp gather) {
  SmallVector<Operation *> unread;
  for (Value value : analysis::findIdentities(gather)) {
    ++numIdentities;
    remark::passed(value.getLoc(), getRemark("identity"))
        << remark::add("removed: this concat reassembles the gathered tensor "
                       "in its original order");
    Value whole = gather.getResult();
    if (gather.getAsync())
      for (Operation *user : gather.getResult().getUsers())
        if (isa<tp::CompletionOpInterface>(user) &&
            user->isBeforeInBlock(value.getDefiningOp()))
          whole = user->getResult(0);
    replaceValue(value, whole);
    unread.push_back(value.getDefiningOp());
  }
  eraseUnused(unread);
  return !unread.empty();
}

std::vector<NormalizeCollectivesPass::Finding>
NormalizeCollectivesPass::findAll(ArrayRef<Operation *> collectives,
                                  Search search,
                                  SmallVectorImpl<Operation *> &rest,
                                  Refusals &refusals) {
  std::vector<Finding> findings;
  // Ops that findings erase, and ops that they use.
  llvm::DenseSet<Operation *> taken, needed;
  for (Operation *op : collectives) {
    analysis::ReindexRefusal refusal;
    std::optional<ReindexedCollective> found = search(op, refusal);
    if (!found) {
      refusals[op] = std::move(refusal);
      continue;
    }
    Operation *source = found->input.getDefiningOp();
    bool overlaps = (source && taken.contains(source)) ||
                    llvm::any_of(found->ops, [&](Operation *part) {
                      return taken.contains(part) || needed.contains(part);
                    });
    if (overlaps) {
      rest.push_back(op);
      continue;
    }
    taken.insert(found->ops.begin(), found->ops.end());
    if (source)
      needed.insert(source);
    findings.push_back({op, std::move(*found)});
  }
  // Collectives inside a finding are erased with it.
  llvm::erase_if(rest, [&](Operation *op) { return taken.contains(op); });
  return findings;
}

void NormalizeCollectivesPass::report(const Finding &finding) {
  const ReindexedCollective &found = finding.collective;
  bool isGather = isa<tp::AllGatherOp>(finding.op);
  StringRef kind = isGather ? "all_gather" : "reduce_scatter";
  auto chained = llvm::find_if(found.ops, [&](Operation *op) {
    return op != finding.op && isa<tp::CollectiveOpInterface>(op);
  });
  if (chained == found.ops.end()) {
    remark::passed(finding.op->getLoc(),
                   getRemark(isGather ? "gather-axis" : "scatter-axis"))
        << remark::add("recognized as {0} {1} along dim {2} (together with {3} "
                       "surrounding op{4})",
                       isGather ? "an" : "a", kind, found.axis,
                       found.ops.size() - 1, found.ops.size() == 2 ? "" : "s");
    return;
  }
  auto element = cast<RankedTensorType>(found.input.getType()).getElementType();
  remark::passed(finding.op->getLoc(), getRemark("chain")) << remark::add(
      "merged with the preceding {0} into one {1} along dim {2} over "
      "group '{3}'{4}",
      analysis::getNodeName(*chained), kind, found.axis, found.group.getKey(),
      !isGather && isa<FloatType>(element)
          ? "; it sums over all ranks at once, which rounds differently"
          : "");
}

Operation *NormalizeCollectivesPass::apply(const Finding &finding) {
  const ReindexedCollective &found = finding.collective;
  Location location = finding.op->getLoc();
  OpBuilder builder(finding.op);
  Value input = getInput(found, builder, location);
  if (auto gather = dyn_cast<tp::AllGatherOp>(finding.op)) {
    bool isAsync = gather.getAsync();
    Operation *op =
        tp::AllGatherOp::create(builder, location, found.resultType, input,
                                found.axis, found.group, isAsync);
    replace(found, gather, op, isAsync);
    return op;
  }
  auto scatter = cast<tp::ReduceScatterOp>(finding.op);
  bool isAsync = scatter.getAsync();
  Operation *op = tp::ReduceScatterOp::create(
      builder, location, found.resultType, scatter.getReduction(), input,
      found.axis, found.group, isAsync);
  replace(found, scatter, op, isAsync);
  return op;
}

SmallVector<Operation *> NormalizeCollectivesPass::getCollectives() {
  SmallVector<Operation *> collectives;
  auto add = [&](Operation *op) {
    if (isa<tp::AllGatherOp, tp::ReduceScatterOp>(op))
      collectives.push_back(op);
  };
  // Walk only ops with regions; most have none.
  for (Operation &op : getOperation().getBody().getOps())
    if (op.getNumRegions() == 0)
      add(&op);
    else
      op.walk(add);
  return collectives;
}

SmallVector<Operation *> NormalizeCollectivesPass::getLinked() {
  SmallVector<Operation *> collectives = getCollectives();
  llvm::SmallDenseSet<Operation *> linked;
  for (Operation *op : collectives)
    if (Operation *inFront = analysis::findCollectiveInFront(op)) {
      linked.insert(op);
      linked.insert(inFront);
    }
  llvm::erase_if(collectives,
                 [&](Operation *op) { return !linked.contains(op); });
  return collectives;
}

void NormalizeCollectivesPass::settleLinked() {
  // Rewriting one collective may enable another; a few rounds suffice.
  constexpr unsigned maxRounds = 8;
  for (unsigned round = 0; round < maxRounds; ++round)
    if (!findAxes(getLinked(), /*saysRefusals=*/false))
      return;
}

bool NormalizeCollectivesPass::findAxes(SmallVector<Operation *> collectives,
                                        bool saysRefusals) {
  bool isChanged = false;
  auto search = [](Operation *op, analysis::ReindexRefusal &refusal) {
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      return analysis::findReindexedGather(gather, refusal);
    return analysis::findReindexedScatter(cast<tp::ReduceScatterOp>(op),
                                          refusal);
  };
  // Find all collectives before changing any: querying the op order renumbers a
  // block after each change. A new collective may be part of another spelling.
  while (!collectives.empty()) {
    SmallVector<Operation *> next;
    Refusals refusals;
    std::vector<Finding> findings =
        findAll(collectives, search, next, refusals);
    // Report findings and refusals in program order.
    auto finding = findings.begin();
    for (Operation *op : collectives) {
      if (finding != findings.end() && finding->op == op)
        report(*finding++);
      // Collectives created here have been reported already.
      else if (auto refusal = refusals.find(op);
               refusal != refusals.end() && saysRefusals && !made.contains(op))
        reportRefusal(op, refusal->second);
    }
    for (const Finding &found : findings) {
      ++(isa<tp::AllGatherOp>(found.op) ? numGathers : numScatters);
      isChanged = true;
      Operation *op = apply(found);
      made.insert(op);
      next.push_back(op);
    }
    collectives = std::move(next);
  }
  return isChanged;
}

bool NormalizeCollectivesPass::joinChains(
    SmallVector<Operation *> collectives) {
  llvm::erase_if(collectives, [](Operation *op) {
    return !analysis::findCollectiveInFront(op);
  });
  if (collectives.empty())
    return false;
  SmallVector<tp::GroupAttr> groups =
      analysis::getGroups(getOperation()->getParentOfType<ModuleOp>());
  auto search = [&](Operation *op, analysis::ReindexRefusal &refusal) {
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      return analysis::findChainedGather(gather, groups, refusal);
    return analysis::findChainedScatter(cast<tp::ReduceScatterOp>(op), groups,
                                        refusal);
  };
  SmallVector<Operation *> rest, joined;
  Refusals refusals;
  std::vector<Finding> findings = findAll(collectives, search, rest, refusals);
  if (findings.empty()) {
    for (const auto &[op, refusal] : refusals)
      reportRefusal(op, refusal);
    return false;
  }
  for (const Finding &finding : findings) {
    ++numChains;
    report(finding);
    joined.push_back(apply(finding));
  }
  made.insert(joined.begin(), joined.end());
  findAxes(std::move(joined), /*saysRefusals=*/false);
  settleLinked();
  return true;
}

void NormalizeCollectivesPass::runOnOperation() {
  made.clear();
  SmallVector<Operation *> collectives = getCollectives();
  bool isChanged = false;
  for (Operation *op : collectives)
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      isChanged |= removeIdentities(gather);
  if (findAxes(collectives, /*saysRefusals=*/true)) {
    settleLinked();
    collectives = getCollectives();
    isChanged = true;
  }
  // A merged collective may be part of another chain.
  while (joinChains(std::move(collectives))) {
    collectives = getCollectives();
    isChanged = true;
  }
  // Avoids verifying an unchanged function again.
  if (!isChanged)
    markAllAnalysesPreserved();
}
