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
  /// Those of `collectives` that `search` finds to be others and that do not
  /// overlap; those that do are left in `rest`.
  std::vector<Finding> findAll(ArrayRef<Operation *> collectives, Search search,
                               SmallVectorImpl<Operation *> &rest,
                               Refusals &refusals);
  SmallVector<Operation *> getCollectives();
  /// Those with nothing but reindexing between them and another one.
  SmallVector<Operation *> getLinked();
  /// Finds the real dims of these, and of what comes out; false where they have
  /// them.
  bool findAxes(SmallVector<Operation *> collectives, bool saysRefusals);
  /// Once more where one collective may be about the ops of another.
  void settleLinked();
  /// Makes one collective of those that are chains over several groups; false
  /// where there are none (any more), and says what is in the way.
  bool joinChains(SmallVector<Operation *> collectives);
  /// Says what a collective is, in the order of the program.
  void report(const Finding &finding);
  /// Puts the collective in its place.
  Operation *apply(const Finding &finding);
  /// Takes away what puts a gathered value together again; false where nothing
  /// does.
  bool removeIdentities(tp::AllGatherOp gather);
  void reportRefusal(Operation *op, const analysis::ReindexRefusal &refusal);

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  /// The collectives that the pass made.
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

/// What goes into the collective, in the shape that it has there.
static Value getInput(const ReindexedCollective &found, OpBuilder &builder,
                      Location location) {
  if (found.input.getType() == found.inputType)
    return found.input;
  return tp::ReshapeOp::create(builder, location, found.inputType, found.input);
}

/// Puts the result of `collective`, the new one, in place of what `before` is
/// with the ops around it, and takes away what made that.
static void replace(const ReindexedCollective &found, Operation *before,
                    Operation *collective, bool isAsync) {
  // Several results have no one spelling to go back to.
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
    value = tp::WaitOp::create(builder, wait->getLoc(), value.getType(), value);
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

/// Erases reindexing ops that nobody reads, and those that only they needed.
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
        << remark::add("puts together again what the all_gather gathered: "
                       "taken away");
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
  // Ops that are taken away, and those that have to stay.
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
  // Those that a finding takes are erased with it.
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
        << remark::add("is, with the {0} ops around it, {1} {2} along dim {3}",
                       found.ops.size() - 1, isGather ? "an" : "a", kind,
                       found.axis);
    return;
  }
  auto element = cast<RankedTensorType>(found.input.getType()).getElementType();
  remark::passed(finding.op->getLoc(), getRemark("chain")) << remark::add(
      "is, with {0} in front of it, one {1} along dim {2} over "
      "group '{3}'{4}",
      analysis::getNodeName(*chained), kind, found.axis, found.group.getKey(),
      !isGather && isa<FloatType>(element)
          ? "; summed at once, which rounds in another way"
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
  // Most ops have no regions, and need no walk.
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
  // What was made of one may leave other ops to the next; few rounds do.
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
  // All are found before any is changed: asked for the order of ops, a block
  // numbers them anew after changes. What comes out may be part of another
  // spelling.
  while (!collectives.empty()) {
    SmallVector<Operation *> next;
    Refusals refusals;
    std::vector<Finding> findings =
        findAll(collectives, search, next, refusals);
    // In the order of the program, whatever becomes of them.
    auto finding = findings.begin();
    for (Operation *op : collectives) {
      if (finding != findings.end() && finding->op == op)
        report(*finding++);
      // What was made here has been reported on.
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
  // What was joined may be part of another chain.
  while (joinChains(std::move(collectives))) {
    collectives = getCollectives();
    isChanged = true;
  }
  // Then nothing has to be verified again.
  if (!isChanged)
    markAllAnalysesPreserved();
}
