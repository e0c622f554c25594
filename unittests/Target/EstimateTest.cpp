//===- EstimateTest.cpp - tests of the two lanes --------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Estimate.h"

#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

namespace {
/// An elementwise op on 1000 f32 takes 8 s, or 12 s with two operands; a
/// collective 10 s and a reordering copy 8 s; nothing has overhead.
class EstimateTest : public testing::Test {
protected:
  EstimateTest() {
    context.loadDialect<tp::TPDialect, func::FuncDialect>();
    target.devices = {2, ""};
    target.memoryBytesPerSecond = {1e3, ""};
    target.memoryEfficiency = {1, ""};
    target.vectorFlopsPerSecond = {1e9, ""};
    target.matmulEfficiency.points = {{1, 1}};
    for (auto kind :
         {tp::CommunicationKind::AllReduce, tp::CommunicationKind::AllGather,
          tp::CommunicationKind::ReduceScatter})
      target.collectives.add(kind, {2, 10, 1e12, {}, ""});
  }
  /// Estimates a function of %a, tensor<1000xf32>, with this body; T stands for
  /// the type and G for a group of 2.
  Estimate run(std::string body) {
    auto replaceAll = [&](StringRef from, StringRef to) {
      for (size_t at = 0; (at = body.find(from, at)) != std::string::npos;
           at += to.size())
        body.replace(at, from.size(), to);
    };
    replaceAll("$T", "tensor<1000xf32>");
    replaceAll("$G", "group <\"0\", [0, 1]>");
    module = parseSourceString<ModuleOp>(
        "func.func @main(%a: tensor<1000xf32>) -> tensor<1000xf32> {" + body +
            "}",
        &context);
    auto function = module->lookupSymbol<func::FuncOp>("main");
    llvm::Expected<Estimate> result =
        estimate(function, PriceModel(target, {}));
    EXPECT_TRUE(bool(result));
    return result ? std::move(*result) : Estimate();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Target target;
};
} // namespace

TEST_F(EstimateTest, ACollectiveBehindWhatNeedsItIsExposed) {
  Estimate estimate = run(R"(
    %0 = tp.map neg(%a) : ($T) -> $T
    %1 = tp.all_reduce sum %0 $G : $T -> $T
    %2 = tp.map neg(%1) : ($T) -> $T
    return %2 : $T)");
  EXPECT_NEAR(estimate.stepSeconds, 26, 1e-6);
  EXPECT_NEAR(estimate.computeSeconds, 16, 1e-6);
  EXPECT_NEAR(estimate.communicationSeconds, 10, 1e-6);
  EXPECT_NEAR(estimate.exposedSeconds, 10, 1e-6);
}

TEST_F(EstimateTest, IndependentOpsHideIt) {
  Estimate estimate = run(R"(
    %0 = tp.map neg(%a) : ($T) -> $T
    %1 = tp.all_reduce sum %0 $G : $T -> $T
    %2 = tp.map neg(%0) : ($T) -> $T
    %3 = tp.map add(%1, %2) : ($T, $T) -> $T
    return %3 : $T)");
  // 8, then 10 beside 8, then 12.
  EXPECT_NEAR(estimate.stepSeconds, 30, 1e-6);
  EXPECT_NEAR(estimate.exposedSeconds, 2, 1e-6);
}

TEST_F(EstimateTest, CollectivesQueueOnOneLane) {
  Estimate estimate = run(R"(
    %1 = tp.all_reduce sum %a $G : $T -> $T
    %2 = tp.all_reduce sum %a $G : $T -> $T
    %3 = tp.map add(%1, %2) : ($T, $T) -> $T
    return %3 : $T)");
  EXPECT_NEAR(estimate.stepSeconds, 32, 1e-6);
}

TEST_F(EstimateTest, ViewsAndWaitsAreNoConsumers) {
  Estimate estimate = run(R"(
    %1 = tp.all_reduce sum %a $G async : $T -> $T
    %2 = tp.wait %1 : $T -> $T
    %3 = tp.reshape %2 : $T -> tensor<10x100xf32>
    %4 = tp.map neg(%a) : ($T) -> $T
    %5 = tp.reshape %3 : tensor<10x100xf32> -> $T
    %6 = tp.map add(%4, %5) : ($T, $T) -> $T
    return %6 : $T)");
  EXPECT_NEAR(estimate.stepSeconds, 22, 1e-6);
}

TEST_F(EstimateTest, TheStepEndsWithItsLastResult) {
  Estimate estimate = run(R"(
    %0 = tp.all_reduce sum %a $G : $T -> $T
    return %0 : $T)");
  EXPECT_NEAR(estimate.stepSeconds, 10, 1e-6);
  EXPECT_NEAR(estimate.exposedSeconds, 10, 1e-6);
}

TEST_F(EstimateTest, CopiesIntoOrderAreCompute) {
  // The copy after an all-gather is made when its result is needed.
  Estimate estimate = run(R"(
    %0 = tp.reshape %a : $T -> tensor<2x500xf32>
    %1 = tp.all_gather %0 gather_axis 1 $G : tensor<2x500xf32> -> tensor<2x1000xf32>
    %2 = tp.map neg(%a) : ($T) -> $T
    %3 = tp.map neg(%1) : (tensor<2x1000xf32>) -> tensor<2x1000xf32>
    return %2 : $T)");
  // 10 beside 8, then a copy of 16, then 16.
  EXPECT_NEAR(estimate.stepSeconds, 42, 1e-6);
  EXPECT_NEAR(estimate.computeSeconds, 40, 1e-6);
  ASSERT_EQ(estimate.events.size(), 4u);
  EXPECT_TRUE(estimate.events[2].isCopy);
  EXPECT_NEAR(estimate.events[2].startSeconds, 10, 1e-6);
}

TEST_F(EstimateTest, FusedOpsKeepBothLanes) {
  target.matmulFlopsPerSecond["f32"] = {1e12, ""};
  Estimate estimate = run(R"(
    %0 = tp.reshape %a : $T -> tensor<10x100xf32>
    %w = tp.constant 1.0 : f32 -> tensor<100x1xf32>
    %1 = tp.all_gather_matmul %0, rhs(%w) gather_axis 0 $G : (tensor<10x100xf32>, tensor<100x1xf32>) -> tensor<20x1xf32>
    %2 = tp.map neg(%a) : ($T) -> $T
    return %2 : $T)");
  const OpEstimate &fused = estimate.ops[1];
  EXPECT_TRUE(fused.price.overlaps());
  EXPECT_NEAR(estimate.stepSeconds, 0.4 + fused.price.getSeconds() + 8, 1e-6);
  EXPECT_NEAR(estimate.exposedSeconds,
              fused.price.getSeconds() - fused.price.computeSeconds, 1e-6);
}

TEST_F(EstimateTest, ActivationsLiveToTheirLastUse) {
  // %0 and %1, then %1 and %2, then %2 and %3.
  Estimate chain = run(R"(
    %0 = tp.map neg(%a) : ($T) -> $T
    %1 = tp.map neg(%0) : ($T) -> $T
    %2 = tp.map neg(%1) : ($T) -> $T
    %3 = tp.map neg(%2) : ($T) -> $T
    return %3 : $T)");
  EXPECT_EQ(chain.peakActivationBytes, 8000);
  EXPECT_EQ(chain.inputBytes, 4000);
  EXPECT_EQ(chain.weightBytes, 0);
  // %0 is kept for the end, by a view of it.
  Estimate kept = run(R"(
    %0 = tp.map neg(%a) : ($T) -> $T
    %v = tp.reshape %0 : $T -> tensor<10x100xf32>
    %1 = tp.map neg(%0) : ($T) -> $T
    %2 = tp.map neg(%1) : ($T) -> $T
    %w = tp.reshape %v : tensor<10x100xf32> -> $T
    %3 = tp.map add(%2, %w) : ($T, $T) -> $T
    return %3 : $T)");
  EXPECT_EQ(kept.peakActivationBytes, 12000);
}

TEST_F(EstimateTest, SizesWithoutValuesAreNamed) {
  module = parseSourceString<ModuleOp>(
      R"(func.func @main(%a: tensor<?x?xf32, #tp.layout<[s0, s1] sizes = [s0, s1]>>) { return })",
      &context);
  auto function = module->lookupSymbol<func::FuncOp>("main");
  llvm::Expected<Estimate> result =
      estimate(function, PriceModel(target, {{"s1", 4}}));
  ASSERT_FALSE(bool(result));
  EXPECT_EQ(llvm::toString(result.takeError()),
            "the value of size s0 is unknown");
}
