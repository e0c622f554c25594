//===- AttributesTest.cpp - tests of groups and placements ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute::tp;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

class AttributesTest : public testing::Test {
protected:
  AttributesTest() { context.loadDialect<TPDialect>(); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
};

TEST_F(AttributesTest, PositionsFollowTheOrderOfMembers) {
  auto group = GroupAttr::get(&context, "0", {3, 1, 2});
  EXPECT_EQ(group.getSize(), 3);
  EXPECT_EQ(group.getNumGroups(), 1);
  EXPECT_EQ(group.getPosition(3), 0);
  EXPECT_EQ(group.getPosition(2), 2);
  EXPECT_EQ(group.getPosition(0), std::nullopt);
  EXPECT_THAT(group.getMembersAround(1), ElementsAre(3, 1, 2));
  EXPECT_THAT(group.getMembersAround(0), IsEmpty());
}

TEST_F(AttributesTest, EveryRankTakesItsGroupOfAnAxis) {
  auto axis = GroupAttr::get(&context, "tp", /*size=*/2, {0, 2, 1, 3});
  EXPECT_EQ(axis.getNumGroups(), 2);
  EXPECT_THAT(axis.getMembers(1), ElementsAre(1, 3));
  EXPECT_THAT(axis.getMembersAround(2), ElementsAre(0, 2));
  EXPECT_EQ(axis.getPosition(2), 1);
  EXPECT_EQ(axis.getPosition(1), 0);
}

TEST_F(AttributesTest, GroupsAreTheSameByTheirMembers) {
  auto group = GroupAttr::get(&context, "0", {0, 1, 2, 3});
  auto renamed = GroupAttr::get(&context, "world", {0, 1, 2, 3});
  auto reordered = GroupAttr::get(&context, "0", {1, 0, 2, 3});
  auto axis = GroupAttr::get(&context, "0", /*size=*/2, {0, 1, 2, 3});
  EXPECT_TRUE(group.hasSameMembers(renamed));
  EXPECT_NE(group, renamed);
  EXPECT_FALSE(group.hasSameMembers(reordered));
  EXPECT_FALSE(group.hasSameMembers(axis));
}

TEST_F(AttributesTest, UnknownMembersAreTheSameByName) {
  auto unknown = GroupAttr::get(&context, "tp", /*size=*/2, {});
  EXPECT_FALSE(unknown.hasKnownMembers());
  EXPECT_EQ(unknown.getSize(), 2);
  EXPECT_EQ(unknown.getNumGroups(), 0);
  EXPECT_EQ(unknown.getPosition(0), std::nullopt);
  EXPECT_THAT(unknown.getMembersAround(0), IsEmpty());
  EXPECT_TRUE(
      unknown.hasSameMembers(GroupAttr::get(&context, "tp", /*size=*/2, {})));
  EXPECT_FALSE(
      unknown.hasSameMembers(GroupAttr::get(&context, "dp", /*size=*/2, {})));
  EXPECT_FALSE(unknown.hasSameMembers(GroupAttr::get(&context, "tp", {0, 1})));
  EXPECT_FALSE(GroupAttr::get(&context, "tp", {0, 1}).hasSameMembers(unknown));
}

TEST_F(AttributesTest, MembersAreFormattedAsTheCommandLineTakesThem) {
  EXPECT_EQ(GroupAttr::get(&context, "0", {0, 1, 2, 3, 8}).formatMembers(),
            "0-3,8");
  EXPECT_EQ(
      GroupAttr::get(&context, "tp", /*size=*/2, {0, 2, 1, 3}).formatMembers(),
      "0,2/1,3");
  EXPECT_EQ(GroupAttr::get(&context, "0", {1, 0}).formatMembers(), "1,0");
}

TEST_F(AttributesTest, PlacementsAreTextAndBack) {
  for (PlacementAttr placement :
       {PlacementAttr::getReplicated(&context),
        PlacementAttr::getShard(&context, 0),
        PlacementAttr::getShard(&context, 12),
        PlacementAttr::getPartial(&context, ReductionKind::Sum),
        PlacementAttr::getPartial(&context, ReductionKind::Product),
        PlacementAttr::getVarying(&context)})
    EXPECT_EQ(PlacementAttr::parseText(&context, placement.getText()),
              placement)
        << placement.getText();
  EXPECT_EQ(PlacementAttr::getShard(&context, 3).getText(), "shard(3)");
  EXPECT_EQ(PlacementAttr::getPartial(&context, ReductionKind::Max).getText(),
            "partial(max)");
}

TEST_F(AttributesTest, PlacementTextMayHaveSpaces) {
  EXPECT_EQ(PlacementAttr::parseText(&context, "  shard( 2 ) "),
            PlacementAttr::getShard(&context, 2));
  EXPECT_EQ(PlacementAttr::parseText(&context, "partial( sum)"),
            PlacementAttr::getPartial(&context, ReductionKind::Sum));
}

TEST_F(AttributesTest, OtherTextIsNoPlacement) {
  for (StringRef text :
       {"", "shard", "shard()", "shard(-1)", "shard(x)", "shard(1", "shard(1))",
        "partial()", "partial(median)", "replicated(0)", "Replicated",
        "shard(99999999999999999999)", "varying,"})
    EXPECT_FALSE(PlacementAttr::parseText(&context, text)) << text.str();
}

} // namespace
