//===- RegionChoiceTest.cpp - the choice against exhaustive search --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionChoice.h"

#include "RandomGraph.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using analysis::RegionRole;

namespace {

/// The cost of a choice as the design states it, counted without a cut.
class CostOfChoice {
public:
  CostOfChoice(const analysis::ShardRegion &region,
               const target::PriceModel &price)
      : region(region), price(price) {
    for (auto [index, entry] : llvm::enumerate(region.ops))
      indexOf[entry.op] = index;
  }

  double get(unsigned sides) const {
    auto isLocal = [&](Operation *op) {
      auto found = indexOf.find(op);
      return found != indexOf.end() && (sides >> found->second & 1);
    };
    double seconds = 0;
    for (auto [index, entry] : llvm::enumerate(region.ops))
      seconds += getOpSeconds(entry, sides >> index & 1);
    for (auto [value, dim] : region.dims) {
      Operation *definition = value.getDefiningOp();
      bool isMadeLocal = definition && isLocal(definition);
      bool isReadWhole = false, isReadLocal = false;
      for (Operation *user : value.getUsers())
        (isLocal(user) ? isReadLocal : isReadWhole) = true;
      if (isMadeLocal && isReadWhole)
        seconds += getCommunication(tp::CommunicationKind::AllGather, value);
      if (!isMadeLocal && isReadLocal)
        seconds +=
            getCommunication(tp::CommunicationKind::ReduceScatter, value);
    }
    return seconds;
  }

private:
  double getCommunication(tp::CommunicationKind kind, Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    bool rearranges = false;
    for (unsigned dim = 0; dim < region.dims.lookup(value); ++dim)
      rearranges |= type.getDimSize(dim) != 1;
    return price.getCommunicationSeconds(
        kind, region.group, *price.getBytes(type),
        rearranges && kind != tp::CommunicationKind::AllReduce);
  }
  double getOpSeconds(const analysis::RegionOp &entry, bool isLocal) const {
    if (entry.role == RegionRole::Reduce)
      return getCommunication(isLocal ? tp::CommunicationKind::ReduceScatter
                                      : tp::CommunicationKind::AllReduce,
                              entry.op->getResult(0));
    auto rule = cast<tp::DimensionRuleOpInterface>(entry.op).getDimensionRule();
    return *price.getShardSeconds(entry.op, rule, entry.factor,
                                  isLocal ? region.group.getSize() : 1);
  }

  const analysis::ShardRegion &region;
  const target::PriceModel &price;
  DenseMap<Operation *, unsigned> indexOf;
};

} // namespace

TEST(RegionChoice, IsAsCheapAsExhaustiveSearch) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  // A machine on which small tensors are worth the trouble, so that choices
  // are mixed: latencies are gone, memory is slow.
  llvm::Expected<target::Target> target = target::loadTarget("h100x8");
  ASSERT_TRUE(bool(target));
  unsigned numMixed = 0, numRegions = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    std::mt19937_64 random(seed);
    test::RandomGraphOptions graphOptions;
    graphOptions.isOneRegion = true;
    graphOptions.maxOps = 14;
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(
        test::makeRandomGraph(random, graphOptions), &context);
    ASSERT_TRUE(module);
    target->kernelOverheadSeconds.value = 1e-6 * (1 + seed % 40);
    target::PriceModel price(*target, {});
    auto function = *module->getOps<func::FuncOp>().begin();
    llvm::Expected<analysis::PlacementAnalysis> placements =
        analysis::PlacementAnalysis::run(function);
    ASSERT_TRUE(bool(placements));
    llvm::Expected<analysis::SymbolicSizes> sizes =
        analysis::SymbolicSizes::resolve(*module);
    ASSERT_TRUE(bool(sizes));
    for (tp::GroupAttr group : analysis::getGroups(*module)) {
      analysis::ShardRegions regions = analysis::findShardRegions(
          function, group, *placements, *sizes, /*limits=*/{});
      for (const analysis::ShardRegion &region : regions.regions) {
        bool isPlain = llvm::all_of(region.ops, [](const auto &entry) {
          return entry.role == RegionRole::Reduce ||
                 (entry.role == RegionRole::RowLocal &&
                  !isa<tp::RegionMarkerOp>(entry.op));
        });
        if (!isPlain || region.ops.empty() || region.ops.size() > 12)
          continue;
        RegionChoice choice(region, price, /*isRankSpecific=*/false,
                            /*isPipelined=*/false,
                            /*prefersShards=*/false);
        choice.solve();
        CostOfChoice cost(region, price);
        double best = cost.get(0);
        for (unsigned sides = 1; sides < 1u << region.ops.size(); ++sides)
          best = std::min(best, cost.get(sides));
        unsigned chosen = 0;
        for (unsigned index = 0; index < region.ops.size(); ++index)
          chosen |= unsigned(choice.isLocal(index)) << index;
        ++numRegions;
        numMixed += chosen != 0;
        EXPECT_NEAR(cost.get(chosen), best, 1e-9) << "seed " << seed;
        EXPECT_NEAR(choice.getSecondsAfter(), best, 1e-9) << "seed " << seed;
        EXPECT_NEAR(choice.getSecondsBefore(), cost.get(0), 1e-9);
      }
    }
  }
  EXPECT_GT(numRegions, 200u);
  EXPECT_GT(numMixed, 20u);
}
