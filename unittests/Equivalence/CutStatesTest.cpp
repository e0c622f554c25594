//===- CutStatesTest.cpp - what rounds held at a cut ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CutStates.h"

#include "RankValuesFixture.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {
class CutStatesTest : public RankValuesFixture {
protected:
  /// The state of one value, by the elements of each rank; of two rows if these
  /// are stored once.
  CutState make(const RankElements &ranks, Type type = {},
                bool isRepeated = false) {
    CutState state;
    state.add(Value(), EqualityPattern(makeValues(ranks, type, isRepeated),
                                       /*isConstant=*/false,
                                       /*isDiscrete=*/false));
    return state;
  }

  CutStates states;
};
} // namespace

TEST_F(CutStatesTest, OnlyWhatWasNotedAtThePointIsCovered) {
  EXPECT_FALSE(states.cover(3, make({{2, 3}})));
  states.note(3, make({{2, 3}}));
  EXPECT_TRUE(states.cover(3, make({{5, 9}})));
  EXPECT_FALSE(states.cover(4, make({{2, 3}})));
  EXPECT_FALSE(states.cover(3, make({{2, 3, 4}})));
}

TEST_F(CutStatesTest, UnknownsMayBecomeKnownOrEqual) {
  states.note(1, make({{2, 3, 4}}));
  EXPECT_TRUE(states.cover(1, make({{0, 0, 2}})));
  EXPECT_TRUE(states.cover(1, make({{2, 2, 3}})));
}

TEST_F(CutStatesTest, KnownElementsWereNotComparedAsUnknowns) {
  states.note(1, make({{0, 2, 3}}));
  states.note(1, make({{2, 0, 3}}));
  EXPECT_TRUE(states.cover(1, make({{0, 4, 5}})));
  EXPECT_TRUE(states.cover(1, make({{5, 0, 4}})));
  // No state had both.
  EXPECT_FALSE(states.cover(1, make({{2, 3, 4}})));
  states.note(1, make({{2, 3, 4}}));
  EXPECT_TRUE(states.cover(1, make({{2, 3, 4}})));
}

TEST_F(CutStatesTest, EqualElementsWereNotComparedAsDifferentOnes) {
  states.note(1, make({{2, 2, 3}}));
  EXPECT_FALSE(states.cover(1, make({{2, 3, 4}})));
  // Each two have been different now.
  states.note(1, make({{2, 3, 3}}));
  EXPECT_TRUE(states.cover(1, make({{2, 3, 4}})));
}

TEST_F(CutStatesTest, RanksAndTruthValuesCount) {
  states.note(1, make({{2}, {0}}));
  EXPECT_FALSE(states.cover(1, make({{0}, {2}})));
  // Equal tensors are stored once, and are states of their own.
  EXPECT_FALSE(states.cover(1, make({{0}, {0}})));
  states.note(1, make({{2}, {2}}));
  EXPECT_TRUE(states.cover(1, make({{0}, {0}})));
  EXPECT_TRUE(states.cover(1, make({{3}, {0}})));
  states.note(2, make({{1, 0}}, i1));
  EXPECT_FALSE(states.cover(2, make({{1, 1}}, i1)));
  EXPECT_TRUE(states.cover(2, make({{1, 0}}, i1)));
}

TEST_F(CutStatesTest, RepeatedElementsAreStoredOnceOrNot) {
  states.note(1, make({{2, 3}}, f32, /*isRepeated=*/true));
  EXPECT_TRUE(states.cover(1, make({{0, 3}}, f32, /*isRepeated=*/true)));
  states.note(2, make({{2, 3, 4, 5}}));
  EXPECT_TRUE(states.cover(2, make({{2, 3}}, f32, /*isRepeated=*/true)));
}

TEST_F(CutStatesTest, IntegersAreLeftOut) {
  states.note(1, make({{7}}, i64));
  EXPECT_TRUE(states.cover(1, make({{8}}, i64)));
}
