//===- DenseOperandLaws.cpp - dense inputs for collectives ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DenseOperandLaws.h"

#include "DenseOperandDraft.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;

namespace {

/// What the laws know of a function.
struct DenseOperandState {
  std::unique_ptr<analysis::StrideAnalysis> strides;
  /// Whether some op writes into an operand.
  bool hasMutation = false;
};

/// What an operand needs.
struct Need {
  /// Nothing if the operand is dense already.
  std::optional<Remedy> remedy;
  /// The op to change, or the copy to reuse.
  Operation *source = nullptr;
  /// Why the operand is dense or may not be.
  std::string reason;
};

} // namespace

//===----------------------------------------------------------------------===//
// Legality
//===----------------------------------------------------------------------===//

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

/// A dense copy that the program makes before a use.
static Operation *findCopy(OpOperand &use) {
  for (Operation *user : use.get().getUsers()) {
    auto copy = dyn_cast<tp::CopyOp>(user);
    if (copy && !copy.getPreserveStrides() &&
        copy->getBlock() == use.getOwner()->getBlock() &&
        copy->isBeforeInBlock(use.getOwner()))
      return copy;
  }
  return nullptr;
}

/// Whether a value may be written between two uses, so that a copy made for
/// the first use would be stale at the second. Only opaque ops can do this.
static bool mayChange(Value value, const DenseOperandState &state) {
  return state.hasMutation &&
         (!value.getDefiningOp() || isa<tp::CallOp>(value.getDefiningOp()));
}

static Legal<Need> findNeed(OpOperand &use, const DenseOperandState &state) {
  Value value = use.get();
  analysis::LayoutFact layout = state.strides->getLayout(value);
  if (layout.density == tp::Density::Dense)
    return Need{std::nullopt, nullptr, layout.reason};
  // A copy is dense even if its sizes are unknown.
  if (auto copy = value.getDefiningOp<tp::CopyOp>();
      copy && !copy.getPreserveStrides())
    return Need{std::nullopt, nullptr, "it is the result of a dense copy"};
  auto op = cast<tp::DenseOperandsOpInterface>(use.getOwner());
  if (op.writesInto(use)) {
    if (std::optional<std::string> reader = findOtherReader(use))
      return Refusal{
          nullptr, RefusalCode::MemoryWrite,
          "operand " + std::to_string(use.getOperandNumber()) +
              " is not copied to dense memory: the op writes into it, and " +
              *reader + "; the operand may not be dense: " + layout.reason,
          "use the functional form of the collective"};
    // The op may overwrite a copy of its own, but not a copy with other users.
    return Need{Remedy::InsertCopy, nullptr, layout.reason};
  }
  if (!mayChange(value, state)) {
    if (Operation *copy = findCopy(use))
      return Need{Remedy::TakeCopy, copy, layout.reason};
    if (canWriteDense(value.getDefiningOp()))
      return Need{Remedy::WriteDense, value.getDefiningOp(), layout.reason};
  }
  return Need{Remedy::InsertCopy, nullptr, layout.reason};
}

//===----------------------------------------------------------------------===//
// The law
//===----------------------------------------------------------------------===//

namespace {

class DenseOperandFinding : public Finding {
public:
  DenseOperandFinding(OpOperand &use, const DenseOperandState &state)
      : use(use), state(state) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    // What was done for another operand of the op may serve this one.
    Legal<Need> found = findNeed(use, state);
    if (!found || !found->remedy)
      return Refusal();
    need = std::move(*found);
    return std::unique_ptr<Draft>(std::make_unique<DenseOperandDraft>(
        use, *need.remedy, need.source, *state.strides));
  }
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override;

private:
  OpOperand &use;
  const DenseOperandState &state;
  Need need;
};

class DenseOperandLaw : public Law {
public:
  explicit DenseOperandLaw(DenseOperandState &state) : state(state) {}

  StringRef getName() const override { return "dense-operand"; }
  bool isSite(OperationName name) const override {
    return name.hasInterface<tp::DenseOperandsOpInterface>();
  }
  void find(Operation *site, Findings &findings) override;

private:
  DenseOperandState &state;
};

class DenseOperandLaws : public LawGroup {
public:
  // The copy for one operand serves the next.
  DenseOperandLaws() : LawGroup(Choice::SiteBySite) {
    createsSites = false;
    add<DenseOperandLaw>(state);
  }

  llvm::Error beginRound(func::FuncOp function) override {
    state.strides = std::make_unique<analysis::StrideAnalysis>(function);
    state.hasMutation = false;
    function.walk([&](tp::DenseOperandsOpInterface op) {
      for (OpOperand &operand : op->getOpOperands())
        state.hasMutation |= op.writesInto(operand);
    });
    return llvm::Error::success();
  }

private:
  DenseOperandState state;
};

} // namespace

void DenseOperandLaw::find(Operation *site, Findings &findings) {
  auto op = cast<tp::DenseOperandsOpInterface>(site);
  for (OpOperand &use : site->getOpOperands()) {
    if (!op.requiresDense(use))
      continue;
    Legal<Need> need = findNeed(use, state);
    if (!need) {
      findings.refuse(site, std::move(need.getRefusal()));
    } else if (!need->remedy) {
      findings.tell(site, "num-proven",
                    {site->getLoc(), "dense",
                     "operand " + std::to_string(use.getOperandNumber()) +
                         " is dense: " + need->reason});
    } else {
      findings.add(site, std::make_unique<DenseOperandFinding>(use, state));
    }
  }
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

SmallVector<LawRemark>
DenseOperandFinding::describe(const Draft &draft, const Price &price,
                              const target::PriceModel *model) const {
  std::string operand = "operand " + std::to_string(use.getOperandNumber());
  Location location = use.getOwner()->getLoc();
  switch (*need.remedy) {
  case Remedy::WriteDense:
    return {{location, "write-dense",
             "changed the op that defines " + operand +
                 " to write dense memory: " + need.reason}};
  case Remedy::TakeCopy:
    return {{location, "shared-copy",
             operand + " reuses an existing dense copy: " + need.reason}};
  case Remedy::InsertCopy:
    return {{location, "copy",
             "copied " + operand + " to dense memory: " + need.reason}};
  }
  llvm_unreachable("a remedy that is not listed");
}

std::unique_ptr<LawGroup> commute::makeDenseOperandLaws() {
  return std::make_unique<DenseOperandLaws>();
}
