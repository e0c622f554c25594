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

  OwningOpRef<ModuleOp>
  lift(func::FuncOp function, IntegerRange range,
       llvm::function_ref<void(IntegerLifting &)> configure = nullptr) {
    IntegerLifting lifting(
        function,
        [&](BlockArgument) { return IntegerUnion(range.first, range.second); },
        getPeriods(function), leastFarthest);
    if (configure)
      configure(lifting);
    llvm::Expected<OwningOpRef<ModuleOp>> lifted = lifting.lift();
    unknown = lifting.getUnknown();
    sortsBack = lifting.hasSortedBack();
    if (lifted)
      return std::move(*lifted);
    ADD_FAILURE() << llvm::toString(lifted.takeError());
    return {};
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> source;
  std::optional<IntegerLifting::Unknown> unknown;
  bool sortsBack = false;
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

TEST_F(IntegerLiftingTest, AnIndexOfManyIntegersIsAnyRow) {
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
  SmallVector<int64_t> sizes;
  for (auto iota : analysis::getMain(*lifted).getOps<tp::IotaOp>())
    if (iota->hasAttr(rangeAttrName))
      sizes.push_back(getShape(iota.getResult())[0]);
  // The ranges of the inputs and of the index.
  EXPECT_EQ(sizes, (SmallVector<int64_t>{10, 1, 10, 1}));
}

TEST_F(IntegerLiftingTest, OrdersAreKeptOrOpened) {
  func::FuncOp function = parse(R"mlir(
    func.func @main(%x: tensor<6xf32>, %t: tensor<6xf32>) -> tensor<6xf32> {
      %v, %o = tp.sort %x dim 0 : tensor<6xf32> -> tensor<6xf32>, tensor<6xi64>
      %r = tp.take %t, %o dim 0 : (tensor<6xf32>, tensor<6xi64>) -> tensor<6xf32>
      return %r : tensor<6xf32>
    })mlir");
  auto sorts = [](ModuleOp module) {
    return !analysis::getMain(module).getOps<tp::SortOp>().empty();
  };
  OwningOpRef<ModuleOp> kept = lift(function, {0, 10});
  ASSERT_TRUE(kept);
  EXPECT_TRUE(sorts(*kept));
  EXPECT_FALSE(unknown);
  OwningOpRef<ModuleOp> opened =
      lift(function, {0, 10}, [](IntegerLifting &own) { own.openOrders(); });
  ASSERT_TRUE(opened);
  EXPECT_FALSE(sorts(*opened));
  ASSERT_TRUE(unknown);
  EXPECT_TRUE(unknown->isDrawn);
}

TEST_F(IntegerLiftingTest, RowsAreFollowedToWhereTheyAreSortedBack) {
  // The second program takes the rows at the order once more.
  for (StringRef places : {"%back", "%o"}) {
    func::FuncOp function = parse((R"mlir(
    func.func @main(%x: tensor<6xf32>, %t: tensor<6xf32>) -> tensor<6xf32> {
      %v, %o = tp.sort %x dim 0 : tensor<6xf32> -> tensor<6xf32>, tensor<6xi64>
      %r = tp.take %t, %o dim 0 : (tensor<6xf32>, tensor<6xi64>) -> tensor<6xf32>
      %e = tp.map exp(%r) : (tensor<6xf32>) -> tensor<6xf32>
      %zero = tp.constant 0 : i64 -> tensor<6xi64>
      %p = tp.iota 0 : i64 step 1 : i64 -> tensor<6xi64>
      %back = tp.scatter %zero, %o, %p dim 0
        : (tensor<6xi64>, tensor<6xi64>, tensor<6xi64>) -> tensor<6xi64>
      %u = tp.take %e, )mlir" + places +
                                   R"mlir( dim 0
        : (tensor<6xf32>, tensor<6xi64>) -> tensor<6xf32>
      return %u : tensor<6xf32>
    })mlir")
                                      .str());
    OwningOpRef<ModuleOp> lifted =
        lift(function, {0, 10}, [](IntegerLifting &own) {
          own.openOrders();
          own.followRows();
        });
    ASSERT_TRUE(lifted);
    EXPECT_EQ(sortsBack, places == "%back");
    // What is left is exp of the table: no order, no index.
    if (sortsBack) {
      auto &block = analysis::getMain(*lifted).getBody().front();
      EXPECT_EQ(llvm::range_size(block), 2u);
    }
  }
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
