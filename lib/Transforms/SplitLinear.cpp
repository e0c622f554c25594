//===- SplitLinear.cpp - products of parts, and parts of products ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SplitLaws.h"

#include "commute/Transforms/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace commute {
#define GEN_PASS_DEF_SPLITLINEAR
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class SplitLinearPass : public commute::impl::SplitLinearBase<SplitLinearPass> {
public:
  using SplitLinearBase::SplitLinearBase;

private:
  StringRef getTargetName() const override { return targetName; }

  llvm::Error addLaws(LawSet &laws, const PassPrices *prices) override {
    laws.exactRounding = exactRounding;
    SplitState state(*prices, policy, margin);
    state.keepsCollectives = keepsCollectives;
    if (policy == Policy::Upstream) {
      laws.groups.push_back(makeUpstreamSplitLaws(
          std::move(state),
          {upstreamMaxParts, upstreamMinPartWidth, upstreamMaxWidth}));
      laws.strategy = makeUnpricedStrategy();
      return llvm::Error::success();
    }
    // Simplifications reorder sums, and do not always pay.
    if (!exactRounding)
      state.forms.push_back(SplitForm());
    SplitForm plain;
    plain.simplifies = false;
    state.forms.push_back(plain);
    laws.groups.push_back(makeSplitLaws(std::move(state)));
    laws.strategy = policy == Policy::Always ? makeAlwaysStrategy()
                                             : makeProfitableStrategy(margin);
    return llvm::Error::success();
  }

  Statistic *findStatistic(StringRef name) override {
    return llvm::StringSwitch<Statistic *>(name)
        .Case("num-rewritten", &numRewritten)
        .Case("num-products", &numProducts)
        .Case("num-refused", &numRefused)
        .Default(nullptr);
  }
};

} // namespace
