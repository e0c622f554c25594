//===- NormalizeCollectives.cpp - collectives on their real dim -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ReindexingLaws.h"
#include "RepetitionLaw.h"

#include "commute/Transforms/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace commute {
#define GEN_PASS_DEF_NORMALIZECOLLECTIVES
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class NormalizeCollectivesPass
    : public commute::impl::NormalizeCollectivesBase<NormalizeCollectivesPass> {
public:
  using NormalizeCollectivesBase::NormalizeCollectivesBase;

private:
  bool allowsSeveralBlocks() const override { return true; }

  llvm::Error addLaws(LawSet &laws, const PassPrices *prices) override {
    laws.groups.push_back(makeIdentityLaws());
    laws.groups.push_back(makeAxisLaws());
    laws.groups.push_back(makeChainLaws());
    // Ones along different dims are different, and each can be fused.
    laws.groups.push_back(makeRepetitionLaw());
    laws.strategy = makeUnpricedStrategy();
    laws.reportsRefusals = !again;
    return llvm::Error::success();
  }

  Statistic *findStatistic(StringRef name) override {
    return llvm::StringSwitch<Statistic *>(name)
        .Case("num-all-gathers", &numGathers)
        .Case("num-reduce-scatters", &numScatters)
        .Case("num-chains", &numChains)
        .Case("num-identities", &numIdentities)
        .Case("num-repetitions", &numRepetitions)
        .Case("num-refused", &numRefused)
        .Default(nullptr);
  }
};

} // namespace
