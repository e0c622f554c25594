//===- EqualityPatternTest.cpp ----------------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EqualityPattern.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using testing::ElementsAre;

namespace {
enum Readers { InFirst = 1, InSecond = 2, InBoth = 3 };

class EqualityPatternTest : public testing::Test {
protected:
  /// A value by the elements of each rank.
  LiveValue make(const std::vector<std::vector<uint64_t>> &ranks,
                 Readers readers, Type type = {}) {
    LiveValue value;
    for (const std::vector<uint64_t> &elements : ranks) {
      SampledDim dim = {samples.getFull(static_cast<int64_t>(elements.size()))};
      auto tensor = std::make_shared<FieldTensor>(dim, type ? type : f32);
      tensor->elements = elements;
      value.values.push_back(tensor);
    }
    value.isLiveInFirst = readers & InFirst;
    value.isLiveInSecond = readers & InSecond;
    return value;
  }
  EqualityPattern getPattern(const std::vector<LiveValue> &live) {
    return EqualityPattern(ArrayRef<LiveValue>(live));
  }

  MLIRContext context;
  IndexSamples samples;
  Type f32 = Float32Type::get(&context);
  Type i64 = IntegerType::get(&context, 64);
};
} // namespace

TEST_F(EqualityPatternTest, NamesOfUnknownsDoNotMatter) {
  EqualityPattern a = getPattern({make({{5, 6}, {6, 5}}, InBoth)});
  EXPECT_EQ(a.getKey(), getPattern({make({{8, 9}, {9, 8}}, InBoth)}).getKey());
  EXPECT_NE(a.getKey(), getPattern({make({{8, 9}, {8, 9}}, InBoth)}).getKey());
  EXPECT_NE(a.getKey(), getPattern({make({{8, 9}, {9, 7}}, InBoth)}).getKey());
  EXPECT_NE(a.getKey(), getPattern({make({{8, 0}, {0, 8}}, InBoth)}).getKey());
  EXPECT_NE(a.getKey(), getPattern({make({{8, 9}, {9, 8}}, InFirst)}).getKey());
}

TEST_F(EqualityPatternTest, EqualElementsOfTwoValuesMatter) {
  LiveValue whole = make({{5, 6}, {5, 6}}, InFirst);
  EqualityPattern shards = getPattern({whole, make({{5}, {6}}, InSecond)});
  EXPECT_NE(shards.getKey(),
            getPattern({whole, make({{6}, {5}}, InSecond)}).getKey());
  EXPECT_TRUE(shards.isClosed());
  // A sum that only one program has, or half of what the other one has.
  EXPECT_FALSE(getPattern({whole, make({{11}, {11}}, InSecond)}).isClosed());
  EXPECT_FALSE(getPattern({whole, make({{5}, {5}}, InSecond)}).isClosed());
  // Zero is known to everybody.
  EXPECT_TRUE(getPattern({make({{0}, {0}}, InSecond)}).isClosed());
}

TEST_F(EqualityPatternTest, IntegersAndConstantsStayWhatTheyAre) {
  LiveValue constant = make({{7}, {7}}, InFirst);
  constant.isConstant = true;
  EqualityPattern a = getPattern({make({{5}, {6}}, InFirst, i64), constant});
  EXPECT_TRUE(a.isClosed());
  EXPECT_NE(a.getKey(),
            getPattern({make({{8}, {9}}, InFirst, i64), constant}).getKey());
  std::vector<LiveValue> live = a.instantiate(1);
  EXPECT_THAT(live[0].values[0]->elements, ElementsAre(5));
  EXPECT_THAT(live[0].values[1]->elements, ElementsAre(6));
  EXPECT_THAT(live[1].values[0]->elements, ElementsAre(7));
  EXPECT_TRUE(live[1].isConstant);
}

TEST_F(EqualityPatternTest, InstancesHaveThePatternAndNothingElse) {
  EqualityPattern a = getPattern({make({{5, 6, 0}, {5, 6, 0}}, InFirst),
                                  make({{6, 0, 5}, {5, 6, 5}}, InSecond)});
  std::vector<LiveValue> live = a.instantiate(1);
  EXPECT_EQ(EqualityPattern(ArrayRef<LiveValue>(live)).getKey(), a.getKey());
  uint64_t first = live[0].values[0]->elements[0];
  EXPECT_NE(first, 5u);
  EXPECT_NE(first, a.instantiate(2)[0].values[0]->elements[0]);
  EXPECT_EQ(live[0].values[0]->elements[2], 0u);
  // Ranks with equal tensors share one.
  EXPECT_EQ(live[0].values[0], live[0].values[1]);
}

TEST_F(EqualityPatternTest, EqualValuesMerge) {
  Type f64 = Float64Type::get(&context);
  EqualityPattern a =
      getPattern({make({{5}, {6}}, InFirst), make({{6}, {5}}, InFirst),
                  make({{5}, {6}}, InSecond), make({{5}, {6}}, InSecond, f64)});
  EXPECT_THAT(a.getRepresentatives(), ElementsAre(0, 1, 0, 3));
  std::vector<LiveValue> merged = a.merge().instantiate(1);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_TRUE(merged[0].isLiveInFirst);
  EXPECT_TRUE(merged[0].isLiveInSecond);
  EXPECT_FALSE(merged[1].isLiveInSecond);
}

TEST_F(EqualityPatternTest, DimsOfEqualElementsAreStoredOnce) {
  LiveValue repeated = make({{5, 5, 5}, {5, 5, 5}}, InFirst);
  std::vector<LiveValue> live = getPattern({repeated}).instantiate(1);
  EXPECT_TRUE(live[0].values[0]->getDims()[0].isUniform);
  EXPECT_EQ(live[0].values[0]->elements.size(), 1u);
  EXPECT_EQ(live[0].values[0]->getSizes()[0], 3);
  // The sizes are still told apart.
  EXPECT_NE(getPattern({repeated}).getKey(),
            getPattern({make({{5, 5}, {5, 5}}, InFirst)}).getKey());
}

TEST_F(EqualityPatternTest, TruthIsKeptWhereItIsKnown) {
  Type i1 = IntegerType::get(&context, 1);
  EqualityPattern a = getPattern({make({{0, 1, 77}, {0, 1, 78}}, InBoth, i1)});
  std::vector<LiveValue> live = a.instantiate(1);
  ArrayRef<uint64_t> elements = live[0].values[0]->elements;
  EXPECT_EQ(elements[0], 0u);
  EXPECT_EQ(elements[1], 1u);
  EXPECT_NE(elements[2], 77u);
  EXPECT_NE(elements[2], live[0].values[1]->elements[2]);
  // Unknown truth is an unknown like any other, known truth is not.
  EXPECT_EQ(a.getKey(),
            getPattern({make({{0, 1, 8}, {0, 1, 9}}, InBoth, i1)}).getKey());
  EXPECT_NE(a.getKey(),
            getPattern({make({{1, 1, 8}, {0, 1, 9}}, InBoth, i1)}).getKey());
}
