//===- CollectiveModelTest.cpp - tests of collective models ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/Target.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::target;
using tp::CommunicationKind;

static constexpr CommunicationKind allKinds[] = {
    CommunicationKind::AllReduce, CommunicationKind::AllGather,
    CommunicationKind::ReduceScatter, CommunicationKind::AllToAll};

static CollectiveLine makeLine(int64_t groupSize, double latency,
                               double bandwidth) {
  return {groupSize, latency, bandwidth, {}, "test"};
}

TEST(CollectiveLineTest, IsALineWithoutPoints) {
  CollectiveLine line = makeLine(8, 1e-5, 1e9);
  EXPECT_DOUBLE_EQ(line.getSeconds(0), 1e-5);
  EXPECT_DOUBLE_EQ(line.getSeconds(1e6), 1e-5 + 1e-3);
}

TEST(CollectiveLineTest, InterpolatesLogarithmsBetweenPoints) {
  CollectiveLine line = makeLine(8, 1e-5, 1e9);
  line.points = {{1e4, 1e-5}, {1e6, 1e-3}, {1e8, 4e-3}};
  EXPECT_DOUBLE_EQ(line.getSeconds(1e4), 1e-5);
  // In the middle of the logarithms: the geometric mean.
  EXPECT_NEAR(line.getSeconds(1e5), 1e-4, 1e-12);
  EXPECT_NEAR(line.getSeconds(1e6), 1e-3, 1e-12);
  EXPECT_NEAR(line.getSeconds(1e7), 2e-3, 1e-12);
  EXPECT_DOUBLE_EQ(line.getSeconds(1e8), 4e-3);
}

TEST(CollectiveLineTest, LeavesThePointsAlongTheLine) {
  CollectiveLine line = makeLine(8, 1e-6, 1e9);
  line.points = {{1e4, 1.5e-5}, {1e6, 2e-3}};
  EXPECT_DOUBLE_EQ(line.getSeconds(1e3), 2e-6);
  // The line would be above the first point.
  line.latencySeconds = 1e-2;
  EXPECT_DOUBLE_EQ(line.getSeconds(1e3), 1.5e-5);
  EXPECT_DOUBLE_EQ(line.getSeconds(1e6 + 1e9), 2e-3 + 1);
}

TEST(CollectiveModelTest, NeverFallsAsBytesGrow) {
  for (const Target &target : getBuiltinTargets())
    for (CommunicationKind kind : allKinds)
      for (int64_t groupSize : {2, 3, 4, 6, 8, 16}) {
        double before = 0;
        for (double bytes = 1; bytes < 1e12; bytes *= 1.3) {
          double seconds =
              target.collectives.getSeconds(kind, groupSize, bytes);
          EXPECT_GE(seconds, before * (1 - 1e-12))
              << target.name << ' ' << getName(kind).str() << ' ' << groupSize
              << ' ' << bytes;
          before = seconds;
        }
      }
}

TEST(CollectiveModelTest, AGroupOfOneMovesNothing) {
  for (CommunicationKind kind : allKinds)
    EXPECT_EQ(getBuiltinTargets()[0].collectives.getSeconds(kind, 1, 1e9), 0);
}

TEST(CollectiveModelTest, InterpolatesBetweenGroupSizes) {
  CollectiveModel model;
  model.add(CommunicationKind::AllGather, makeLine(16, 4e-5, 1e15));
  model.add(CommunicationKind::AllGather, makeLine(4, 1e-5, 1e15));
  EXPECT_NEAR(model.getSeconds(CommunicationKind::AllGather, 4, 1), 1e-5,
              1e-14);
  EXPECT_NEAR(model.getSeconds(CommunicationKind::AllGather, 16, 1), 4e-5,
              1e-14);
  EXPECT_NEAR(model.getSeconds(CommunicationKind::AllGather, 8, 1), 2e-5,
              1e-14);
}

TEST(CollectiveModelTest, OutsideKeepsTheBytesOnTheWire) {
  CollectiveModel model;
  model.add(CommunicationKind::AllReduce, makeLine(4, 1e-5, 1e9));
  // 2 * 1/2 of the bytes on the wire instead of 2 * 3/4.
  EXPECT_NEAR(model.getSeconds(CommunicationKind::AllReduce, 2, 3e6),
              1e-5 + 2e-3, 1e-12);
  EXPECT_NEAR(model.getSeconds(CommunicationKind::AllReduce, 1 << 20, 3e6),
              1e-5 + 4e-3, 1e-8);
}

TEST(CollectiveModelTest, AllToAllIsPricedAsAllGatherWithoutLines) {
  CollectiveModel model;
  model.add(CommunicationKind::AllGather, makeLine(4, 1e-5, 1e9));
  EXPECT_DOUBLE_EQ(model.getSeconds(CommunicationKind::AllToAll, 4, 1e6),
                   model.getSeconds(CommunicationKind::AllGather, 4, 1e6));
  model.add(CommunicationKind::AllToAll, makeLine(4, 7, 1e9));
  EXPECT_GT(model.getSeconds(CommunicationKind::AllToAll, 4, 1e6), 7);
}

TEST(CollectiveModelTest, WireBytesAreThoseOfARing) {
  EXPECT_DOUBLE_EQ(getWireBytes(CommunicationKind::AllReduce, 4, 100), 150);
  EXPECT_DOUBLE_EQ(getWireBytes(CommunicationKind::AllGather, 4, 100), 75);
  EXPECT_DOUBLE_EQ(getWireBytes(CommunicationKind::ReduceScatter, 1, 100), 0);
}

// The measured difference of reduce-scatter + all-gather to all-reduce on 8
// H100 (docs/targets.md), on which sequence parallelism is decided.
TEST(CollectiveModelTest, SplittingAnAllReduceCostsWhatWasMeasuredOnH100) {
  const CollectiveModel &model = getBuiltinTargets()[0].collectives;
  constexpr double mib = 1024 * 1024;
  for (auto [mebibytes, extra] :
       {std::pair(4, 14), std::pair(8, 20), std::pair(16, 24),
        std::pair(32, 37), std::pair(64, 52), std::pair(256, 238)}) {
    double bytes = mebibytes * mib;
    double modelled =
        model.getSeconds(CommunicationKind::ReduceScatter, 8, bytes) +
        model.getSeconds(CommunicationKind::AllGather, 8, bytes) -
        model.getSeconds(CommunicationKind::AllReduce, 8, bytes);
    EXPECT_NEAR(modelled * 1e6, extra, 3) << mebibytes << " MiB";
  }
}
