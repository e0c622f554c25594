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

  void runOnOperation() final {
    SmallVector<Operation *> collectives;
    getOperation().walk([&](Operation *op) {
      if (isa<tp::AllGatherOp, tp::ReduceScatterOp>(op))
        collectives.push_back(op);
    });
    for (Operation *op : collectives) {
      // What comes out may be part of another spelling.
      while (op)
        op = isa<tp::AllGatherOp>(op)
                 ? normalize(cast<tp::AllGatherOp>(op))
                 : normalize(cast<tp::ReduceScatterOp>(op));
    }
  }

private:
  // The collective in its place, or null where there is nothing to do.
  Operation *normalize(tp::AllGatherOp gather);
  Operation *normalize(tp::ReduceScatterOp scatter);
  void removeIdentities(tp::AllGatherOp gather);
  void reportRefusal(Operation *op, const analysis::ReindexRefusal &refusal);

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }
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

Operation *NormalizeCollectivesPass::normalize(tp::AllGatherOp gather) {
  removeIdentities(gather);
  analysis::ReindexRefusal refusal;
  std::optional<ReindexedCollective> found =
      analysis::findReindexedGather(gather, refusal);
  if (!found) {
    reportRefusal(gather, refusal);
    return nullptr;
  }
  ++numGathers;
  remark::passed(gather.getLoc(), getRemark("gather-axis")) << remark::add(
      "is, with the {0} ops around it, an all_gather along dim {1}",
      found->ops.size() - 1, found->axis);
  OpBuilder builder(gather);
  Operation *made = tp::AllGatherOp::create(
      builder, gather.getLoc(), found->resultType,
      getInput(*found, builder, gather.getLoc()), found->axis,
      gather.getGroup(), gather.getAsync());
  replace(*found, made, gather.getAsync());
  return made;
}

Operation *NormalizeCollectivesPass::normalize(tp::ReduceScatterOp scatter) {
  analysis::ReindexRefusal refusal;
  std::optional<ReindexedCollective> found =
      analysis::findReindexedScatter(scatter, refusal);
  if (!found) {
    reportRefusal(scatter, refusal);
    return nullptr;
  }
  ++numScatters;
  remark::passed(scatter.getLoc(), getRemark("scatter-axis")) << remark::add(
      "is, with the {0} ops around it, a reduce_scatter along dim {1}",
      found->ops.size() - 1, found->axis);
  OpBuilder builder(scatter);
  Operation *made = tp::ReduceScatterOp::create(
      builder, scatter.getLoc(), found->resultType, scatter.getReduction(),
      getInput(*found, builder, scatter.getLoc()), found->axis,
      scatter.getGroup(), scatter.getAsync());
  replace(*found, made, scatter.getAsync());
  return made;
}
