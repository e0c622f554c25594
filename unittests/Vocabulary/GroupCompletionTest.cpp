//===- GroupCompletionTest.cpp - groups of the other ranks ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/GroupCompletion.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace commute::vocabulary;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Optional;

static std::optional<std::vector<GroupRanks>>
complete(const std::vector<GroupRanks> &groups, int64_t rank) {
  return completeGroups(groups, rank);
}

TEST(GroupCompletion, RowsAndColumnsOfAMesh) {
  EXPECT_THAT(complete({{{0, 1}}, {{0, 2}}}, 0),
              Optional(ElementsAre(GroupRanks{{0, 1}, {2, 3}},
                                   GroupRanks{{0, 2}, {1, 3}})));
  // The same mesh, of ranks that start at 4, seen from rank 5.
  EXPECT_THAT(complete({{{4, 5}}, {{5, 7}}}, 5),
              Optional(ElementsAre(GroupRanks{{4, 5}, {6, 7}},
                                   GroupRanks{{4, 6}, {5, 7}})));
}

TEST(GroupCompletion, GroupsAlongSeveralAxes) {
  EXPECT_THAT(complete({{{2, 3}}, {{0, 1, 2, 3}}}, 2),
              Optional(ElementsAre(GroupRanks{{0, 1}, {2, 3}},
                                   GroupRanks{{0, 1, 2, 3}})));
  // The first and the last of three axes together.
  EXPECT_THAT(
      complete({{{0, 1, 4, 5}}, {{0, 2}}}, 0),
      Optional(ElementsAre(GroupRanks{{0, 1, 4, 5}, {2, 3, 6, 7}},
                           GroupRanks{{0, 2}, {1, 3}, {4, 6}, {5, 7}})));
}

TEST(GroupCompletion, RanksThatNoGroupConnectsAreLeftOut) {
  // Ranks 1, 3, ... may run another program.
  EXPECT_THAT(complete({{{0, 2}}, {{0, 4}}}, 0),
              Optional(ElementsAre(GroupRanks{{0, 2}, {4, 6}},
                                   GroupRanks{{0, 4}, {2, 6}})));
}

TEST(GroupCompletion, StatedAxesAreKept) {
  EXPECT_THAT(complete({{{2, 3}, {0, 1}}, {{0, 2}}}, 0),
              Optional(ElementsAre(GroupRanks{{2, 3}, {0, 1}},
                                   GroupRanks{{0, 2}, {1, 3}})));
  // The ranks of a stated axis belong to the mesh.
  EXPECT_THAT(
      complete({{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, {{0, 2}}}, 0),
      Optional(ElementsAre(GroupRanks{{0, 1}, {2, 3}, {4, 5}, {6, 7}},
                           GroupRanks{{0, 2}, {1, 3}, {4, 6}, {5, 7}})));
  // Another order of ranks is stated.
  EXPECT_FALSE(complete({{{0, 1}, {2, 4}, {3, 5}}, {{0, 2}}}, 0));
}

TEST(GroupCompletion, OtherLayoutsAreUnknown) {
  // Groups that overlap in part.
  EXPECT_FALSE(complete({{{0, 1}}, {{0, 3}}}, 0));
  EXPECT_FALSE(complete({{{0, 1, 2}}, {{0, 2}}}, 0));
  // Not at equal distances.
  EXPECT_FALSE(complete({{{0, 1}}, {{0, 5, 7}}}, 0));
  // A pair that no mesh of pairs has.
  EXPECT_FALSE(complete({{{1, 2}}, {{1, 5}}}, 1));
  // Another order of members: nothing says that of the other groups.
  EXPECT_FALSE(complete({{{1, 0}}, {{0, 2}}}, 0));
  // The rank is in one of them only.
  EXPECT_FALSE(complete({{{0, 1}}, {{2, 3}}}, 0));
  // More ranks than a group may have.
  EXPECT_FALSE(complete({{{0, 1}}, {{0, 1 << 19}}, {{0, 1 << 20}}}, 0));
}

TEST(GroupCompletion, LacksGroups) {
  EXPECT_FALSE(lacksOtherGroups({{{0, 1}}}));
  EXPECT_FALSE(lacksOtherGroups({{{0, 1}}, {{1, 0}}}));
  EXPECT_FALSE(lacksOtherGroups({{{0, 1}, {2, 3}}, {{0, 1, 2, 3}}}));
  EXPECT_TRUE(lacksOtherGroups({{{0, 1}}, {{0, 1, 2, 3}}}));
  // Both are stated for several ranks.
  EXPECT_FALSE(lacksOtherGroups({{{0, 1}, {2, 3}}, {{0, 2}, {4, 6}}}));
}

TEST(GroupCompletion, CommonRank) {
  EXPECT_THAT(findCommonRank({{{2, 3}}, {{1, 3}}}), Optional(3));
  EXPECT_THAT(findCommonRank({{{0, 1}, {2, 3}}, {{1, 3}}}), Optional(1));
  EXPECT_FALSE(findCommonRank({{{0, 1}}, {{2, 3}}}));
}

TEST(GroupCompletion, PremiseNamesTheRankAndTheGroups) {
  std::vector<GroupRanks> stated = {{{0, 1}}, {{0, 1, 2, 3}}};
  std::string text = describeCompletion(stated, *completeGroups(stated, 0), 0);
  EXPECT_THAT(text, HasSubstr("the groups of rank 0 alone; its 4 ranks"));
  EXPECT_THAT(text, HasSubstr("0,1 is one of the groups 0,1/2,3"));
  EXPECT_THAT(text, testing::Not(HasSubstr("0,1,2,3 is one")));
}

/// The groups of any rank of any mesh, along any of its axes, are completed to
/// those of the mesh.
TEST(GroupCompletion, RandomMeshes) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> sizes(1 + random() % 4);
    int64_t numRanks = 1;
    for (int64_t &size : sizes)
      numRanks *= size = 1 + random() % 4;
    auto getCoordinate = [&](int64_t rank, size_t axis) {
      for (size_t inner = 0; inner < axis; ++inner)
        rank /= sizes[inner];
      return rank % sizes[axis];
    };
    int64_t rank = random() % numRanks;
    // Each axis, and axes that are chosen at random.
    std::vector<GroupRanks> all, own;
    for (size_t index = 0; index <= sizes.size(); ++index) {
      unsigned mask = index < sizes.size() ? 1u << index : random() % 16;
      std::map<std::vector<int64_t>, std::vector<int64_t>> members;
      for (int64_t other = 0; other < numRanks; ++other) {
        std::vector<int64_t> key;
        for (size_t axis = 0; axis < sizes.size(); ++axis)
          if (!(mask & 1u << axis))
            key.insert(key.begin(), getCoordinate(other, axis));
        members[key].push_back(other);
      }
      GroupRanks groups;
      for (auto &[key, ranks] : members) {
        if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
          own.push_back({ranks});
        groups.push_back(ranks);
      }
      std::sort(groups.begin(), groups.end());
      all.push_back(std::move(groups));
    }
    EXPECT_THAT(complete(own, rank), Optional(all)) << "round " << round;
  }
}
