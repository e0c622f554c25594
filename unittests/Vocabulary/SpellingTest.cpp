//===- SpellingTest.cpp - every operator read, written and read again ----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OperatorForms.h"
#include "ProgramBuilder.h"
#include "Respelling.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using llvm::StringRef;
using testing::HasSubstr;

/// "neg.default" for "torch.ops.aten.neg.default".
static std::string getWritten(const archive::Program &program) {
  std::string written;
  for (const archive::Node &node : program.graph.nodes) {
    auto [rest, overload] = node.target.rsplit('.');
    written += written.empty() ? "" : " ";
    written += (rest.rsplit('.').second + "." + overload).str();
  }
  return written;
}

/// Writes the whole graph anew; it must mean the same.
static std::string respell(Translator &translator, Imported &module) {
  for (mlir::Operation &op : module.getBody())
    EXPECT_FALSE(llvm::isa<tp::CallOp>(op)) << "is not read";
  std::string before = module.print();
  forgetNodes(module.imported);
  Imported again = translator.import(translator.exportText(module));
  // What only says which layout to copy into.
  for (mlir::Operation &op :
       llvm::make_early_inc_range(llvm::reverse(again.getBody())))
    if (llvm::isa<tp::EmptyOp>(op) && op.use_empty())
      op.erase();
  EXPECT_EQ(again.print(), before);
  return getWritten(*again.program);
}

namespace {
class SpellingTest : public testing::TestWithParam<
                         std::pair<const char *, const std::vector<Form> *>> {};
} // namespace

TEST_P(SpellingTest, WrittenAnewAndReadAgain) {
  for (const Form &form : *GetParam().second) {
    SCOPED_TRACE(form.target + " as " + form.written);
    Translator translator;
    Imported module =
        translator.import(makeFormInputs()
                              .node(form.target, form.arguments, {form.result})
                              .output("z"));
    std::string written = respell(translator, module);
    // One word without an overload stands for its default.
    std::string expected = form.written;
    if (!StringRef(expected).contains('.'))
      expected += ".default";
    EXPECT_EQ(written, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, SpellingTest,
    testing::Values(std::pair("Elementwise", &elementwiseForms),
                    std::pair("Factories", &factoriesForms),
                    std::pair("Reindexing", &reindexingForms),
                    std::pair("Rowwise", &rowwiseForms),
                    std::pair("Matmuls", &matmulsForms),
                    std::pair("Collectives", &collectivesForms)),
    [](const auto &info) { return info.param.first; });

//===----------------------------------------------------------------------===//
// Several results
//===----------------------------------------------------------------------===//

TEST(Spelling, SeveralResults) {
  Translator translator;
  Imported module = translator.import(
      makeFormInputs()
          .node("tensor_cast.add_rms_norm2.default",
                {tensor("x", "x"), tensor("residual", "y"),
                 tensor("weight", "v"), number("eps", "1e-05")},
                {{"n", {4, 6}}, {"s", {4, 6}}})
          .listNode("aten.unbind.int", {tensor("self", "c3")},
                    {{"u0", {6, 5}}, {"u1", {6, 5}}})
          .listNode("aten.split_with_sizes.default",
                    {tensor("self", "s"), integers("split_sizes", {1, 5}),
                     integer("dim", 1)},
                    {{"l", {4, 1}, f32, {6, 1}}, {"r", {4, 5}, f32, {6, 1}}})
          .output("n")
          .output("u1")
          .output("r"));
  EXPECT_EQ(respell(translator, module),
            "add_rms_norm2.default slice.Tensor reshape.default slice.Tensor "
            "reshape.default slice.Tensor slice.Tensor");
}

TEST(Spelling, FusedAllGatherMatmul) {
  for (bool returnsGathered : {true, false}) {
    Translator translator;
    auto builder = makeFormInputs().value({"p0", {8, 5}}).value({"p1", {8, 5}});
    std::string first = R"({"as_none": true})";
    if (returnsGathered) {
      builder.value({"g", {8, 6}});
      first = R"({"as_tensor": {"name": "g"}})";
    }
    Imported module = translator.import(
        builder
            .rawNode("symm_mem.fused_all_gather_matmul.default", "fused",
                     {tensor("A", "x"), tensors("Bs", {"m", "m"}),
                      integer("gather_dim", 0), text("group_name", "0"),
                      truth("return_A", returnsGathered)},
                     first + R"(, {"as_tensors": [{"name": "p0"}, )"
                             R"({"name": "p1"}]})")
            .output("p1"));
    EXPECT_EQ(respell(translator, module), "fused_all_gather_matmul.default");
  }
}

//===----------------------------------------------------------------------===//
// What only passes make
//===----------------------------------------------------------------------===//

namespace {
/// Builds an op at the end of a graph, and says how it is written.
class NewOp : public testing::Test {
protected:
  mlir::Value getInput(StringRef name) {
    for (mlir::BlockArgument argument : module.getBody().getArguments())
      if (vocabulary::getGraphName(argument) == name)
        return argument;
    return {};
  }
  mlir::RankedTensorType getType(mlir::ArrayRef<int64_t> sizes,
                                 mlir::Type element = {}) {
    return mlir::RankedTensorType::get(sizes, element ? element
                                                      : builder.getF32Type());
  }
  mlir::Value makeNumber(int64_t number) {
    auto type = builder.getI64Type();
    return tp::ConstantOp::create(builder, location, getType({}, type),
                                  builder.getI64IntegerAttr(number));
  }
  /// Makes the value the graph's output.
  std::string write(mlir::Value value) {
    module.getBody().getTerminator()->setOperand(0, value);
    Imported again = translator.import(translator.exportText(module));
    return getWritten(*again.program);
  }

  Translator translator;
  Imported module = translator.import(makeFormInputs().output("x"));
  mlir::OpBuilder builder{module.getBody().getTerminator()};
  mlir::Location location = builder.getUnknownLoc();
};
} // namespace

TEST_F(NewOp, NumberOnTheLeft) {
  auto writeMap = [&](tp::MapFunction function, mlir::Type element = {}) {
    return write(
        tp::MapOp::create(builder, location, getType({4, 6}, element), function,
                          mlir::ValueRange{makeNumber(2), getInput("x")}));
  };
  mlir::Type truth = builder.getI1Type();
  EXPECT_EQ(writeMap(tp::MapFunction::Div), "div.Tensor");
  EXPECT_EQ(writeMap(tp::MapFunction::Less, truth), "gt.Scalar");
  EXPECT_EQ(writeMap(tp::MapFunction::GreaterEqual, truth), "le.Scalar");
  EXPECT_EQ(writeMap(tp::MapFunction::Equal, truth), "eq.Scalar");
  EXPECT_EQ(writeMap(tp::MapFunction::Minimum), "clamp.default");
  EXPECT_EQ(writeMap(tp::MapFunction::LogicalOr, truth),
            "full.default logical_or.default");
}

TEST_F(NewOp, NumbersOnBothSides) {
  for (auto function : {tp::MapFunction::Add, tp::MapFunction::Maximum,
                        tp::MapFunction::Pow, tp::MapFunction::Remainder}) {
    auto map = tp::MapOp::create(
        builder, location, getType({}, builder.getI64Type()), function,
        mlir::ValueRange{makeNumber(2), makeNumber(3)});
    EXPECT_THAT(write(map), HasSubstr("full.default"));
  }
}

TEST_F(NewOp, SynchronousCollectiveIsWaitedFor) {
  auto reduce = tp::AllReduceOp::create(
      builder, location, getType({4, 6}), tp::ReductionKind::Sum, getInput("x"),
      tp::GroupAttr::get(&translator.context, "0", {0, 1}), /*async=*/false);
  EXPECT_EQ(write(reduce), "all_reduce.default wait_tensor.default");
}

TEST_F(NewOp, TransposedMatmuls) {
  auto multiply = [&](StringRef lhs, StringRef rhs, StringRef bias,
                      bool transposeLhs, bool transposeRhs,
                      mlir::ArrayRef<int64_t> sizes) {
    return write(tp::MatmulOp::create(
        builder, location, getType(sizes), getInput(lhs), getInput(rhs),
        bias.empty() ? mlir::Value() : getInput(bias), mlir::Value(),
        mlir::Value(), transposeLhs, transposeRhs));
  };
  EXPECT_EQ(multiply("x", "y", "", true, false, {6, 6}),
            "transpose.int mm.default");
  EXPECT_EQ(multiply("x", "y", "", false, true, {4, 4}), "linear.default");
  EXPECT_EQ(multiply("x", "a3", "", true, false, {2, 6, 5}),
            "transpose.int matmul.default");
  // A bias of two dims is none that a linear takes.
  EXPECT_EQ(multiply("x", "w", "r1", false, true, {4, 5}),
            "transpose.int addmm.default");
  EXPECT_EQ(multiply("b3", "m", "u", false, false, {2, 4, 5}),
            "matmul.default add.Tensor");
}
