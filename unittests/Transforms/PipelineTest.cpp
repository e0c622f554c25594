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
#include "commute/Transforms/Pipeline.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;

static LogicalResult runPipeline(ModuleOp module, StringRef policy) {
  PassManager manager(module.getContext());
  PassSettings settings;
  settings.policy = policy.str();
  llvm::cantFail(buildPipeline(manager, "", settings));
  return manager.run(module);
}

static void checkRandomPrograms(StringRef policy) {
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
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runPipeline(*after, policy)));
    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    EXPECT_TRUE(isFixedPoint(
        *after, [&](ModuleOp module) { return runPipeline(module, policy); }));
  }
}

TEST(Pipeline, RandomProgramsAreOptimizedOnce) {
  checkRandomPrograms("profitable");
}

TEST(Pipeline, RandomProgramsAreRewrittenOnce) {
  checkRandomPrograms("always");
}
