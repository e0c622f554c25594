//===- ContiguousCollectives.cpp - dense inputs for collectives -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DenseOperandLaws.h"

#include "commute/Transforms/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace commute {
#define GEN_PASS_DEF_CONTIGUOUSCOLLECTIVES
#include "commute/Transforms/Passes.h.inc"
} // namespace commute

using namespace mlir;
using namespace commute;

namespace {

class ContiguousCollectivesPass
    : public commute::impl::ContiguousCollectivesBase<
          ContiguousCollectivesPass> {
public:
  using ContiguousCollectivesBase::ContiguousCollectivesBase;

private:
  bool allowsSeveralBlocks() const override { return true; }

  llvm::Error addLaws(LawSet &laws, const PassPrices *prices) override {
    laws.groups.push_back(upstreamRule ? makeUpstreamCopyLaws()
                                       : makeDenseOperandLaws());
    laws.strategy = makeUnpricedStrategy();
    return llvm::Error::success();
  }

  Statistic *findStatistic(StringRef name) override {
    return llvm::StringSwitch<Statistic *>(name)
        .Case("num-proven", &numProven)
        .Case("num-copies", &numCopies)
        .Case("num-shared", &numShared)
        .Case("num-made-dense", &numMadeDense)
        .Case("num-refused", &numRefused)
        .Default(nullptr);
  }
};

} // namespace
