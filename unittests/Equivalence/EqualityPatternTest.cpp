//===- EqualityPatternTest.cpp ----------------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EqualityPattern.h"

#include "RankValuesFixture.h"

#include "gmock/gmock.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using testing::ElementsAre;

namespace {
class EqualityPatternTest : public RankValuesFixture {
protected:
  EqualityPattern getPattern(const RankElements &ranks, Type type = {},
                             bool isConstant = false, bool isDiscrete = false) {
    return EqualityPattern(makeValues(ranks, type), isConstant, isDiscrete);
  }
  static ContentHash hash(const EqualityPattern &pattern) {
    ContentHasher hasher;
    hasher.add(pattern, [](uint64_t number) { return number; });
    return hasher.finish();
  }
};
} // namespace

TEST_F(EqualityPatternTest, ContentIsElementsRanksAndType) {
  ContentHash content = hash(getPattern({{5, 6}, {6, 5}}));
  EXPECT_EQ(content, hash(getPattern({{5, 6}, {6, 5}})));
  EXPECT_NE(content, hash(getPattern({{5, 6}, {5, 6}})));
  EXPECT_NE(content, hash(getPattern({{5, 6}, {6, 7}})));
  EXPECT_NE(content, hash(getPattern({{5, 6}, {6, 5}}, i64)));
  EXPECT_NE(content, hash(getPattern({{5, 6}, {6, 5}}, f32, true)));
  EXPECT_NE(content, hash(getPattern({{5, 6}, {6, 5}}, f32, false, true)));
}

TEST_F(EqualityPatternTest, UnknownsAreNumbered) {
  EqualityPattern a = getPattern({{55, 66, 0}, {66, 66, 0}});
  std::vector<uint64_t> visited;
  a.renumber([&](uint64_t element) {
    visited.push_back(element);
    return element == 55 ? 2u : 3u;
  });
  EXPECT_THAT(visited, ElementsAre(55, 66, 66, 66));
  EXPECT_THAT(a.elements[0], ElementsAre(2, 3, 0));
  EXPECT_THAT(a.elements[1], ElementsAre(3, 3, 0));
}

TEST_F(EqualityPatternTest, IntegersAndConstantsStayWhatTheyAre) {
  auto fail = [](uint64_t element) {
    ADD_FAILURE() << "not an unknown";
    return element;
  };
  EqualityPattern integers = getPattern({{5}, {6}}, i64);
  integers.renumber(fail);
  EXPECT_THAT(integers.instantiate(1)[1]->elements, ElementsAre(6));
  EqualityPattern constant = getPattern({{7}, {7}}, f32, true);
  constant.renumber(fail);
  EXPECT_THAT(constant.instantiate(1)[0]->elements, ElementsAre(7));
}

TEST_F(EqualityPatternTest, InstancesHaveThePatternAndNothingElse) {
  EqualityPattern a = getPattern({{2, 3, 0}, {2, 3, 0}});
  EqualityPattern b = getPattern({{3, 0, 2}, {2, 3, 2}});
  RankValues first = a.instantiate(1), second = b.instantiate(1);
  uint64_t two = first[0]->elements[0], three = first[0]->elements[1];
  EXPECT_NE(two, three);
  EXPECT_EQ(first[0]->elements[2], 0u);
  // One number is one element in all values of a seed.
  EXPECT_THAT(second[0]->elements, ElementsAre(three, 0, two));
  EXPECT_THAT(second[1]->elements, ElementsAre(two, three, two));
  EXPECT_NE(two, a.instantiate(2)[0]->elements[0]);
  // Ranks with equal tensors share one.
  EXPECT_EQ(first[0], first[1]);
}

TEST_F(EqualityPatternTest, DimsOfEqualElementsAreStoredOnce) {
  EqualityPattern repeated = getPattern({{5, 5, 5}, {5, 5, 5}});
  RankValues values = repeated.instantiate(1);
  EXPECT_TRUE(values[0]->getDims()[0].isUniform);
  EXPECT_EQ(values[0]->elements.size(), 1u);
  EXPECT_EQ(values[0]->getSizes()[0], 3);
  // The sizes are still told apart.
  EXPECT_NE(hash(repeated), hash(getPattern({{5, 5}, {5, 5}})));
}

TEST_F(EqualityPatternTest, TruthIsKeptWhereItIsKnown) {
  EqualityPattern a = getPattern({{0, 1, 77}, {0, 1, 78}}, i1);
  RankValues values = a.instantiate(1);
  EXPECT_EQ(values[0]->elements[0], 0u);
  EXPECT_EQ(values[0]->elements[1], 1u);
  EXPECT_NE(values[0]->elements[2], 77u);
  EXPECT_NE(values[0]->elements[2], values[1]->elements[2]);
}

TEST_F(EqualityPatternTest, MemoryIsCountedWhileItIsHeld) {
  int64_t before = CountedBytes::getTotal();
  {
    EqualityPattern a = getPattern({{5, 6}, {6, 5}});
    std::vector<EqualityPattern> copies(2, a);
    EXPECT_GE(CountedBytes::getTotal(), before + int64_t(3) * 4 * 8);
  }
  EXPECT_EQ(CountedBytes::getTotal(), before);
}
