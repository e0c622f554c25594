//===- UpstreamCopyRule.cpp - AutoParallel's rule for dense inputs --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DenseOperandLaws.h"

#include "DenseOperandDraft.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;

namespace {

using Strides = std::unique_ptr<analysis::StrideAnalysis>;

class UpstreamCopyFinding : public Finding {
public:
  UpstreamCopyFinding(OpOperand &use, analysis::StrideAnalysis &strides)
      : use(use), strides(strides) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    return std::unique_ptr<Draft>(std::make_unique<DenseOperandDraft>(
        use, Remedy::InsertCopy, nullptr, strides));
  }
  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return {{use.getOwner()->getLoc(), "upstream-copy",
             "copied operand " + std::to_string(use.getOperandNumber()) +
                 " to dense memory without checking its strides"}};
  }

private:
  OpOperand &use;
  analysis::StrideAnalysis &strides;
};

/// Copies every input that is not itself a dense copy.
class UpstreamCopyLaw : public Law {
public:
  explicit UpstreamCopyLaw(Strides &strides) : strides(strides) {}

  StringRef getName() const override { return "upstream-copy"; }
  bool isSite(OperationName name) const override {
    return isNameOf<tp::AllGatherOp, tp::ReduceScatterOp>(name);
  }
  void find(Operation *site, Findings &findings) override {
    auto op = cast<tp::DenseOperandsOpInterface>(site);
    for (OpOperand &use : site->getOpOperands()) {
      if (!op.requiresDense(use))
        continue;
      auto copy = use.get().getDefiningOp<tp::CopyOp>();
      if (copy && !copy.getPreserveStrides())
        findings.tell(site, "num-proven",
                      {site->getLoc(), "upstream-dense",
                       "operand " + std::to_string(use.getOperandNumber()) +
                           " is a dense copy already"});
      else
        findings.add(site,
                     std::make_unique<UpstreamCopyFinding>(use, *strides));
    }
  }

private:
  Strides &strides;
};

class UpstreamCopyLaws : public LawGroup {
public:
  UpstreamCopyLaws() : LawGroup(Choice::SiteBySite) {
    createsSites = false;
    add<UpstreamCopyLaw>(strides);
  }

  llvm::Error beginRound(func::FuncOp function) override {
    strides = std::make_unique<analysis::StrideAnalysis>(function);
    return llvm::Error::success();
  }

private:
  Strides strides;
};

} // namespace

std::unique_ptr<LawGroup> commute::makeUpstreamCopyLaws() {
  return std::make_unique<UpstreamCopyLaws>();
}
