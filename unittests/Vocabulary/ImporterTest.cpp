//===- ImporterTest.cpp - PyTorch graphs as tp modules --------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

using namespace commute;
using namespace commute::test;
using llvm::StringRef;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class ImporterTest : public testing::Test {
protected:
  /// The one op that a node with this result becomes.
  template <typename OpType>
  OpType getOp(const ProgramBuilder &builder, StringRef name) {
    module = translator.import(builder);
    auto op = llvm::dyn_cast_if_present<OpType>(module.getOp(name));
    EXPECT_TRUE(op) << module.print();
    return op;
  }

  Translator translator;
  Imported module;
};
} // namespace

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

TEST_F(ImporterTest, ArgumentsLeftOutHaveTheirDefaults) {
  auto builder =
      ProgramBuilder()
          .input({"x", {4, 8}})
          .input({"i", {3}, i64})
          .node("aten.softmax.int", {tensor("self", "x"), integer("dim", -1)},
                {{"s", {4, 8}}})
          .node("aten.slice.Tensor", {tensor("self", "s"), none("dim")},
                {{"a", {4, 8}}})
          .node("aten.cat.default", {tensors("tensors", {"a", "a"})},
                {{"c", {8, 8}}})
          .node("aten.mean.dim", {tensor("self", "c"), integers("dim", {-1})},
                {{"m", {8}}})
          .node("aten.embedding.default",
                {tensor("weight", "x"), tensor("indices", "i")},
                {{"e", {3, 8}}})
          .node("aten.gelu.default", {tensor("self", "e")}, {{"g", {3, 8}}})
          .output("m")
          .output("g");
  module = translator.import(builder);
  EXPECT_THAT(module.print(), HasSubstr(R"(
  func.func @main(%arg0: tensor<4x8xf32> {tp.kind = "user_input", tp.name = "x"}, %arg1: tensor<3xi64> {tp.kind = "user_input", tp.name = "i"}) -> (tensor<8xf32>, tensor<3x8xf32>) {
    %0 = tp.rowwise softmax %arg0 dim 1 : tensor<4x8xf32> -> tensor<4x8xf32>
    %1 = tp.slice %0 dim 0 start 0 step 1 : tensor<4x8xf32> -> tensor<4x8xf32>
    %2 = tp.concat %1, %1 dim 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
    %3 = tp.reduce avg %2 dims [1] : tensor<8x8xf32> -> tensor<8xf32>
    %4 = tp.take %arg0, %arg1 dim 0 : (tensor<4x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
    %5 = tp.map gelu(%4) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    return %3, %5 : tensor<8xf32>, tensor<3x8xf32>
)"));
}

TEST_F(ImporterTest, NegativeDimsCountFromTheEnd) {
  auto transpose = getOp<tp::PermuteOp>(
      ProgramBuilder()
          .input({"x", {2, 3, 4}})
          .node("aten.transpose.int",
                {tensor("self", "x"), integer("dim0", -1), integer("dim1", -3)},
                {{"y", {4, 3, 2}, f32, {1, 4, 12}}})
          .output("y"),
      "y");
  EXPECT_THAT(transpose.getPermutation(), ElementsAre(2, 1, 0));
  // One that is out of range is no form that is modelled.
  getOp<tp::CallOp>(
      ProgramBuilder()
          .input({"x", {2, 3}})
          .node("aten.transpose.int",
                {tensor("self", "x"), integer("dim0", -3), integer("dim1", 0)},
                {{"y", {3, 2}}})
          .output("y"),
      "y");
}

TEST_F(ImporterTest, NumbersBecomeConstants) {
  auto add =
      getOp<tp::MapOp>(ProgramBuilder()
                           .input({"x", {2}})
                           .node("aten.add.Tensor",
                                 {tensor("self", "x"), integer("other", 3),
                                  number("alpha", "0.5")},
                                 {{"y", {2}}})
                           .output("y"),
                       "y");
  EXPECT_EQ(add.getFunction(), tp::MapFunction::Add);
  auto scaled = add.getOperands()[1].getDefiningOp<tp::MapOp>();
  ASSERT_TRUE(scaled);
  EXPECT_EQ(scaled.getFunction(), tp::MapFunction::Mul);
  EXPECT_TRUE(scaled.getOperands()[0].getDefiningOp<tp::ConstantOp>());
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static const Size batch("Symbol('s77', positive=True, integer=True)", 2);
static const Size
    twoBatches("Mul(Integer(2), Symbol('s77', positive=True, integer=True))",
               4);

TEST_F(ImporterTest, SymbolicSizesAreExpressions) {
  module = translator.import(
      ProgramBuilder()
          .input({"x", {batch, 8}, f32, {8, 1}})
          .node("_c10d_functional.all_gather_into_tensor.default",
                {tensor("input", "x"), integer("group_size", 2),
                 text("group_name", "0")},
                {{"g", {twoBatches, 8}, f32, {8, 1}}})
          .output("g"));
  EXPECT_THAT(module.print(),
              HasSubstr("-> tensor<?x8xf32, #tp.layout<[s77] sizes = [s77 * 2, "
                        "8]>>"));
  auto hints = module.getModule()->getAttrOfType<mlir::DictionaryAttr>(
      tp::TPDialect::symbolHintsAttrName);
  ASSERT_TRUE(hints);
  EXPECT_EQ(hints.getAs<mlir::IntegerAttr>("s77").getInt(), 2);
}

TEST_F(ImporterTest, HintsThatOverflowSayNothingOfOtherSymbols) {
  constexpr int64_t large = int64_t(1) << 62;
  constexpr int64_t lowest = std::numeric_limits<int64_t>::min();
  module = translator.import(
      ProgramBuilder()
          .input({"x", {Size("Symbol('s0')", large)}, f32, {1}})
          // Modulo 2^64 five times as much is `large` again.
          .input({"y",
                  {Size("Mul(Integer(5), Symbol('s0'), Symbol('s1'))", large)},
                  f32,
                  {1}})
          .input(
              {"z", {Size("Mul(Integer(-1), Symbol('s2'))", lowest)}, f32, {1}})
          .output("x"));
  auto hints = module.getModule()->getAttrOfType<mlir::DictionaryAttr>(
      tp::TPDialect::symbolHintsAttrName);
  ASSERT_TRUE(hints);
  EXPECT_TRUE(hints.contains("s0"));
  EXPECT_FALSE(hints.contains("s1"));
  EXPECT_FALSE(hints.contains("s2"));
}

TEST_F(ImporterTest, ANodeThatDoesNotFitItsShapesIsOpaque) {
  auto build = [&](std::vector<Size> result) {
    return ProgramBuilder()
        .input({"x", {4, 8}})
        .parameter({"w", {16, 8}}, "w")
        .node("aten.relu.default", {tensor("self", "x")}, {{"r", {4, 8}}})
        .node("aten.linear.default",
              {tensor("input", "r"), tensor("weight", "w")},
              {{"y", std::move(result)}})
        .output("y");
  };
  EXPECT_EQ(translator.getImportRemarks(build({4, 16})), "");
  EXPECT_THAT(translator.getImportRemarks(build({4, 8})),
              AllOf(HasSubstr("import: y: torch.ops.aten.linear.default is not "
                              "optimized: it contradicts the shapes that the "
                              "graph states: "),
                    HasSubstr("result has size 8 along dim 1, expected 16")));
  // All others are read as ever.
  Imported module = translator.import(build({4, 8}));
  EXPECT_TRUE(llvm::isa<tp::MapOp>(module.getOp("r"))) << module.print();
  EXPECT_TRUE(llvm::isa<tp::CallOp>(module.getOp("y"))) << module.print();
  EXPECT_EQ(translator.exportText(module), build({4, 8}).text());
}

TEST_F(ImporterTest, TensorsOfTooManyDimsAreOpaque) {
  std::vector<Size> sizes(65, Size(1));
  getOp<tp::CallOp>(
      ProgramBuilder()
          .input({"x", sizes})
          .node("aten.relu.default", {tensor("self", "x")}, {{"y", sizes}})
          .output("y"),
      "y");
}

//===----------------------------------------------------------------------===//
// Several results
//===----------------------------------------------------------------------===//

TEST_F(ImporterTest, ChunkIsSlices) {
  auto slice = getOp<tp::SliceOp>(
      ProgramBuilder()
          .input({"x", {4, 6}})
          .listNode(
              "aten.chunk.default",
              {tensor("self", "x"), integer("chunks", 3), integer("dim", -1)},
              {{"a", {4, 2}, f32, {6, 1}},
               {"b", {4, 2}, f32, {6, 1}},
               {"c", {4, 2}, f32, {6, 1}}})
          .output("c"),
      "c");
  EXPECT_EQ(slice.getDim(), 1u);
  EXPECT_EQ(slice.getStart(), 4u);
  EXPECT_TRUE(llvm::isa<tp::SliceOp>(module.getOp("a")));
}

TEST_F(ImporterTest, ResultsThatNobodyReadsNeedNoMeaning) {
  ProgramBuilder builder;
  builder.input({"x", {4, 8}})
      .node("aten.native_layer_norm.default",
            {tensor("input", "x"), integers("normalized_shape", {8}),
             none("weight"), none("bias"), number("eps", "1e-05")},
            {{"y", {4, 8}}, {"mean", {4, 1}}, {"rstd", {4, 1}}})
      .output("y");
  getOp<tp::LayerNormOp>(builder, "y");
  // Where something uses the statistics of a norm, they are formulas.
  getOp<tp::LayerNormOp>(builder.output("mean"), "y");
  EXPECT_FALSE(isa_and_present<tp::CallOp>(module.getOp("mean")));
}

TEST_F(ImporterTest, NodeWithMoreResultsThanItsOperatorHasIsOpaque) {
  getOp<tp::CallOp>(ProgramBuilder()
                        .input({"x", {4}})
                        .node("aten.relu.default", {tensor("self", "x")},
                              {{"y", {4}}, {"z", {4}}})
                        .output("z"),
                    "z");
}

TEST_F(ImporterTest, StackOfTensorsOfOtherRankIsOpaque) {
  getOp<tp::CallOp>(ProgramBuilder()
                        .input({"x", {4}})
                        .node("aten.stack.default",
                              {tensors("tensors", {"x"}), integer("dim", 4)},
                              {{"y", {4, 1, 1, 1, 1}}})
                        .output("y"),
                    "y");
}

//===----------------------------------------------------------------------===//
// What is not understood
//===----------------------------------------------------------------------===//

TEST_F(ImporterTest, UnknownOperatorKeepsItsArguments) {
  std::string argument =
      test::argument("shape", R"({"as_int_lists": [[1, 2], [3]]})");
  auto call =
      getOp<tp::CallOp>(ProgramBuilder()
                            .input({"x", {4}})
                            .node("mylib.mix.default",
                                  {argument, tensor("self", "x")}, {{"y", {4}}})
                            .output("y"),
                        "y");
  EXPECT_EQ(call.getCallee(), "torch.ops.mylib.mix.default");
  EXPECT_THAT(call.getArguments().str(), HasSubstr(argument));
  ASSERT_EQ(call.getOperands().size(), 1u);
  EXPECT_TRUE(call.getMutatedOperands().empty());
}

TEST_F(ImporterTest, HigherOrderOpsAndCustomObjectsAreOpaque) {
  std::string subgraph = argument(
      "", R"({"as_graph": {"name": "true_graph_0", "graph": {"inputs": [], )"
          R"("outputs": [], "nodes": [], "tensor_values": {}, )"
          R"("sym_int_values": {}, "sym_bool_values": {}, )"
          R"("is_single_tensor_return": false, "custom_obj_values": {}, )"
          R"("sym_float_values": {}}}})");
  module = translator.import(
      ProgramBuilder()
          .input({"x", {4}})
          .customObject("obj")
          .node("higher_order.cond", {tensor("", "x"), subgraph}, {{"y", {4}}})
          .node("mylib.use.default",
                {argument("thing", R"({"as_custom_obj": {"name": "obj", )"
                                   R"("class_fqn": "__torch__.Thing"}})"),
                 tensor("x", "y")},
                {{"z", {4}}})
          .output("z"));
  EXPECT_TRUE(llvm::isa<tp::CallOp>(module.getOp("y")));
  auto use = llvm::dyn_cast<tp::CallOp>(module.getOp("z"));
  ASSERT_TRUE(use);
  ASSERT_EQ(use.getOperands().size(), 2u);
  EXPECT_TRUE(llvm::isa<tp::OpaqueType>(use.getOperands()[0].getType()));
}

TEST_F(ImporterTest, NodeWithoutResultsIsKept) {
  module = translator.import(
      ProgramBuilder()
          .input({"x", {4}})
          .rawNode("mylib.print.default", "print", {tensor("x", "x")}, "")
          .rawNode("mylib.print.default", "print", {tensor("x", "x")}, "")
          .output("x"));
  EXPECT_EQ(std::distance(module.getBody().begin(), module.getBody().end()), 3);
  auto edits = translator.exportEdits(module);
  ASSERT_TRUE(bool(edits)) << llvm::toString(edits.takeError());
  EXPECT_TRUE(edits->changesNothing(*module.program));
}

//===----------------------------------------------------------------------===//
// In-place forms
//===----------------------------------------------------------------------===//

TEST_F(ImporterTest, WhatSharesMemoryWithAWrittenValueStaysOpaque) {
  module = translator.import(
      ProgramBuilder()
          .input({"x", {4, 2}})
          .input({"z", {4, 2}})
          .node("aten.clone.default", {tensor("self", "x")}, {{"c", {4, 2}}})
          .node("aten.view.default",
                {tensor("self", "c"), integers("size", {8})}, {{"v", {8}}})
          .node("aten.add_.Tensor", {tensor("self", "v"), integer("other", 1)},
                {{"a", {8}}})
          .node("aten.neg.default", {tensor("self", "c")}, {{"n", {4, 2}}})
          .node("aten.neg.default", {tensor("self", "z")}, {{"m", {4, 2}}})
          .output("n")
          .output("m"));
  // c is written into through v, so that even reading it must stay in place.
  for (StringRef name : {"c", "v", "a", "n"})
    EXPECT_TRUE(llvm::isa<tp::CallOp>(module.getOp(name))) << name.str();
  EXPECT_TRUE(llvm::isa<tp::MapOp>(module.getOp("m")));
  auto add = llvm::cast<tp::CallOp>(module.getOp("a"));
  EXPECT_THAT(add.getMutatedOperands(), ElementsAre(0));
  EXPECT_TRUE(add.getDenseOperands().empty());
}

TEST_F(ImporterTest, InPlaceCollectiveNeedsADenseOperand) {
  auto call = getOp<tp::CallOp>(
      ProgramBuilder()
          .input({"x", {4}})
          .node("_c10d_functional.all_reduce_.default",
                {tensor("input", "x"), text("reduce_op", "sum"),
                 text("group_name", "0")},
                {{"y", {4}}})
          .output("y"),
      "y");
  EXPECT_THAT(call.getDenseOperands(), ElementsAre(0));
  EXPECT_THAT(call.getMutatedOperands(), ElementsAre(0));
}

//===----------------------------------------------------------------------===//
// Collectives and groups
//===----------------------------------------------------------------------===//

static ProgramBuilder makeReduceScatter(StringRef groupArgument,
                                        StringRef group, int64_t size,
                                        Size result) {
  return ProgramBuilder()
      .input({"x", {8, 2}})
      .node("_c10d_functional.reduce_scatter_tensor.default",
            {tensor("input", "x"), text("reduce_op", "avg"),
             integer("group_size", size), text(groupArgument, group)},
            {{"r", {result, 2}}})
      .node("_c10d_functional.wait_tensor.default", {tensor("tensor", "r")},
            {{"w", {result, 2}}})
      .output("w");
}

TEST_F(ImporterTest, GroupArgumentHasTwoNames) {
  for (StringRef name : {"group_name", "group"}) {
    auto scatter =
        getOp<tp::ReduceScatterOp>(makeReduceScatter(name, "0", 2, 4), "r");
    ASSERT_TRUE(scatter);
    EXPECT_EQ(scatter.getReduction(), tp::ReductionKind::Avg);
    EXPECT_EQ(scatter.getGroup().getName(), "0");
    EXPECT_THAT(scatter.getGroup().getRanks(), ElementsAre(0, 1));
    EXPECT_TRUE(scatter.getAsync());
    EXPECT_TRUE(llvm::isa<tp::WaitOp>(module.getOp("w")));
  }
}

TEST_F(ImporterTest, GroupOfStatedSizeIsTheFirstRanks) {
  translator.distributed.groups.clear();
  auto scatter = getOp<tp::ReduceScatterOp>(
      makeReduceScatter("group_name", "7", 4, 2), "r");
  ASSERT_TRUE(scatter);
  EXPECT_THAT(scatter.getGroup().getRanks(), ElementsAre(0, 1, 2, 3));
}

TEST_F(ImporterTest, GroupErrors) {
  EXPECT_THAT(
      translator.getImportError(makeReduceScatter("group_name", "0", 4, 2)),
      HasSubstr("node 'r' (#0): states group_size 4, but group '0' has 2 "
                "members"));
  EXPECT_THAT(
      translator.getImportError(makeReduceScatter("group_name", "7", -4, 2)),
      HasSubstr("the members of process group '7' are not stated: pass "
                "--group=7=0-3"));
  EXPECT_THAT(
      translator.getImportError(
          ProgramBuilder()
              .input({"x", {8}})
              .node("_c10d_functional.all_reduce.default",
                    {tensor("input", "x"), text("reduce_op", "sum"),
                     text("group_name", "9")},
                    {{"r", {8}}})
              .output("r")),
      HasSubstr(
          "m.pt2: node 'r' (#0): the members of process group '9' are not "
          "stated"));
}

TEST_F(ImporterTest, TensorCastGroupsAreRanks) {
  translator.distributed.groups.clear();
  translator.distributed.rank.reset();
  auto gather = getOp<tp::AllGatherOp>(
      ProgramBuilder()
          .input({"x", {2, 4}})
          .node("tensor_cast.all_gather.default",
                {tensor("x", "x"), integer("dim", -1), integer("rank", 5),
                 integers("rank_group", {4, 5})},
                {{"y", {2, 8}}})
          .output("y"),
      "y");
  ASSERT_TRUE(gather);
  EXPECT_EQ(gather.getGatherAxis(), 1u);
  EXPECT_EQ(gather.getGroup().getName(), "");
  EXPECT_THAT(gather.getGroup().getRanks(), ElementsAre(4, 5));
  EXPECT_FALSE(gather.getAsync());
  EXPECT_EQ(module.getModule()
                ->getAttrOfType<mlir::IntegerAttr>(tp::TPDialect::rankAttrName)
                .getInt(),
            5);
}

TEST_F(ImporterTest, FusedAllGatherMatmul) {
  auto fused = getOp<tp::AllGatherMatmulOp>(
      ProgramBuilder()
          .input({"a", {2, 8}})
          .input({"b", {8, 3}})
          .value({"g", {4, 8}})
          .value({"p", {4, 3}})
          .rawNode("symm_mem.fused_all_gather_matmul.default", "fused",
                   {tensor("A", "a"), tensors("Bs", {"b"}),
                    integer("gather_dim", 0), text("group_name", "0")},
                   R"({"as_tensor": {"name": "g"}}, )"
                   R"({"as_tensors": [{"name": "p"}]})")
          .output("p"),
      "p");
  ASSERT_TRUE(fused);
  EXPECT_TRUE(fused.getReturnsGathered());
  EXPECT_EQ(module.getOp("g"), fused);
}

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

static ProgramBuilder makeLinear() {
  return ProgramBuilder()
      .parameter({"p_w", {16, 8}}, "layer.weight")
      .input({"x", {4, 8}})
      .node("aten.linear.default",
            {tensor("input", "x"), tensor("weight", "p_w")}, {{"y", {4, 16}}})
      .output("y");
}

TEST_F(ImporterTest, LaterPlacementsWin) {
  translator.distributed.inputs["layer.weight"]["0"] = "shard(0)";
  translator.distributed.inputs["x"]["0"] = "replicated";
  translator.distributed.rules = {{"x|layer[.].*", "varying", ""},
                                  {"x", "partial(sum)", "0"}};
  module = translator.import(makeLinear());
  std::string text = module.print();
  EXPECT_THAT(text,
              HasSubstr("tp.parameter = \"layer.weight\", tp.placements = "
                        "{\"0\" = #tp.placement<varying>}"));
  EXPECT_THAT(text, HasSubstr("tp.name = \"x\", tp.placements = {\"0\" = "
                              "#tp.placement<partial(sum)>}"));
}

TEST_F(ImporterTest, PlacementErrors) {
  translator.distributed.inputs["nobody"]["0"] = "replicated";
  EXPECT_THAT(translator.getImportError(makeLinear()),
              HasSubstr("a placement is stated for 'nobody', but the "
                        "graph has no input of that name"));
  translator.distributed.inputs.clear();
  translator.distributed.rules = {{"w", "replicated", ""}};
  EXPECT_THAT(translator.getImportError(makeLinear()),
              HasSubstr("no input matches --input-placement=w=replicated"));
  translator.distributed.rules = {{"x", "shard(2)", ""}};
  EXPECT_THAT(translator.getImportError(makeLinear()),
              HasSubstr("input 'x' has 2 dims, but is placed shard(2) on group "
                        "'0'"));
}
