//===- SequenceParallel.cpp - row-wise ops on shards ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionLaws.h"

#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Transforms/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace commute {
#define GEN_PASS_DEF_SEQUENCEPARALLEL
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class SequenceParallelPass
    : public commute::impl::SequenceParallelBase<SequenceParallelPass> {
public:
  using SequenceParallelBase::SequenceParallelBase;

private:
  StringRef getTargetName() const override { return targetName; }

  llvm::Error addLaws(LawSet &laws, const PassPrices *prices) override {
    bool isAlways = policy == Policy::Always;
    // Groups with the same members share their regions.
    SmallVector<tp::GroupAttr> groups;
    for (tp::GroupAttr group :
         analysis::getGroups(getOperation()->getParentOfType<ModuleOp>()))
      if (llvm::none_of(groups, [&](tp::GroupAttr known) {
            return known.hasSameMembers(group);
          }))
        groups.push_back(group);
    for (tp::GroupAttr group : groups)
      laws.groups.push_back(makeRegionLaws(
          group, {*prices, isAlways, pad, pipelined, exactRounding}));
    laws.strategy =
        isAlways ? makeAlwaysStrategy() : makeProfitableStrategy(/*margin=*/0);
    return llvm::Error::success();
  }

  Statistic *findStatistic(StringRef name) override {
    return llvm::StringSwitch<Statistic *>(name)
        .Case("num-reduce-scatters", &numScatters)
        .Case("num-local-ops", &numLocalOps)
        .Case("num-all-gathers", &numGathers)
        .Case("num-slices", &numSlices)
        .Case("num-reductions", &numReductions)
        .Case("num-refused", &numRefused)
        .Default(nullptr);
  }
};

} // namespace
