//===- IntegerUnionTest.cpp - unions of intervals ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/IntegerUnion.h"

#include "gtest/gtest.h"

using namespace commute::equivalence;

/// The integers from -8 to 8 that `contains` holds for.
static unsigned getBits(llvm::function_ref<bool(int64_t)> contains) {
  unsigned bits = 0;
  for (int64_t number = -8; number <= 8; ++number)
    bits |= contains(number) << (number + 8);
  return bits;
}

TEST(IntegerUnionTest, ComputesLikeSets) {
  std::vector<IntegerUnion> sets = {{}, IntegerUnion::getAll()};
  for (int64_t a = -4; a < 4; ++a)
    for (int64_t b = a; b < 5; ++b) {
      sets.emplace_back(a, b);
      sets.push_back(IntegerUnion(a, b).unite({-7, -5}));
    }
  for (const IntegerUnion &a : sets)
    for (const IntegerUnion &b : sets) {
      auto isInA = [&](int64_t n) { return a.contains(n); };
      auto isInB = [&](int64_t n) { return b.contains(n); };
      EXPECT_EQ(getBits([&](int64_t n) { return a.unite(b).contains(n); }),
                getBits(isInA) | getBits(isInB));
      EXPECT_EQ(getBits([&](int64_t n) { return a.intersect(b).contains(n); }),
                getBits(isInA) & getBits(isInB));
      EXPECT_EQ(
          getBits([&](int64_t n) { return a.getComplement().contains(n); }),
          ~getBits(isInA) & 0x1ffff);
      EXPECT_EQ(a.getComplement().getComplement(), a);
    }
}

TEST(IntegerUnionTest, MergesIntervalsThatTouch) {
  IntegerUnion set = IntegerUnion(0, 3).unite({3, 5}).unite({7, 8});
  ASSERT_EQ(set.getIntervals().size(), 2u);
  EXPECT_EQ(set.getFirst(), 0);
  EXPECT_EQ(set.getEnd(), 8);
  EXPECT_TRUE(IntegerUnion(3, 3).isEmpty());
  EXPECT_TRUE(set.isBounded());
  EXPECT_FALSE(set.getComplement().isBounded());
}

TEST(IntegerUnionTest, ReadsWell) {
  EXPECT_EQ(IntegerUnion(0, 12).getText(), "in [0, 12)");
  EXPECT_EQ(IntegerUnion(0, 12).unite({-100, -99}).getText(),
            "in [0, 12) or -100");
  EXPECT_EQ(IntegerUnion(3, 4).unite({5, 6}).getText(), "3 or 5");
}
