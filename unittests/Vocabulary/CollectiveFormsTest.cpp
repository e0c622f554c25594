//===- CollectiveFormsTest.cpp - in-place and coalesced collectives -------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using llvm::StringRef;
using testing::ElementsAre;

namespace {
class CollectiveFormsTest : public testing::Test {
protected:
  /// The operators of the graph that the module is written as.
  std::vector<std::string> getTargetsAgain() {
    std::string text = translator.exportText(module);
    Imported again = translator.import(text);
    std::vector<std::string> targets;
    for (const archive::Node &node : again.program->graph.nodes)
      targets.push_back(node.target.rsplit('.').first.rsplit('.').second.str());
    return targets;
  }
  template <typename OpType>
  bool is(StringRef name) {
    return llvm::isa<OpType>(module.getOp(name));
  }
  void insertCopy(mlir::OpOperand &operand) {
    mlir::OpBuilder builder(operand.getOwner());
    auto type = llvm::cast<mlir::RankedTensorType>(operand.get().getType());
    auto dense =
        mlir::RankedTensorType::get(type.getShape(), type.getElementType());
    operand.set(tp::CopyOp::create(builder, operand.getOwner()->getLoc(), dense,
                                   operand.get(),
                                   /*preserve_strides=*/false));
  }

  Translator translator;
  Imported module;
};
} // namespace

//===----------------------------------------------------------------------===//
// In place
//===----------------------------------------------------------------------===//

static ProgramBuilder &addReduction(ProgramBuilder &builder, StringRef operand,
                                    StringRef result) {
  return builder.node("_c10d_functional.all_reduce_.default",
                      {tensor("input", operand), text("reduce_op", "sum"),
                       text("group_name", "0")},
                      {{result.str(), {4}}});
}

/// n = -x; y = all_reduce_(n); w = wait(y)
static ProgramBuilder makeReduction() {
  ProgramBuilder builder;
  builder.input({"x", {4}})
      .node("aten.neg.default", {tensor("self", "x")}, {{"n", {4}}});
  return addReduction(builder, "n", "y")
      .node("_c10d_functional.wait_tensor.default", {tensor("tensor", "y")},
            {{"w", {4}}});
}

TEST_F(CollectiveFormsTest, InPlaceOfAValueThatNobodyReadsAgainIsAFunction) {
  module = translator.import(makeReduction().output("w"));
  auto reduce = llvm::cast<tp::AllReduceOp>(module.getOp("y"));
  EXPECT_TRUE(reduce.getInPlace());
  EXPECT_TRUE(reduce.requiresDense(reduce.getInputMutable()));
  EXPECT_TRUE(reduce.writesInto(reduce.getInputMutable()));
  EXPECT_TRUE(is<tp::MapOp>("n"));
  EXPECT_TRUE(is<tp::WaitOp>("w"));
  EXPECT_THAT(getTargetsAgain(),
              ElementsAre("neg", "all_reduce_", "wait_tensor"));
}

TEST_F(CollectiveFormsTest, InPlaceTwiceIsAFunctionOfAFunction) {
  ProgramBuilder builder = makeReduction();
  module = translator.import(addReduction(builder, "w", "z").output("z"));
  EXPECT_TRUE(is<tp::AllReduceOp>("y"));
  EXPECT_TRUE(is<tp::AllReduceOp>("z"));
}

TEST_F(CollectiveFormsTest, InPlaceOfAnInputIsOpaque) {
  ProgramBuilder builder;
  builder.input({"x", {4}});
  module = translator.import(addReduction(builder, "x", "y").output("y"));
  EXPECT_TRUE(is<tp::CallOp>("y"));
}

TEST_F(CollectiveFormsTest, InPlaceOfAValueThatIsReadAgainIsOpaque) {
  module = translator.import(makeReduction().output("w").output("n"));
  EXPECT_TRUE(is<tp::CallOp>("y"));
  // A view of the value, made before and read after.
  ProgramBuilder builder;
  builder.input({"x", {4}})
      .node("aten.neg.default", {tensor("self", "x")}, {{"n", {4}}})
      .node("aten.view.default",
            {tensor("self", "n"), integers("size", {2, 2})}, {{"v", {2, 2}}});
  addReduction(builder, "n", "y")
      .node("aten.relu.default", {tensor("self", "v")}, {{"r", {2, 2}}});
  module = translator.import(builder.output("y").output("r"));
  EXPECT_TRUE(is<tp::CallOp>("y"));
}

TEST_F(CollectiveFormsTest, ReadingTheOldValueBeforeDoesNotMatter) {
  ProgramBuilder builder;
  builder.input({"x", {4}})
      .node("aten.neg.default", {tensor("self", "x")}, {{"n", {4}}})
      .node("aten.relu.default", {tensor("self", "n")}, {{"r", {4}}});
  module = translator.import(
      addReduction(builder, "n", "y").output("y").output("r"));
  EXPECT_TRUE(is<tp::AllReduceOp>("y"));
}

TEST_F(CollectiveFormsTest, WriterThatIsNotReadKeepsTheMemoryAPlace) {
  ProgramBuilder builder;
  builder.input({"x", {4}})
      .node("aten.neg.default", {tensor("self", "x")}, {{"n", {4}}});
  addReduction(builder, "n", "y")
      .node("aten.add_.Tensor", {tensor("self", "y"), integer("other", 1)},
            {{"a", {4}}});
  module = translator.import(builder.output("a"));
  EXPECT_TRUE(is<tp::CallOp>("y"));
}

// What passes make of a function may read the old value; eager PyTorch would
// show them the new one.
TEST_F(CollectiveFormsTest, WrittenAsAFunctionWhereTheOldValueIsReadLater) {
  module = translator.import(makeReduction().output("w"));
  mlir::OpBuilder builder(module.getBody().getTerminator());
  mlir::Value old = module.getOp("n")->getResult(0);
  module.getBody().getTerminator()->setOperand(
      0,
      tp::MapOp::create(
          builder, builder.getUnknownLoc(), old.getType(), tp::MapFunction::Add,
          mlir::ValueRange{old, module.getOp("w")->getResult(0)}));
  EXPECT_THAT(getTargetsAgain(),
              ElementsAre("neg", "all_reduce", "wait_tensor", "add"));
}

TEST_F(CollectiveFormsTest, WrittenAsAFunctionOfAnInput) {
  module = translator.import(makeReduction().output("w"));
  mlir::Operation *negation = module.getOp("n");
  negation->getResult(0).replaceAllUsesWith(negation->getOperand(0));
  negation->erase();
  EXPECT_THAT(getTargetsAgain(), ElementsAre("all_reduce", "wait_tensor"));
}

//===----------------------------------------------------------------------===//
// Coalesced
//===----------------------------------------------------------------------===//

/// [g, h] = all_gather_into_tensor_coalesced([x, z])
static ProgramBuilder makeCoalesced() {
  return ProgramBuilder()
      .input({"x", {4}})
      .input({"z", {2, 3}, f32, {1, 2}})
      .listNode("_c10d_functional.all_gather_into_tensor_coalesced.default",
                {tensors("inputs", {"x", "z"}), integer("group_size", 2),
                 text("group_name", "0")},
                {{"g", {8}}, {"h", {4, 3}}})
      .output("g")
      .output("h");
}

TEST_F(CollectiveFormsTest, CoalescedIsAnOpForEachTensor) {
  module = translator.import(makeCoalesced());
  EXPECT_TRUE(is<tp::AllGatherOp>("g"));
  EXPECT_TRUE(is<tp::AllGatherOp>("h"));
  EXPECT_EQ(translator.exportText(module), makeCoalesced().text());
}

TEST_F(CollectiveFormsTest, CoalescedStaysWholeWhenAnOperandIsCopied) {
  module = translator.import(makeCoalesced());
  // Behind the first of the ops, in front of the second.
  insertCopy(module.getOp("h")->getOpOperand(0));
  EXPECT_THAT(getTargetsAgain(),
              ElementsAre("clone", "all_gather_into_tensor_coalesced"));
}

TEST_F(CollectiveFormsTest, CoalescedFallsApartWhenOneOpIsChanged) {
  module = translator.import(makeCoalesced());
  mlir::Operation *gather = module.getOp("h");
  gather->getResult(0).replaceAllUsesWith(module.getBody().getArgument(1));
  gather->erase();
  EXPECT_THAT(getTargetsAgain(), ElementsAre("all_gather_into_tensor"));
}

TEST_F(CollectiveFormsTest, CoalescedOfOneTensorTwice) {
  std::string source =
      ProgramBuilder()
          .input({"x", {4}})
          .listNode("_c10d_functional.all_reduce_coalesced.default",
                    {tensors("inputs", {"x", "x"}), text("reduce_op", "max"),
                     text("group_name", "0")},
                    {{"a", {4}}, {"b", {4}}})
          .output("a")
          .output("b")
          .text();
  module = translator.import(source);
  EXPECT_EQ(translator.exportText(module), source);
  // The two places now hold two values.
  insertCopy(module.getOp("b")->getOpOperand(0));
  EXPECT_THAT(getTargetsAgain(), ElementsAre("clone", "all_reduce_coalesced"));
}
