//===- DiscreteValuesTest.cpp - values made of integers ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DiscreteValues.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {
class DiscreteValuesTest : public testing::Test {
protected:
  DiscreteValuesTest() {
    context.loadDialect<tp::TPDialect, func::FuncDialect>();
    module = parseSourceString<ModuleOp>(R"mlir(
      func.func @main(%ids: tensor<4xi64>, %x: tensor<4xf32>)
          -> (tensor<4xf32>, tensor<4xf32>) {
        %n = tp.constant 7 : i64 -> tensor<i64>
        %a = tp.map less(%ids, %n) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
        %b = tp.map equal(%ids, %n) : (tensor<4xi64>, tensor<i64>) -> tensor<4xi1>
        %c = tp.map sin(%a) : (tensor<4xi1>) -> tensor<4xf32>
        %d = tp.map sin(%b) : (tensor<4xi1>) -> tensor<4xf32>
        %e = tp.map mul(%c, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
        return %e, %d : tensor<4xf32>, tensor<4xf32>
      })mlir",
                                         &context);
    function = *module->getOps<func::FuncOp>().begin();
    for (Operation &op : function.getBody().front())
      ops.push_back(&op);
  }

  /// Numbers for the values of ops 1 to 4 of both programs; those of others are
  /// all different.
  auto getNumbers(std::array<unsigned, 4> own) {
    return [this, own](unsigned, Value value) -> std::optional<unsigned> {
      for (unsigned i = 0; i < 4; ++i)
        if (value == ops[i + 1]->getResult(0))
          return own[i];
      return 100;
    };
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  SmallVector<Operation *> ops;
};
} // namespace

TEST_F(DiscreteValuesTest, EqualityMayHaveBeenChance) {
  DiscreteValues values(function, function);
  // Nothing was compared yet.
  EXPECT_FALSE(values.wereKeptApart({3, 3}, getNumbers({1, 2, 3, 4})));
  values.note(getNumbers({1, 1, 3, 3}));
  // The two conditions were equal before, and differ now.
  EXPECT_FALSE(values.wereKeptApart({3, 3}, getNumbers({1, 2, 3, 4})));
  EXPECT_TRUE(values.wereKeptApart({3, 3}, getNumbers({5, 5, 6, 6})));
}

TEST_F(DiscreteValuesTest, OneRoundThatKeptThemApartSuffices) {
  DiscreteValues values(function, function);
  values.note(getNumbers({1, 1, 3, 3}));
  values.note(getNumbers({1, 2, 3, 4}));
  EXPECT_TRUE(values.wereKeptApart({3, 3}, getNumbers({7, 8, 9, 10})));
  EXPECT_TRUE(values.wereKeptApart({3, 3}, getNumbers({7, 7, 9, 9})));
}

TEST_F(DiscreteValuesTest, OnlyValuesThatAreStillReadCount) {
  DiscreteValues values(function, function);
  values.note(getNumbers({1, 1, 3, 4}));
  // Op 3 is the last to read the first condition.
  EXPECT_FALSE(values.wereKeptApart({3, 3}, getNumbers({1, 2, 3, 4})));
  EXPECT_TRUE(values.wereKeptApart({4, 4}, getNumbers({1, 2, 3, 4})));
}

TEST_F(DiscreteValuesTest, FloatsMadeOfIntegersCount) {
  DiscreteValues values(function, function);
  values.note(getNumbers({1, 2, 3, 3}));
  EXPECT_FALSE(values.wereKeptApart({5, 5}, getNumbers({1, 2, 3, 4})));
}
