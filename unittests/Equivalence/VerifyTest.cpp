//===- VerifyTest.cpp - proofs from C++ -----------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Verify.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

TEST(VerifyTest, TellsHowFarItHasCome) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<func::FuncDialect, tp::TPDialect>();
  auto module = parseSourceString<ModuleOp>(
      R"mlir(func.func @main(%i: tensor<64xi64>) -> tensor<64xi64> {
               %0 = tp.map add(%i, %i) : (tensor<64xi64>, tensor<64xi64>) -> tensor<64xi64>
               return %0 : tensor<64xi64>
             })mlir",
      &context);
  // Equal, but not by its structure alone.
  auto other = parseSourceString<ModuleOp>(
      R"mlir(func.func @main(%i: tensor<64xi64>) -> tensor<64xi64> {
               %c = tp.constant 2 : i64 -> tensor<i64>
               %0 = tp.map mul(%i, %c) : (tensor<64xi64>, tensor<i64>) -> tensor<64xi64>
               return %0 : tensor<64xi64>
             })mlir",
      &context);
  ASSERT_TRUE(module && other);
  VerifyOptions options;
  std::vector<ProofProgress> reports;
  options.onProgress = [&](const ProofProgress &progress) {
    reports.push_back(progress);
  };
  auto result = verifyEquivalence(*module, *other, options);
  ASSERT_TRUE(bool(result));
  EXPECT_TRUE(result->isEquivalent());
  ASSERT_FALSE(reports.empty());
  EXPECT_TRUE(reports.back().isDone);
  EXPECT_GT(reports.back().numRounds, 0u);
  EXPECT_EQ(reports.back().numRounds, reports.back().numPlannedRounds);
}
