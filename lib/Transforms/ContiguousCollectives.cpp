//===- ContiguousCollectives.cpp - dense inputs for collectives -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/Passes.h"

#include "commute/Analysis/Sizes/StrideAnalysis.h"

#include "mlir/IR/Remarks.h"

namespace commute {
#define GEN_PASS_DEF_CONTIGUOUSCOLLECTIVES
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

/// How an input of a collective is made dense.
enum class Remedy {
  /// The input is dense already.
  None,
  /// Change the op that defines it, which has no other users, to write it
  /// dense.
  WriteDense,
  /// Reuse an existing dense copy.
  TakeCopy,
  /// Insert a copy.
  InsertCopy,
};

struct Plan {
  Remedy remedy;
  /// The op to change, or the copy to reuse.
  Operation *op = nullptr;
  /// Why the input is dense or may not be.
  std::string reason;
};

class ContiguousCollectivesPass
    : public commute::impl::ContiguousCollectivesBase<
          ContiguousCollectivesPass> {
public:
  using ContiguousCollectivesBase::ContiguousCollectivesBase;

  void runOnOperation() final {
    analysis::StrideAnalysis strides(getOperation());
    copies.clear();
    hasMutation = false;
    SmallVector<OpOperand *> uses;
    getOperation().walk([&](tp::DenseOperandsOpInterface op) {
      for (OpOperand &operand : op->getOpOperands()) {
        hasMutation |= op.writesInto(operand);
        if (op.requiresDense(operand))
          uses.push_back(&operand);
      }
    });
    for (OpOperand *use : uses) {
      if (upstreamRule)
        applyUpstreamRule(*use, strides);
      else
        legalize(*use, strides);
    }
  }

private:
  void legalize(OpOperand &use, analysis::StrideAnalysis &strides);
  void applyUpstreamRule(OpOperand &use, analysis::StrideAnalysis &strides);
  Plan plan(OpOperand &use, const analysis::StrideAnalysis &strides);
  Value insertCopy(OpOperand &use, analysis::StrideAnalysis &strides);

  remark::RemarkOpts getRemark(StringRef name) {
    return remark::RemarkOpts::name(name)
        .category(getArgument())
        .function(getOperation().getName());
  }

  /// Whether a value may be written between two uses, so that a copy made for
  /// the first use would be stale at the second. Only opaque ops can do this.
  bool mayChange(Value value) const {
    return hasMutation &&
           (!value.getDefiningOp() || isa<tp::CallOp>(value.getDefiningOp()));
  }

  /// The dense copies inserted so far, by the value they copy.
  DenseMap<Value, Value> copies;
  /// Whether some op writes into an operand.
  bool hasMutation = false;
};

} // namespace

/// Describes who else can observe what the owner of `use` writes into its
/// operand, through the operand or through memory that it shares; nullopt if
/// nobody can.
static std::optional<std::string> findOtherReader(OpOperand &use) {
  Value value = use.get();
  if (isa<BlockArgument>(value))
    return "the operand is a graph input";
  auto definition = dyn_cast<tp::StrideOpInterface>(value.getDefiningOp());
  if (!definition || definition.mayShareMemory())
    return "the operand may share memory with other values";
  for (OpOperand &other : value.getUses())
    if (other.getOwner() != use.getOwner())
      return "another op uses the operand";
  return std::nullopt;
}

/// Whether an op can be changed to write its result dense: it is a cast or
/// copy, and every user of the result requires a dense operand.
static bool canWriteDense(Operation *op) {
  bool hasFlag = isa_and_present<tp::CastOp>(op) ||
                 (isa_and_present<tp::CopyOp>(op) &&
                  cast<tp::CopyOp>(op).getPreserveStrides());
  if (!hasFlag)
    return false;
  return llvm::all_of(op->getResult(0).getUses(), [](OpOperand &use) {
    auto user = dyn_cast<tp::DenseOperandsOpInterface>(use.getOwner());
    return user && user.requiresDense(use) && !user.writesInto(use);
  });
}

Plan ContiguousCollectivesPass::plan(OpOperand &use,
                                     const analysis::StrideAnalysis &strides) {
  analysis::LayoutFact layout = strides.getLayout(use.get());
  if (layout.density == tp::Density::Dense)
    return {Remedy::None, nullptr, layout.reason};
  // A copy is dense even if its sizes are unknown.
  if (auto copy = use.get().getDefiningOp<tp::CopyOp>();
      copy && !copy.getPreserveStrides())
    return {Remedy::None, nullptr, "it is the result of a dense copy"};
  if (mayChange(use.get()))
    return {Remedy::InsertCopy, nullptr, layout.reason};
  if (Value copy = copies.lookup(use.get()))
    return {Remedy::TakeCopy, copy.getDefiningOp(), layout.reason};
  // Reuse a dense copy that the program makes before this use.
  for (Operation *user : use.get().getUsers()) {
    auto copy = dyn_cast<tp::CopyOp>(user);
    if (copy && !copy.getPreserveStrides() &&
        copy->getBlock() == use.getOwner()->getBlock() &&
        copy->isBeforeInBlock(use.getOwner()))
      return {Remedy::TakeCopy, copy, layout.reason};
  }
  if (canWriteDense(use.get().getDefiningOp()))
    return {Remedy::WriteDense, use.get().getDefiningOp(), layout.reason};
  return {Remedy::InsertCopy, nullptr, layout.reason};
}

Value ContiguousCollectivesPass::insertCopy(OpOperand &use,
                                            analysis::StrideAnalysis &strides) {
  Value value = use.get();
  OpBuilder builder(use.getOwner());
  auto copy = tp::CopyOp::create(builder, use.getOwner()->getLoc(), value,
                                 /*preserve_strides=*/false);
  strides.add(copy);
  return copy;
}

void ContiguousCollectivesPass::legalize(OpOperand &use,
                                         analysis::StrideAnalysis &strides) {
  auto op = cast<tp::DenseOperandsOpInterface>(use.getOwner());
  Plan plan = this->plan(use, strides);
  if (plan.remedy == Remedy::None) {
    ++numProven;
    remark::analysis(op.getLoc(), getRemark("dense")) << remark::add(
        "operand {0} is dense: {1}", use.getOperandNumber(), plan.reason);
    return;
  }
  if (op.writesInto(use)) {
    if (std::optional<std::string> reader = findOtherReader(use)) {
      ++numRefused;
      remark::missed(op.getLoc(), getRemark("in-place"))
          << remark::add("operand {0} is not copied to dense memory: the op "
                         "writes into it, and {1}; the operand may not be "
                         "dense: {2}",
                         use.getOperandNumber(), *reader, plan.reason)
          << remark::suggest("use the functional form of the collective");
      return;
    }
    // The op may overwrite a copy of its own, but not a copy with other users.
    plan.remedy = Remedy::InsertCopy;
  }
  switch (plan.remedy) {
  case Remedy::None:
    break;
  case Remedy::TakeCopy:
    ++numShared;
    use.set(plan.op->getResult(0));
    remark::passed(op.getLoc(), getRemark("shared-copy"))
        << remark::add("operand {0} reuses an existing dense copy: {1}",
                       use.getOperandNumber(), plan.reason);
    return;
  case Remedy::WriteDense: {
    ++numMadeDense;
    if (auto cast = dyn_cast<tp::CastOp>(plan.op))
      cast.setContiguous(true);
    else
      mlir::cast<tp::CopyOp>(plan.op).setPreserveStrides(false);
    const tp::StridedShape &shape = strides.getShape(use.get());
    use.get().setType(strides.getSymbols().getType(
        mlir::cast<RankedTensorType>(use.get().getType()).getElementType(),
        shape.sizes, tp::getContiguousStrides(shape.sizes)));
    strides.add(plan.op);
    remark::passed(op.getLoc(), getRemark("write-dense"))
        << remark::add("changed the op that defines operand {0} to write dense "
                       "memory: {1}",
                       use.getOperandNumber(), plan.reason);
    return;
  }
  case Remedy::InsertCopy: {
    ++numCopies;
    Value original = use.get();
    Value copy = insertCopy(use, strides);
    if (!op.writesInto(use))
      copies[original] = copy;
    use.set(copy);
    remark::passed(op.getLoc(), getRemark("copy"))
        << remark::add("copied operand {0} to dense memory: {1}",
                       use.getOperandNumber(), plan.reason);
    return;
  }
  }
}

void ContiguousCollectivesPass::applyUpstreamRule(
    OpOperand &use, analysis::StrideAnalysis &strides) {
  Operation *op = use.getOwner();
  if (!isa<tp::AllGatherOp, tp::ReduceScatterOp>(op))
    return;
  auto copy = use.get().getDefiningOp<tp::CopyOp>();
  if (copy && !copy.getPreserveStrides()) {
    ++numProven;
    return;
  }
  ++numCopies;
  use.set(insertCopy(use, strides));
  remark::passed(op->getLoc(), getRemark("upstream-copy")) << remark::add(
      "copied operand {0} to dense memory without checking its strides",
      use.getOperandNumber());
}
