//===- InputFunctionTest.cpp - functions of input elements ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PositionNumbers.h"

#include "gtest/gtest.h"

#include <limits>

using namespace commute::equivalence;

static int64_t divideFloor(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

TEST(InputFunctionTest, ComposesLikeTheOperations) {
  InputFunction element{3};
  // floor((floor((2 x + 6) / 4) - 5) / 3)
  InputFunction function =
      *element.plus(3)->times(2)->dividedBy(4)->plus(-5)->dividedBy(3);
  EXPECT_EQ(function.argument, 3u);
  EXPECT_FALSE(function.isShift());
  EXPECT_TRUE(element.plus(-7)->isShift());
  for (int64_t x = -50; x <= 50; ++x)
    EXPECT_EQ(function.evaluate(x),
              divideFloor(divideFloor(2 * (x + 3), 4) - 5, 3))
        << x;
}

TEST(InputFunctionTest, FindsTheLeastElement) {
  InputFunction function = *InputFunction{0}.times(3)->plus(-4)->dividedBy(5);
  for (int64_t least = -20; least <= 20; ++least) {
    int64_t x = *function.findLeast(least);
    EXPECT_GE(*function.evaluate(x), least);
    EXPECT_LT(*function.evaluate(x - 1), least);
  }
}

TEST(InputFunctionTest, HasNoFormForOtherFunctions) {
  InputFunction element{0};
  EXPECT_FALSE(element.times(0));
  EXPECT_FALSE(element.times(-1));
  EXPECT_FALSE(element.dividedBy(0));
  EXPECT_FALSE(element.dividedBy(-2));
  // A multiple of a quotient is not the quotient of a multiple.
  EXPECT_FALSE(element.dividedBy(2)->times(2));
}

TEST(InputFunctionTest, RefusesNumbersBeyond64Bits) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  InputFunction element{0};
  EXPECT_FALSE(element.plus(most)->plus(1));
  EXPECT_FALSE(element.times(most)->times(2));
  EXPECT_FALSE(element.times(2)->evaluate(most));
  EXPECT_FALSE(element.dividedBy(2)->findLeast(most));
}
