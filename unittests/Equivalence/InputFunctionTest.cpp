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

TEST(InputFunctionTest, HasExceptions) {
  // Labels of -1 are read at 0, and those of 7 to 9 at 20.
  InputFunction function = InputFunction{0}
                               .except({-1, 0}, 0)
                               .except({7, 10}, 10)
                               .plus(3)
                               ->times(2)
                               .value();
  EXPECT_EQ(function.evaluate(-1), 6);
  EXPECT_EQ(function.evaluate(0), 6);
  EXPECT_EQ(function.evaluate(8), 26);
  EXPECT_EQ(function.evaluate(10), 26);
  EXPECT_FALSE(function.isShift());
}

TEST(InputFunctionTest, FindsPreimages) {
  InputFunction functions[] = {
      InputFunction{0}, *InputFunction{0}.times(3)->plus(-4)->dividedBy(5),
      InputFunction{0}.except({-1, 0}, 0),
      InputFunction{0}.except({-5, 3}, 100).except({2, 6}, 4)};
  IntegerUnion sets[] = {{0, 5},
                         IntegerUnion(0, 5).unite({7, 9}),
                         IntegerUnion(0, 5).getComplement(),
                         IntegerUnion::getAll()};
  for (const InputFunction &function : functions)
    for (const IntegerUnion &set : sets) {
      IntegerUnion preimage = *function.getPreimage(set);
      for (int64_t x = -30; x <= 30; ++x)
        EXPECT_EQ(preimage.contains(x), set.contains(*function.evaluate(x)))
            << x;
    }
}
