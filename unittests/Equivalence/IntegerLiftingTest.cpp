//===- IntegerLiftingTest.cpp - programs on mixtures of integers ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IntegerLifting.h"

#include "commute/Analysis/MainFunction.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {
class IntegerLiftingTest : public testing::Test {
protected:
  IntegerLiftingTest() {
    context.loadDialect<tp::TPDialect, func::FuncDialect>();
  }

  func::FuncOp parse(StringRef body) {
    source = parseSourceString<ModuleOp>(body, &context);
    return analysis::getMain(*source);
  }

  OwningOpRef<ModuleOp> lift(func::FuncOp function, IntegerRange range) {
    IntegerLifting lifting(
        function, [&](BlockArgument) { return range; }, getPeriods(function),
        leastFarthest);
    llvm::Expected<OwningOpRef<ModuleOp>> lifted = lifting.lift();
    unknown = lifting.getUnknown();
    if (lifted)
      return std::move(*lifted);
    ADD_FAILURE() << llvm::toString(lifted.takeError());
    return {};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> source;
  std::optional<IntegerLifting::Unknown> unknown;
};
} // namespace

TEST_F(IntegerLiftingTest, NoIntegersAreLeftAtTheBorder) {
  func::FuncOp function = parse(R"mlir(
    func.func @main(%i: tensor<4xi64>, %c: tensor<4xi1>) -> (tensor<4xi64>, tensor<4xi1>) {
      %n = tp.constant 3 : i64 -> tensor<i64>
      %0 = tp.map less(%i, %n) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
      %1 = tp.map logical_and(%0, %c) : (tensor<4xi1>, tensor<4xi1>) -> tensor<4xi1>
      return %i, %1 : tensor<4xi64>, tensor<4xi1>
    })mlir");
  OwningOpRef<ModuleOp> lifted = lift(function, {0, 2});
  ASSERT_TRUE(lifted);
  FunctionType type = analysis::getMain(*lifted).getFunctionType();
  for (Type own : llvm::concat<const Type>(type.getInputs(), type.getResults()))
    EXPECT_TRUE(isa<FloatType>(cast<RankedTensorType>(own).getElementType()));
  EXPECT_FALSE(unknown);
}

TEST_F(IntegerLiftingTest, RangesHaveTheDimsOfPeriods) {
  func::FuncOp function = parse(R"mlir(
    func.func @main(%i: tensor<4xi64>) -> tensor<4xi64> {
      %n = tp.constant 12 : i64 -> tensor<i64>
      %m = tp.constant 8 : i64 -> tensor<i64>
      %0 = tp.map remainder(%i, %n) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
      %1 = tp.map floor_div(%i, %m) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi64>
      %2 = tp.map add(%0, %1) : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
      return %2 : tensor<4xi64>
    })mlir");
  EXPECT_EQ(getPeriods(function).lookup(function.getArgument(0)), 24);
  OwningOpRef<ModuleOp> lifted = lift(function, {-5, 100000});
  ASSERT_TRUE(lifted);
  SmallVector<int64_t> sizes;
  for (auto iota : analysis::getMain(*lifted).getOps<tp::IotaOp>())
    if (iota->hasAttr(rangeAttrName))
      sizes.push_back(getShape(iota.getResult())[0]);
  // 4168 periods of 24 contain the range.
  EXPECT_EQ(sizes, (SmallVector<int64_t>{4168, 24}));
}

TEST_F(IntegerLiftingTest, AnIndexOfManyIntegersIsUnknown) {
  func::FuncOp function = parse(R"mlir(
    func.func @main(%i: tensor<4xi64>, %t: tensor<10xf32>) -> tensor<f32> {
      %0 = tp.reduce max %i dims [0] : tensor<4xi64> -> tensor<i64>
      %1 = tp.take %t, %0 dim 0 : (tensor<10xf32>, tensor<i64>) -> tensor<f32>
      return %1 : tensor<f32>
    })mlir");
  OwningOpRef<ModuleOp> lifted = lift(function, {0, 10});
  ASSERT_TRUE(lifted);
  ASSERT_TRUE(unknown);
  EXPECT_TRUE(unknown->isDrawn);
  EXPECT_FALSE(analysis::getMain(*lifted).getOps<tp::CallOp>().empty());
}

TEST_F(IntegerLiftingTest, LargeConstantsExtendRanges) {
  func::FuncOp function = parse(R"mlir(
    func.func @main(%i: tensor<4xi64>) -> tensor<4xi1> {
      %n = tp.constant 1000000000000 : i64 -> tensor<i64>
      %0 = tp.map equal(%i, %n) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
      return %0 : tensor<4xi1>
    })mlir");
  EXPECT_EQ(getFarthest(function, function), int64_t(1) << 43);
  Type i64 = IntegerType::get(&context, 64), i8 = IntegerType::get(&context, 8);
  EXPECT_EQ(getDefaultRange(i64), IntegerRange(-leastFarthest, leastFarthest));
  EXPECT_EQ(getDefaultRange(i8), IntegerRange(-128, 128));
}
