//===- PlacesTest.cpp - what is stated of memory that is written into -----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A node that reads memory which another one writes into is opaque. What is
// wrong in it is found all the same: once a pass has inserted a copy before it,
// it would be read, and complained of then.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class PlacesTest : public testing::Test {
protected:
  /// The error where the node "g" is wrong. Where it is not, the node has to be
  /// opaque, and the program to be written as it was; gives what is remarked.
  std::string getComplaint(const ProgramBuilder &builder) {
    std::string error = translator.getImportError(builder);
    if (!error.empty())
      return error;
    Imported module = translator.import(builder);
    EXPECT_TRUE(llvm::isa<tp::CallOp>(module.getOp("g"))) << module.print();
    EXPECT_EQ(translator.exportText(module), builder.text());
    return translator.getImportRemarks(builder);
  }

  Translator translator;
};
} // namespace

/// t = x.t(), and x is written into.
static ProgramBuilder makePlace() {
  return ProgramBuilder()
      .input({"x", {4, 2}})
      .node("aten.t.default", {tensor("self", "x")},
            {{"t", {2, 4}, f32, {1, 2}}})
      .node("aten.add_.Scalar", {tensor("self", "x"), integer("other", 1)},
            {{"a", {4, 2}}});
}

static ProgramBuilder makeGather(int64_t size, const Tensor &result) {
  return makePlace()
      .node("_c10d_functional.all_gather_into_tensor.default",
            {tensor("input", "t"), integer("group_size", size),
             text("group_name", "0")},
            {result})
      .output("g");
}

static ProgramBuilder makeCoalesced(int64_t size, const Tensor &second) {
  return makePlace()
      .listNode("_c10d_functional.all_gather_into_tensor_coalesced.default",
                {tensors("inputs", {"t", "x"}), integer("group_size", size),
                 text("group_name", "0")},
                {{"g", {4, 4}}, second})
      .output("g")
      .output("h");
}

TEST_F(PlacesTest, SizeOfTheGroup) {
  EXPECT_THAT(getComplaint(makeGather(2, {"g", {4, 4}})), IsEmpty());
  EXPECT_THAT(getComplaint(makeGather(4, {"g", {4, 4}})),
              HasSubstr("m.pt2: node 'g' (#2): states group_size 4, but group "
                        "'0' has 2 members"));
  EXPECT_THAT(getComplaint(makeCoalesced(2, {"h", {8, 2}})), IsEmpty());
  EXPECT_THAT(getComplaint(makeCoalesced(4, {"h", {8, 2}})),
              HasSubstr("(#2): states group_size 4, but group '0' has 2 "
                        "members"));
}

TEST_F(PlacesTest, TypeOfAResult) {
  EXPECT_THAT(
      getComplaint(makeGather(2, {"g", {8, 4}})),
      AllOf(HasSubstr("import: g: torch.ops._c10d_functional."
                      "all_gather_into_tensor.default is not optimized: it "
                      "contradicts the shapes that the graph states: "),
            HasSubstr("size 8")));
  EXPECT_THAT(getComplaint(makeGather(2, {"g", {4, 4}, i32})),
              HasSubstr("result has element type 'i32', expected 'f32'"));
  EXPECT_THAT(getComplaint(makeCoalesced(2, {"h", {8, 2}, i32})),
              HasSubstr("result has element type 'i32', expected 'f32'"));
  EXPECT_THAT(getComplaint(makeCoalesced(2, {"h", {8, 3}})),
              HasSubstr("contradicts the shapes that the graph states: "));
}

TEST_F(PlacesTest, OperatorsThatAreNoCollectives) {
  auto makeSum = [](const Tensor &result) {
    return makePlace()
        .node("aten.add.Tensor", {tensor("self", "t"), integer("other", 1)},
              {result})
        .output("g");
  };
  EXPECT_THAT(getComplaint(makeSum({"g", {2, 4}})), IsEmpty());
  EXPECT_THAT(getComplaint(makeSum({"g", {2, 3}})),
              HasSubstr("g: torch.ops.aten.add.Tensor is not optimized: "
                        "it contradicts"));
}

/// `all_reduce_` of an input, whose memory is the caller's.
static ProgramBuilder makeReduction(llvm::StringRef target,
                                    llvm::StringRef group,
                                    const Tensor &result) {
  return makePlace()
      .node(target,
            {tensor("input", "x"), text("reduce_op", "sum"),
             text("group_name", group)},
            {result})
      .output("g");
}

TEST_F(PlacesTest, CollectivesInPlace) {
  constexpr llvm::StringLiteral target = "_c10d_functional.all_reduce_.default";
  EXPECT_THAT(getComplaint(makeReduction(target, "0", {"g", {4, 2}})),
              IsEmpty());
  EXPECT_THAT(
      getComplaint(makeReduction(target, "0", {"g", {2, 2}})),
      HasSubstr("all_reduce_.default is not optimized: it contradicts"));
}

// What writes into a place stays as it is, whoever the members are; what only
// reads one can become a function of a copy.
TEST_F(PlacesTest, GroupsOfUnknownMembers) {
  translator.distributed.groups.clear();
  EXPECT_THAT(getComplaint(makeReduction("_c10d_functional.all_reduce_.default",
                                         "9", {"g", {4, 2}})),
              IsEmpty());
  EXPECT_THAT(getComplaint(makeReduction("_c10d_functional.all_reduce.default",
                                         "9", {"g", {4, 2}})),
              HasSubstr("node 'g' (#2): the members of process group '9' are "
                        "not stated"));
}

// Dynamo states the sizes that a tensor has at the end, so that what comes
// before an in-place operator that changes them does not fit.
TEST_F(PlacesTest, ShapesOfAnotherTime) {
  auto makeTransposed = [](bool holdsFunctions) {
    ProgramBuilder builder;
    builder.input({"x", {2, 4}});
    if (holdsFunctions)
      builder.functionNode("torch.Tensor.clone", {tensor("", "x")},
                           {{"c", {4, 2}, f32, {1, 4}}});
    else
      builder.node("mylib.copy.default", {tensor("self", "x")},
                   {{"c", {4, 2}, f32, {1, 4}}});
    return builder
        .node("aten.relu.default", {tensor("self", "c")}, {{"g", {2, 4}}})
        .node("aten.t_.default", {tensor("self", "c")},
              {{"t", {4, 2}, f32, {1, 4}}})
        .output("g")
        .output("t");
  };
  EXPECT_THAT(getComplaint(makeTransposed(/*holdsFunctions=*/true)), IsEmpty());
  EXPECT_THAT(getComplaint(makeTransposed(/*holdsFunctions=*/false)),
              HasSubstr("g: torch.ops.aten.relu.default is not optimized: it "
                        "contradicts"));
}
