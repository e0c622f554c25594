//===- NormalizeCollectives.cpp - collectives on their real dim -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Passes.h"

#include "CollectiveSpelling.h"

#include "commute/Analysis/ReindexedCollectives.h"

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
  /// Those of `collectives` that are others and do not overlap; those that do
  /// are left in `rest`.
  std::vector<Finding> findAll(ArrayRef<Operation *> collectives,
                               SmallVectorImpl<Operation *> &rest);
  /// Puts the collective in its place.
  Operation *apply(const Finding &finding);
  void removeIdentities(tp::AllGatherOp gather);
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
  if (refusal.name.empty())
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

/// Puts the result of `collective`, the new one, in place of what it is, and
/// takes away what made that.
static void replace(const ReindexedCollective &found, Operation *collective,
                    bool isAsync) {
  // Several results have no one spelling to go back to.
  if (found.results.size() == 1)
    noteSpelling(collective, found.ops, found.input);
  Value value = collective->getResult(0);
  Operation *wait = nullptr;
  if (isAsync &&
      !isa<tp::CollectiveOpInterface>(found.results.front().getDefiningOp())) {
    wait = *llvm::find_if(found.ops, llvm::IsaPred<tp::WaitOp>);
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
    result.replaceAllUsesWith(replacement);
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

void NormalizeCollectivesPass::removeIdentities(tp::AllGatherOp gather) {
  SmallVector<Operation *> unread;
  for (Value value : analysis::findIdentities(gather)) {
    ++numIdentities;
    remark::passed(value.getLoc(), getRemark("identity"))
        << remark::add("puts together again what the all_gather gathered: "
                       "taken away");
    Value whole = gather.getResult();
    if (gather.getAsync())
      for (Operation *user : gather.getResult().getUsers())
        if (isa<tp::WaitOp>(user) &&
            user->isBeforeInBlock(value.getDefiningOp()))
          whole = user->getResult(0);
    value.replaceAllUsesWith(whole);
    unread.push_back(value.getDefiningOp());
  }
  eraseUnused(unread);
}

std::vector<NormalizeCollectivesPass::Finding>
NormalizeCollectivesPass::findAll(ArrayRef<Operation *> collectives,
                                  SmallVectorImpl<Operation *> &rest) {
  std::vector<Finding> findings;
  // Ops that are taken away, and those that have to stay.
  llvm::DenseSet<Operation *> taken, needed;
  for (Operation *op : collectives) {
    analysis::ReindexRefusal refusal;
    std::optional<ReindexedCollective> found;
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      found = analysis::findReindexedGather(gather, refusal);
    else
      found = analysis::findReindexedScatter(cast<tp::ReduceScatterOp>(op),
                                             refusal);
    if (!found) {
      // What was made here has been reported on.
      if (!made.contains(op))
        reportRefusal(op, refusal);
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
    // Here rather than where it is done, in the order of the program.
    bool isGather = isa<tp::AllGatherOp>(op);
    remark::passed(op->getLoc(),
                   getRemark(isGather ? "gather-axis" : "scatter-axis"))
        << remark::add("is, with the {0} ops around it, {1} along dim {2}",
                       found->ops.size() - 1,
                       isGather ? "an all_gather" : "a reduce_scatter",
                       found->axis);
    findings.push_back({op, std::move(*found)});
  }
  return findings;
}

Operation *NormalizeCollectivesPass::apply(const Finding &finding) {
  const ReindexedCollective &found = finding.collective;
  Location location = finding.op->getLoc();
  OpBuilder builder(finding.op);
  Value input = getInput(found, builder, location);
  if (auto gather = dyn_cast<tp::AllGatherOp>(finding.op)) {
    ++numGathers;
    bool isAsync = gather.getAsync();
    Operation *op =
        tp::AllGatherOp::create(builder, location, found.resultType, input,
                                found.axis, gather.getGroup(), isAsync);
    replace(found, op, isAsync);
    return op;
  }
  ++numScatters;
  auto scatter = cast<tp::ReduceScatterOp>(finding.op);
  bool isAsync = scatter.getAsync();
  Operation *op = tp::ReduceScatterOp::create(
      builder, location, found.resultType, scatter.getReduction(), input,
      found.axis, scatter.getGroup(), isAsync);
  replace(found, op, isAsync);
  return op;
}

void NormalizeCollectivesPass::runOnOperation() {
  made.clear();
  SmallVector<Operation *> collectives;
  getOperation().walk([&](Operation *op) {
    if (isa<tp::AllGatherOp, tp::ReduceScatterOp>(op))
      collectives.push_back(op);
  });
  for (Operation *op : collectives)
    if (auto gather = dyn_cast<tp::AllGatherOp>(op))
      removeIdentities(gather);
  // All are found before any is changed: asked for the order of ops, a block
  // numbers them anew after changes. What comes out may be part of another
  // spelling.
  while (!collectives.empty()) {
    SmallVector<Operation *> next;
    for (const Finding &finding : findAll(collectives, next)) {
      Operation *op = apply(finding);
      made.insert(op);
      next.push_back(op);
    }
    collectives = std::move(next);
  }
}
