//===- MicroPipelineTest.cpp - fused collectives in random programs -------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random programs go through sequence-parallel, which makes gathers and
// scatters beside products, and micro-pipeline; are proven equivalent on four
// ranks; and go through micro-pipeline once more, which must change nothing.
// COMMUTE_RANDOM_GRAPHS says how many, COMMUTE_RANDOM_SEED where they begin;
// `make fuzz` runs many.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "RandomGraph.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;

static LogicalResult runMicroPipeline(ModuleOp module, bool afterShards) {
  PassManager manager(module.getContext());
  if (afterShards) {
    SequenceParallelOptions shards;
    shards.policy = Policy::Always;
    manager.addNestedPass<func::FuncOp>(createSequenceParallel(shards));
  }
  MicroPipelineOptions options;
  options.policy = Policy::Always;
  manager.addNestedPass<func::FuncOp>(createMicroPipeline(options));
  return manager.run(module);
}

TEST(MicroPipeline, RandomProgramsStayEquivalent) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numGraphs = getNumber("COMMUTE_RANDOM_GRAPHS", 300);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  unsigned numGathers = 0, numScatters = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numGraphs; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = test::makeRandomGraph(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runMicroPipeline(*after, /*afterShards=*/true)));
    after->walk([&](tp::AllGatherMatmulOp) { ++numGathers; });
    after->walk([&](tp::MatmulReduceScatterOp) { ++numScatters; });

    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    EXPECT_TRUE(isFixedPoint(*after, [](ModuleOp module) {
      return runMicroPipeline(module, /*afterShards=*/false);
    }));
  }
  // The programs exercise what they are for, where there are many.
  if (numGraphs < 100)
    return;
  EXPECT_GT(numGathers * 10, numGraphs);
  EXPECT_GT(numScatters * 10, numGraphs);
}
