//===- UserCollectivesTest.cpp - collectives of users' own names ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using testing::ElementsAre;

/// Arguments of other names and, of the second, in another order.
static constexpr llvm::StringLiteral collectives =
    R"({"version": 1, "operators": {)"
    R"("torch.ops.mylib.gather.default": {)"
    R"("same_as": "torch.ops._c10d_functional.all_gather_into_tensor.default", )"
    R"("arguments": {"input": "shard"}}, )"
    R"("torch.ops.mylib.sum.default": {)"
    R"("same_as": "torch.ops._c10d_functional.all_reduce_.default", )"
    R"("arguments": {"input": "part", "reduce_op": "kind"}}}})";

static void addCollectives(Translator &translator) {
  cantFail(translator.vocabulary.addUserVocabulary(collectives, "v.json"));
}

TEST(UserCollectives, OperandOfAnOpaqueOneHasToBeDense) {
  Translator translator;
  addCollectives(translator);
  // What the first argument means is not known.
  Imported imported = translator.import(
      ProgramBuilder()
          .input({"x", {4, 2}})
          .node("mylib.gather.default",
                {integer("priority", 1), tensor("shard", "x"),
                 integer("group_size", 2), text("group_name", "0")},
                {{"g", {8, 2}}})
          .output("g"));
  auto call = llvm::dyn_cast_if_present<tp::CallOp>(imported.getOp("g"));
  ASSERT_TRUE(call);
  EXPECT_THAT(call.getDenseOperands(), ElementsAre(0));
}

static ProgramBuilder makeSum(llvm::StringRef readAfterwards) {
  return ProgramBuilder()
      .input({"x", {4, 2}})
      .node("aten.relu.default", {tensor("self", "x")}, {{"r", {4, 2}}})
      .node("aten.relu.default", {tensor("self", "x")}, {{"other", {4, 2}}})
      .node("mylib.sum.default",
            {text("kind", "sum"), tensor("part", "r"), text("group_name", "0")},
            {{"s", {4, 2}}})
      .node("aten.add.Tensor",
            {tensor("self", "s"), tensor("other", readAfterwards)},
            {{"y", {4, 2}}})
      .output("y");
}

TEST(UserCollectives, InPlaceOneWritesIntoItsOwnArgument) {
  Translator translator;
  addCollectives(translator);
  // Nobody sees it.
  Imported unseen = translator.import(makeSum("other"));
  EXPECT_TRUE(llvm::isa_and_present<tp::AllReduceOp>(unseen.getOp("s")))
      << unseen.print();
  // The sum is what is added to itself, then, and not what was summed.
  Imported seen = translator.import(makeSum("r"));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(seen.getOp("s")));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(seen.getOp("y")))
      << seen.print();
}
