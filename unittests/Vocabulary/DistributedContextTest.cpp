//===- DistributedContextTest.cpp - sidecars and command-line statements --===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/DistributedContext.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::vocabulary;
using testing::ElementsAre;
using testing::HasSubstr;

static std::string getError(llvm::StringRef text) {
  auto context = parseSidecar(text, "m.pt2: record extra/commute.json");
  if (!context)
    return llvm::toString(context.takeError());
  ADD_FAILURE() << "is accepted: " << text.str();
  return "";
}

//===----------------------------------------------------------------------===//
// The sidecar
//===----------------------------------------------------------------------===//

TEST(Sidecar, IsReadAndRenderedTheSame) {
  std::string text =
      R"json({"version": 1, "rank": 2, "groups": {"0": {"ranks": [0, 1, 2, )json"
      R"json(3]}, "tp": {"ranks": [[0, 2], [1, 3]]}}, "inputs": )json"
      R"json({"layers.0.w": {"0": "replicated", "tp": "shard(1)"}, )json"
      R"json("x": {"0": "partial(sum)"}}, "assumptions": ["s0 % 8 == 0"]})json";
  auto context = parseSidecar(text, "m.pt2");
  ASSERT_TRUE(bool(context)) << llvm::toString(context.takeError());
  EXPECT_EQ(context->rank, 2);
  EXPECT_THAT(context->groups["0"], ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(context->groups["tp"],
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_EQ(context->inputs["layers.0.w"]["tp"], "shard(1)");
  EXPECT_EQ(context->inputs["x"]["0"], "partial(sum)");
  EXPECT_THAT(context->assumptions, ElementsAre("s0 % 8 == 0"));
  EXPECT_EQ(renderSidecar(*context), text);
}

TEST(Sidecar, NeedsOnlyItsVersion) {
  auto context = parseSidecar(R"({"version": 1, "unknown": {}})", "m.pt2");
  ASSERT_TRUE(bool(context)) << llvm::toString(context.takeError());
  EXPECT_FALSE(context->rank);
  EXPECT_TRUE(context->groups.empty());
  EXPECT_EQ(renderSidecar(*context),
            R"({"version": 1, "groups": {}, "inputs": {}})");
  context = parseSidecar(R"({"version": 1, "rank": null})", "m.pt2");
  ASSERT_TRUE(bool(context)) << llvm::toString(context.takeError());
  EXPECT_FALSE(context->rank);
}

TEST(Sidecar, ErrorsNameTheRecordAndTheKey) {
  EXPECT_THAT(getError("{"), HasSubstr("record extra/commute.json: "));
  EXPECT_THAT(getError("[]"), HasSubstr("a sidecar must be a JSON object"));
  EXPECT_THAT(getError("{}"), HasSubstr("\"version\" is missing or not 1"));
  EXPECT_THAT(getError(R"({"version": 2})"), HasSubstr("not 1"));
  EXPECT_THAT(getError(R"({"version": "1"})"), HasSubstr("not 1"));
  EXPECT_THAT(getError(R"({"version": 1, "rank": -1})"),
              HasSubstr("\"rank\" is not a rank: -1"));
  EXPECT_THAT(getError(R"({"version": 1, "rank": "0"})"),
              HasSubstr("\"rank\" is not a rank: \"0\""));
}

static std::string getGroupError(llvm::StringRef groups) {
  return getError((R"({"version": 1, "groups": )" + groups + "}").str());
}

TEST(Sidecar, ErrorsOfGroups) {
  EXPECT_THAT(getGroupError("[]"), HasSubstr("\"groups\" must be an object"));
  for (llvm::StringRef group : {"[0]", "{}", R"({"ranks": 4})"})
    EXPECT_THAT(getGroupError((R"({"tp": )" + group + "}").str()),
                HasSubstr("groups.tp lacks the list \"ranks\""));
  auto getRanksError = [](llvm::StringRef ranks) {
    return getGroupError((R"({"tp": {"ranks": )" + ranks + "}}").str());
  };
  EXPECT_THAT(getRanksError("[]"), HasSubstr("group 'tp' has no ranks"));
  EXPECT_THAT(getRanksError("[[]]"), HasSubstr("group 'tp' has no ranks"));
  EXPECT_THAT(getRanksError("[0, 1.5]"),
              HasSubstr("groups.tp.ranks: 1.5 is not a rank"));
  EXPECT_THAT(getRanksError("[0, [1]]"), HasSubstr("[1] is not a rank"));
  EXPECT_THAT(getRanksError("[[0], 1]"),
              HasSubstr("groups.tp.ranks mixes ranks and lists"));
  EXPECT_THAT(getRanksError("[[0], [true]]"), HasSubstr("true is not a rank"));
  EXPECT_THAT(getRanksError("[[0, 1], [2]]"), HasSubstr("different sizes"));
  EXPECT_THAT(getRanksError("[0, -1]"), HasSubstr("-1 is not a rank"));
  EXPECT_THAT(getRanksError("[0, 1048576]"),
              HasSubstr("1048576 is not a rank"));
  EXPECT_THAT(getRanksError("[0, 1, 0]"), HasSubstr("rank 0 is listed twice"));
  EXPECT_THAT(getRanksError("[[0, 1], [1, 2]]"),
              HasSubstr("rank 1 is listed twice"));
}

TEST(Sidecar, ErrorsOfInputsAndAssumptions) {
  auto getInputError = [](llvm::StringRef inputs) {
    return getError((R"({"version": 1, "inputs": )" + inputs + "}").str());
  };
  EXPECT_THAT(getInputError("1"), HasSubstr("\"inputs\" must be an object"));
  EXPECT_THAT(getInputError(R"({"x": "replicated"})"),
              HasSubstr("inputs.x must be an object that maps group names"));
  EXPECT_THAT(getInputError(R"({"x": {"0": 1}})"),
              HasSubstr("inputs.x.0 must be a string"));
  EXPECT_THAT(getInputError(R"json({"x": {"0": "split(1)"}})json"),
              HasSubstr("inputs.x.0: 'split(1)' is not a placement; expected"));
  EXPECT_THAT(getError(R"({"version": 1, "assumptions": "s0 > 1"})"),
              HasSubstr("\"assumptions\" must be a list"));
  EXPECT_THAT(getError(R"({"version": 1, "assumptions": ["s0"]})"),
              HasSubstr("is not an assumption about sizes"));
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

TEST(GroupOption, RanksRangesAndAxes) {
  DistributedContext context;
  for (llvm::StringRef option :
       {"0=0-3", "tp=0-1/2-3", "dp=0,2/1,3", "a=b=7", "0=0-1, 4"})
    ASSERT_FALSE(bool(addGroupOption(context, option))) << option.str();
  EXPECT_THAT(context.groups["tp"],
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  EXPECT_THAT(context.groups["dp"],
              ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
  EXPECT_THAT(context.groups["a=b"], ElementsAre(ElementsAre(7)));
  // The last one wins.
  EXPECT_THAT(context.groups["0"], ElementsAre(ElementsAre(0, 1, 4)));
}

TEST(GroupOption, Errors) {
  auto getOptionError = [](llvm::StringRef option) {
    DistributedContext context;
    std::string message = llvm::toString(addGroupOption(context, option));
    EXPECT_TRUE(context.groups.empty()) << option.str();
    EXPECT_THAT(message, HasSubstr("--group=" + option.str()));
    return message;
  };
  EXPECT_THAT(getOptionError("0"), HasSubstr("expected NAME=RANKS"));
  EXPECT_THAT(getOptionError("=0-3"), HasSubstr("expected NAME=RANKS"));
  for (llvm::StringRef ranks : {"", "x", "0,", "0-", "-3", "0-1-2", "0//1"})
    EXPECT_THAT(getOptionError(("0=" + ranks).str()),
                HasSubstr("is neither a rank nor a range"));
  EXPECT_THAT(getOptionError("0=3-1"), HasSubstr("is not a range of ranks"));
  EXPECT_THAT(getOptionError("0=0-9999999999"),
              HasSubstr("is not a range of ranks"));
  EXPECT_THAT(getOptionError("0=0-3,2"), HasSubstr("rank 2 is listed twice"));
  EXPECT_THAT(getOptionError("0=0-1/2"), HasSubstr("different sizes"));
}

TEST(PlacementOption, GoodAndBad) {
  DistributedContext context;
  for (llvm::StringRef option : {"x=replicated", "layers[.]0=shard(1)@tp",
                                 "(x|y)= partial(max) @ 0 ", "a=b=varying"})
    ASSERT_FALSE(bool(addPlacementOption(context, option))) << option.str();
  ASSERT_EQ(context.rules.size(), 4u);
  EXPECT_EQ(context.rules[0].pattern, "x");
  EXPECT_EQ(context.rules[0].placement, "replicated");
  EXPECT_EQ(context.rules[0].group, "");
  EXPECT_EQ(context.rules[1].group, "tp");
  EXPECT_EQ(context.rules[2].placement, "partial(max)");
  EXPECT_EQ(context.rules[2].group, "0");
  EXPECT_EQ(context.rules[3].pattern, "a=b");

  auto getOptionError = [&](llvm::StringRef option) {
    std::string message = llvm::toString(addPlacementOption(context, option));
    EXPECT_EQ(context.rules.size(), 4u);
    return message;
  };
  EXPECT_THAT(getOptionError("x"), HasSubstr("expected REGEX=PLACEMENT"));
  EXPECT_THAT(getOptionError("=shard(0)"), HasSubstr("expected REGEX="));
  EXPECT_THAT(getOptionError("(=replicated"),
              HasSubstr("the regular expression is not valid"));
  for (llvm::StringRef placement :
       {"", "shard", "shard()", "shard(-1)", "shard(x)", "partial(first)",
        "partial", "replicated()", "Replicated"})
    EXPECT_THAT(getOptionError(("x=" + placement).str()),
                HasSubstr("is not a placement; expected"));
}

TEST(AssumptionOption, GoodAndBad) {
  DistributedContext context;
  for (llvm::StringRef option : {" s0 % 8 == 0 ", "s0>=16", "s0>=16"})
    ASSERT_FALSE(bool(addAssumptionOption(context, option))) << option.str();
  // The same one once.
  EXPECT_THAT(context.assumptions, ElementsAre("s0 % 8 == 0", "s0>=16"));
  EXPECT_THAT(llvm::toString(addAssumptionOption(context, "s0 = 8")),
              HasSubstr("--assume=s0 = 8: 's0 = 8' is not an assumption "
                        "about sizes; expected 's0 % 8 == 0'"));
  EXPECT_EQ(context.assumptions.size(), 2u);
}
