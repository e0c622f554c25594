//===- IndexSampleTest.cpp - the indices of a dim that are evaluated ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/IndexSample.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::equivalence;
using testing::ElementsAre;

namespace {

std::vector<int64_t> getIndices(const IndexSample *sample) {
  std::vector<int64_t> indices;
  for (int64_t position = 0; position < sample->getCount(); ++position)
    indices.push_back(sample->getIndex(position));
  return indices;
}

std::vector<int64_t> getWeights(const IndexSample *sample) {
  std::vector<int64_t> weights;
  for (int64_t position = 0; position < sample->getCount(); ++position)
    weights.push_back(sample->getWeight(position));
  return weights;
}

class IndexSampleTest : public testing::Test {
protected:
  IndexSamples samples;
};

} // namespace

TEST_F(IndexSampleTest, RunsEndAtTheirIndexAndCoverAll) {
  const IndexSample *sample = samples.getRuns(100, {0, 9, 10, 60});
  EXPECT_THAT(getIndices(sample), ElementsAre(0, 9, 10, 60, 99));
  EXPECT_THAT(getWeights(sample), ElementsAre(1, 9, 1, 50, 39));
  EXPECT_TRUE(sample->hasRuns());
  EXPECT_EQ(sample->find(60), 3);
  EXPECT_EQ(sample->find(61), std::nullopt);
  EXPECT_EQ(samples.getRuns(100, {0, 9, 10, 60, 99}), sample);
}

TEST_F(IndexSampleTest, AllIndicesAreTheFullSample) {
  EXPECT_EQ(samples.getRuns(3, {0, 1, 2}), samples.getFull(3));
  EXPECT_EQ(samples.getFull(0)->getCount(), 0);
}

TEST_F(IndexSampleTest, SlicesNeedCutsAtTheirEnds) {
  const IndexSample *sample = samples.getRuns(100, {0, 9, 19, 60});
  const IndexSample *slice = samples.getSlice(sample, 10, 1, 51);
  ASSERT_TRUE(slice);
  EXPECT_THAT(getIndices(slice), ElementsAre(9, 50));
  EXPECT_THAT(getWeights(slice), ElementsAre(10, 41));
  // Index 10 is in a run that begins in the slice, 11 in one that began before.
  EXPECT_FALSE(samples.getSlice(sample, 11, 1, 50));
  EXPECT_FALSE(samples.getSlice(sample, 10, 1, 50));
  EXPECT_EQ(samples.getSlice(samples.getFull(100), 11, 3, 7),
            samples.getFull(7));
}

TEST_F(IndexSampleTest, ConcatenationsJoinWhatSlicesCut) {
  const IndexSample *sample = samples.getRuns(100, {0, 9, 19, 60});
  const IndexSample *parts[] = {samples.getSlice(sample, 0, 1, 20),
                                samples.getSlice(sample, 20, 1, 80)};
  EXPECT_EQ(samples.getConcat(parts), sample);
}

TEST_F(IndexSampleTest, ProductsSplitIntoTheirFactors) {
  const IndexSample *major = samples.getRuns(10, {0, 4});
  const IndexSample *minor = samples.getRuns(7, {2});
  const IndexSample *product = samples.getProduct({major, minor});
  EXPECT_THAT(getIndices(product), ElementsAre(2, 6, 30, 34, 65, 69));
  EXPECT_THAT(getWeights(product), ElementsAre(3, 4, 12, 16, 15, 20));
  EXPECT_FALSE(product->hasRuns());
  auto split = samples.split(product, {10, 7});
  ASSERT_TRUE(split);
  EXPECT_THAT(*split, ElementsAre(major, minor));
  // Other dims of the same number of elements have no such samples.
  EXPECT_FALSE(samples.split(product, {7, 10}));
}

TEST_F(IndexSampleTest, StepsTakeAFactor) {
  const IndexSample *major = samples.getRuns(50, {0, 20});
  const IndexSample *whole = samples.getProduct({major, samples.getFull(2)});
  EXPECT_EQ(samples.getSlice(whole, 0, 2, 50), major);
  EXPECT_EQ(samples.getSlice(whole, 1, 2, 50), major);
  EXPECT_FALSE(samples.getSlice(samples.getRuns(100, {0, 40}), 0, 2, 50));
}
