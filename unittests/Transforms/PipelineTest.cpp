//===- PipelineTest.cpp - all passes, and all of them again -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random programs go through the whole pipeline; are proven equivalent; and go
// through it once more, which must change nothing. COMMUTE_RANDOM_GRAPHS says
// how many, COMMUTE_RANDOM_SEED where they begin; `make fuzz` runs many.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "RandomGraph.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/PassDriver.h"

#include "mlir/IR/Iterators.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;

static LogicalResult runPipeline(ModuleOp module, Policy policy) {
  OwningOpRef<ModuleOp> original = module.clone();
  PassRun run;
  run.settings.policy = policy;
  return success(llvm::cantFail(runPasses(module, *original, run)).empty());
}

/// What nobody reads is no part of graphs that PyTorch exports, and would be
/// erased here and there, whenever a rewrite meets it.
static void eraseDeadOps(ModuleOp module) {
  module.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    bool returns = op->hasTrait<OpTrait::IsTerminator>();
    if (op->getBlock() && op->getNumRegions() == 0 && !returns &&
        op->use_empty())
      op->erase();
  });
}

static void checkRandomPrograms(Policy policy) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numGraphs = getNumber("COMMUTE_RANDOM_GRAPHS", 200);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  for (uint64_t seed = firstSeed; seed < firstSeed + numGraphs; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = test::makeRandomGraph(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(before);
    eraseDeadOps(*before);
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runPipeline(*after, policy)));
    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    // Read again, as from a file: every op has a place of its own.
    OwningOpRef<ModuleOp> written =
        parseSourceString<ModuleOp>(test::print(*after), &context);
    ASSERT_TRUE(written);
    EXPECT_TRUE(isFixedPoint(*written, [&](ModuleOp module) {
      return runPipeline(module, policy);
    }));
  }
}

TEST(Pipeline, RandomProgramsAreOptimizedOnce) {
  checkRandomPrograms(Policy::Profitable);
}

TEST(Pipeline, RandomProgramsAreRewrittenOnce) {
  checkRandomPrograms(Policy::Always);
}
