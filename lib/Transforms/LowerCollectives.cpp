//===- LowerCollectives.cpp - collectives along dim 0 -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveSpelling.h"
#include "FusedForms.h"
#include "OpDraft.h"
#include "ResultTypes.h"

#include "commute/Dialect/GroupSpelling.h"
#include "commute/Transforms/Passes.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace commute {
#define GEN_PASS_DEF_LOWERCOLLECTIVES
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class LowerCollectivesPass
    : public commute::impl::LowerCollectivesBase<LowerCollectivesPass> {
public:
  using LowerCollectivesBase::LowerCollectivesBase;

  void runOnOperation() final {
    takeApartUnspeakable();
    for (Block &block : getOperation().getBody())
      restoreSpellings(block);
    // Collect the collectives first: lowering also erases waits.
    for (Operation *op : getCollectives()) {
      if (auto gather = dyn_cast<tp::AllGatherOp>(op))
        lower(gather);
      else
        lower(cast<tp::ReduceScatterOp>(op));
    }
    eraseUnreadBlocks();
  }

private:
  /// Decomposes fused ops that PyTorch has no op for.
  void takeApartUnspeakable();
  SmallVector<Operation *> getCollectives() {
    SmallVector<Operation *> collectives;
    getOperation().walk([&](Operation *op) {
      if (isa<tp::AllGatherOp, tp::ReduceScatterOp>(op))
        collectives.push_back(op);
    });
    return collectives;
  }
  void restoreSpellings(Block &block);
  /// Erases rearrangements of blocks that are only used in their original
  /// order.
  void eraseUnreadBlocks();
  void report(Location location, StringRef name, const std::string &text) {
    if (!isTrial())
      remark::passed(location, remark::RemarkOpts::name(name)
                                   .category(getArgument())
                                   .function(getOperation().getName()))
          << remark::add("{0}", text);
  }
  void lower(tp::AllGatherOp gather);
  void lower(tp::ReduceScatterOp scatter);

  /// The origin of a value whose blocks were moved from dim 0 to another dim.
  struct MovedBlocks {
    Value onDim0;
    int64_t axis;
    int64_t count;
  };
  llvm::DenseMap<Value, MovedBlocks> movedBlocks;
};

} // namespace

/// Whether a reduce_scatter splits the blocks that an all_gather without a
/// recorded spelling concatenates. Along dim 0, neither has to move them.
static bool undoesGather(Operation *op) {
  auto scatter = dyn_cast<tp::ReduceScatterOp>(op);
  if (!scatter)
    return false;
  Operation *source = scatter.getInput().getDefiningOp();
  if (auto completion = dyn_cast_if_present<tp::CompletionOpInterface>(source))
    source = completion.getBegun().getDefiningOp();
  auto gather = dyn_cast_if_present<tp::AllGatherOp>(source);
  return gather && !hasSpelling(gather) &&
         gather.getGatherAxis() == scatter.getScatterAxis() &&
         gather.getGroup().getSize() == scatter.getGroup().getSize();
}

void LowerCollectivesPass::restoreSpellings(Block &block) {
  SpellingRestorer restorer(block);
  // Restore in reverse program order: later ops are placed relative to earlier
  // ones. A restored collective may itself have a spelling.
  SmallVector<Operation *> pending = getCollectives();
  while (!pending.empty()) {
    Operation *op = pending.pop_back_val();
    if (op->getBlock() != &block || undoesGather(op))
      continue;
    SmallVector<Operation *> restored = restorer.restore(op);
    numRestored += !restored.empty();
    llvm::append_range(pending, restored);
  }
}

/// Concatenates the `count` blocks of `dim` along `target`; the result has
/// sizes `moved`.
static Value moveBlocks(OpDraft &ops, Location location, Value value,
                        int64_t dim, int64_t target, int64_t count,
                        const tp::Sizes &moved) {
  tp::SymbolSpace &symbols = ops.getSymbols();
  if (std::optional<int64_t> size = tp::getConstant(moved[dim])) {
    SmallVector<Value> blocks;
    for (int64_t index = 0; index < count; ++index)
      blocks.push_back(ops.add<tp::SliceOp>(location, value, symbols, dim,
                                            index * *size, /*step=*/1, *size));
    return ops.add<tp::ConcatOp>(location, blocks, target);
  }
  // Split the blocks into a dim of their own and move it before the target.
  tp::Sizes split = ops.getSizes(value);
  split[dim] = moved[dim];
  split.insert(split.begin() + dim, count);
  SmallVector<int64_t> permutation =
      llvm::to_vector(llvm::seq<int64_t>(0, split.size()));
  permutation.erase(permutation.begin() + dim);
  int64_t place = target <= dim ? target : target + 1;
  permutation.insert(llvm::find(permutation, place), dim);
  value = ops.add<tp::ReshapeOp>(location, value, symbols, split);
  value = ops.add<tp::PermuteOp>(location, value, permutation);
  // Use an explicit copy: whether a reshape copies depends on the sizes.
  value = ops.add<tp::CopyOp>(location, value, /*preserve_strides=*/false);
  return ops.add<tp::ReshapeOp>(location, value, symbols, moved);
}

/// Whether all dims before `axis` have size 1, so that its blocks are
/// contiguous in memory, as along dim 0.
static bool isOutermost(const tp::Sizes &sizes, int64_t axis) {
  return llvm::all_of(
      ArrayRef(sizes).take_front(axis),
      [](const tp::Size &size) { return tp::isConstant(size, 1); });
}

/// Whether all users of an asynchronous collective are waits.
static bool isWaitedFor(Value result, bool isAsync) {
  return !isAsync || llvm::all_of(result.getUsers(), [](Operation *user) {
    return isa<tp::CompletionOpInterface>(user);
  });
}

/// Replaces the result of a collective with `value`, after a wait if the
/// collective is asynchronous.
template <typename Op>
static void replaceWaited(Op op, Value value,
                          llvm::function_ref<Value(Value)> finish) {
  if (!op.getAsync()) {
    replaceValue(op.getResult(), finish(value));
    op.erase();
    return;
  }
  SmallVector<Operation *> completions(op.getResult().getUsers());
  for (Operation *completion : completions) {
    OpBuilder builder(completion);
    Value waited = tp::WaitOp::create(builder, completion->getLoc(), value);
    replaceValue(completion->getResult(0), finish(waited));
    completion->erase();
  }
  op.erase();
}

void LowerCollectivesPass::takeApartUnspeakable() {
  getOperation().walk([&](Operation *op) {
    analysis::Legal<> form =
        checkFusedForm(op, op->getParentOfType<ModuleOp>());
    if (form)
      return;
    report(op->getLoc(), "apart", "decomposed: " + form.getRefusal().reason);
    if (auto fused = dyn_cast<tp::AllGatherMatmulOp>(op))
      takeApart(fused);
    else
      takeApart(cast<tp::MatmulReduceScatterOp>(op));
  });
}

void LowerCollectivesPass::eraseUnreadBlocks() {
  for (const auto &[moved, blocks] : movedBlocks) {
    SmallVector<Operation *> unread = {moved.getDefiningOp()};
    while (!unread.empty()) {
      Operation *op = unread.pop_back_val();
      if (!op->use_empty() || op == blocks.onDim0.getDefiningOp())
        continue;
      llvm::SetVector<Operation *> made;
      for (Value operand : op->getOperands())
        if (Operation *definition = operand.getDefiningOp())
          made.insert(definition);
      llvm::append_range(unread, made);
      op->erase();
    }
  }
  movedBlocks.clear();
}

void LowerCollectivesPass::lower(tp::AllGatherOp gather) {
  int64_t axis = gather.getGatherAxis();
  int64_t count = gather.getGroup().getSize();
  if (axis == 0 ||
      tp::getGroupSpelling(gather.getGroup(), gather).gathersAnyDim ||
      !isWaitedFor(gather.getResult(), gather.getAsync()))
    return;
  ++numLowered;
  Location location = gather.getLoc();
  OpDraft before(gather.getContext());
  Value shard = gather.getInput();
  tp::Sizes sizes = before.getSizes(shard);
  tp::Sizes whole = before.getSizes(gather.getResult());
  bool isView = isOutermost(sizes, axis);
  if (isView)
    shard = before.add<tp::ReshapeOp>(location, shard, before.getSymbols(),
                                      tp::Sizes(llvm::drop_begin(sizes, axis)));
  Value result = before.add<tp::AllGatherOp>(
      location, shard, /*gather_axis=*/0, gather.getGroup(), gather.getAsync());
  before.insertBefore(gather);
  std::string dim = std::to_string(axis);
  report(location, "dim-0",
         isView ? "lowered to an all_gather along dim 0 and a view: all dims "
                  "before dim " +
                      dim + " have size 1"
                : "lowered to an all_gather along dim 0, followed by a "
                  "rearrangement of its blocks along dim " +
                      dim);
  replaceWaited(gather, result, [&](Value value) -> Value {
    OpDraft after(before.getSymbols());
    Value moved =
        isView ? after.add<tp::ReshapeOp>(location, value, after.getSymbols(),
                                          whole)
               : moveBlocks(after, location, value, 0, axis, count, whole);
    after.insertAfter(value);
    if (!isView)
      movedBlocks[moved] = {value, axis, count};
    return moved;
  });
}

void LowerCollectivesPass::lower(tp::ReduceScatterOp scatter) {
  int64_t axis = scatter.getScatterAxis();
  int64_t count = scatter.getGroup().getSize();
  if (axis == 0 ||
      tp::getGroupSpelling(scatter.getGroup(), scatter).scattersAnyDim)
    return;
  Location location = scatter.getLoc();
  OpDraft before(scatter.getContext());
  Value input = scatter.getInput();
  tp::Sizes sizes = before.getSizes(input);
  tp::Sizes shard = before.getSizes(scatter.getResult());
  // A result that is used without a wait has to keep its shape.
  bool isView = isOutermost(sizes, axis) &&
                isWaitedFor(scatter.getResult(), scatter.getAsync());
  ++numLowered;
  tp::Sizes moved = shard;
  moved[0] = tp::multiply(shard[0], count);
  if (isView) {
    input = before.add<tp::ReshapeOp>(location, input, before.getSymbols(),
                                      tp::Sizes(llvm::drop_begin(sizes, axis)));
  } else if (auto known = movedBlocks.find(input);
             known != movedBlocks.end() && known->second.axis == axis &&
             known->second.count == count) {
    // A gathered value is scattered again: its blocks are along dim 0 already.
    input = known->second.onDim0;
  } else {
    input = moveBlocks(before, location, input, axis, 0, count, moved);
  }
  Value result = before.add<tp::ReduceScatterOp>(
      location, scatter.getReduction(), input, /*scatter_axis=*/0,
      scatter.getGroup(), scatter.getAsync());
  before.insertBefore(scatter);
  std::string dim = std::to_string(axis);
  report(location, "dim-0",
         isView ? "lowered to a view and a reduce_scatter along dim 0: all "
                  "dims before dim " +
                      dim + " have size 1"
                : "lowered to a rearrangement of the blocks of dim " + dim +
                      ", followed by a reduce_scatter along dim 0");
  if (!isView) {
    replaceValue(scatter.getResult(), result);
    scatter.erase();
    return;
  }
  replaceWaited(scatter, result, [&](Value value) -> Value {
    OpDraft after(before.getSymbols());
    Value whole =
        after.add<tp::ReshapeOp>(location, value, after.getSymbols(), shard);
    after.insertAfter(value);
    return whole;
  });
}
