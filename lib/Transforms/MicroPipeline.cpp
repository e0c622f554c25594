//===- MicroPipeline.cpp - collectives fused with products ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusionLaws.h"

#include "commute/Transforms/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace commute {
#define GEN_PASS_DEF_MICROPIPELINE
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class MicroPipelinePass
    : public commute::impl::MicroPipelineBase<MicroPipelinePass> {
public:
  using MicroPipelineBase::MicroPipelineBase;

private:
  StringRef getTargetName() const override {
    // Upstream's rule needs no prices.
    return policy == Policy::Upstream ? StringRef() : StringRef(targetName);
  }

  llvm::Error addLaws(LawSet &laws, const PassPrices *prices) override {
    laws.groups.push_back(makeFusionLaws(margin));
    switch (policy.getValue()) {
    case Policy::Profitable:
      laws.strategy = makeProfitableStrategy(margin);
      break;
    case Policy::Always:
      laws.strategy = makeAlwaysStrategy();
      break;
    case Policy::Upstream:
      laws.strategy = makeUpstreamFusionStrategy();
      break;
    }
    return llvm::Error::success();
  }

  Statistic *findStatistic(StringRef name) override {
    return llvm::StringSwitch<Statistic *>(name)
        .Case("num-all-gathers", &numGathers)
        .Case("num-reduce-scatters", &numScatters)
        .Case("num-products", &numProducts)
        .Case("num-refused", &numRefused)
        .Default(nullptr);
  }
};

} // namespace
