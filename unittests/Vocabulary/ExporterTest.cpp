//===- ExporterTest.cpp - changed modules back as PyTorch graphs ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OperatorRanks.h"
#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using llvm::StringRef;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// n = neg(x); [a, b] = chunk(n); r = relu(a); s = b + r
static ProgramBuilder makeChunks() {
  return ProgramBuilder()
      .input({"x", {4, 6}})
      .input({"z", {4, 6}})
      .node("aten.neg.default", {tensor("self", "x")}, {{"n", {4, 6}}})
      .listNode("aten.chunk.default",
                {tensor("self", "n"), integer("chunks", 2), integer("dim", 1)},
                {{"a", {4, 3}, f32, {6, 1}}, {"b", {4, 3}, f32, {6, 1}}})
      .node("aten.relu.default", {tensor("self", "a")}, {{"r", {4, 3}}})
      .node("aten.add.Tensor", {tensor("self", "b"), tensor("other", "r")},
            {{"s", {4, 3}}})
      .output("s");
}

namespace {
class ExporterTest : public testing::Test {
protected:
  /// Reads what the changed module is written as.
  Imported exportAndImport() {
    text = translator.exportText(module);
    return translator.import(text);
  }
  static std::vector<std::string> getNodeNames(const Imported &imported) {
    std::vector<std::string> names;
    for (const archive::Node &node : imported.program->graph.nodes)
      names.push_back(node.name.str());
    return names;
  }

  Translator translator;
  Imported module;
  std::string text;
};
} // namespace

TEST_F(ExporterTest, UnchangedModuleChangesNothing) {
  module = translator.import(makeChunks());
  auto edits = translator.exportEdits(module);
  ASSERT_TRUE(bool(edits)) << llvm::toString(edits.takeError());
  EXPECT_TRUE(edits->changesNothing(*module.program));
  EXPECT_EQ(edits->apply(*module.program), makeChunks().text());
}

TEST_F(ExporterTest, ReplacedOperandIsARenaming) {
  module = translator.import(makeChunks());
  module.getOp("r")->setOperand(0, module.getOp("b")->getResult(0));
  Imported again = exportAndImport();
  EXPECT_THAT(getNodeNames(again), ElementsAre("n", "node1", "r", "s"));
  std::string expected = makeChunks().text();
  std::string from = tensor("self", "a");
  expected.replace(expected.find(from), from.size(), tensor("self", "b"));
  EXPECT_EQ(text, expected);
}

TEST_F(ExporterTest, ErasedOpIsGoneWithItsMetadata) {
  module = translator.import(makeChunks());
  mlir::Operation *relu = module.getOp("r");
  relu->getResult(0).replaceAllUsesWith(relu->getOperand(0));
  relu->erase();
  Imported again = exportAndImport();
  EXPECT_THAT(getNodeNames(again), ElementsAre("n", "node1", "s"));
  EXPECT_FALSE(again.program->graph.tensorValues.contains("r"));
  EXPECT_TRUE(again.program->graph.tensorValues.contains("a"));
}

TEST_F(ExporterTest, NewCopyIsACloneWithMetadataOfItsOwn) {
  ProgramBuilder builder;
  builder.input({"x", {2, 4}})
      .node("aten.t.default", {tensor("self", "x")},
            {{"clone", {4, 2}, f32, {1, 4}}})
      .node("_c10d_functional.all_gather_into_tensor.default",
            {tensor("input", "clone"), integer("group_size", 2),
             test::text("group_name", "0")},
            {{"g", {8, 2}}})
      .output("g");
  module = translator.import(builder);
  mlir::Operation *gather = module.getOp("g");
  mlir::OpBuilder opBuilder(gather);
  auto type = mlir::RankedTensorType::get({4, 2}, opBuilder.getF32Type());
  for (int i = 0; i < 2; ++i)
    gather->setOperand(0, tp::CopyOp::create(opBuilder, gather->getLoc(), type,
                                             gather->getOperand(0),
                                             /*preserve_strides=*/false));
  Imported again = exportAndImport();
  // The name that a clone would have is taken.
  EXPECT_THAT(getNodeNames(again),
              ElementsAre("clone", "clone_1", "clone_2", "g"));
  const archive::Graph &graph = again.program->graph;
  const archive::Node &clone = graph.nodes[1];
  EXPECT_EQ(clone.target, "torch.ops.aten.clone.default");
  EXPECT_EQ(clone.inputs[0].value.text, "clone");
  const archive::Argument *format = clone.find("memory_format");
  ASSERT_TRUE(format);
  EXPECT_EQ(format->tag, archive::ArgumentTag::MemoryFormat);
  EXPECT_EQ(format->integer, int64_t(archive::MemoryFormat::Contiguous));
  EXPECT_EQ(clone.inputs[1].kind, archive::ArgumentKind::Keyword);
  // That of the collective it was made for.
  EXPECT_EQ(clone.metadata, graph.nodes[3].metadata);
  EXPECT_THAT(clone.stackTrace.str(), HasSubstr("line 2"));
  const archive::TensorMeta &meta = graph.tensorValues.find("clone_1")->second;
  EXPECT_EQ(meta.sizes[0].value, 4);
  EXPECT_EQ(meta.sizes[1].value, 2);
  EXPECT_EQ(meta.strides[0].value, 2);
  EXPECT_EQ(meta.strides[1].value, 1);
  EXPECT_EQ(meta.dtype, archive::ScalarType::Float);
  EXPECT_EQ(graph.nodes[3].inputs[0].value.text, "clone_2");
}

TEST_F(ExporterTest, NewNamesOfOutputsAreFollowedEverywhere) {
  module = translator.import(makeChunks());
  mlir::Operation *terminator = module.getBody().getTerminator();
  terminator->setOperand(0, module.getOp("r")->getResult(0));
  Imported again = exportAndImport();
  EXPECT_EQ(again.program->graph.outputs[0].text, "r");
  EXPECT_EQ(again.program->outputSpecs[0].argument.text, "r");
  // The module call graph names the outputs as well.
  std::string calls = again.program->document->root()
                          .get("graph_module")
                          .get("module_call_graph")
                          .text()
                          .str();
  EXPECT_THAT(calls, HasSubstr(R"({"as_tensor": {"name": "r"}})"));
  EXPECT_THAT(calls, testing::Not(HasSubstr(R"("name": "s")")));
}

TEST_F(ExporterTest, OutputMayBeAnInput) {
  module = translator.import(makeChunks());
  module.getBody().getTerminator()->setOperand(0,
                                               module.getBody().getArgument(1));
  EXPECT_EQ(exportAndImport().program->graph.outputs[0].text, "z");
}

//===----------------------------------------------------------------------===//
// Nodes of several ops
//===----------------------------------------------------------------------===//

TEST_F(ExporterTest, AllResultsOfANodeMayFollowOneRenaming) {
  module = translator.import(makeChunks());
  module.getOp("n")->getResult(0).replaceAllUsesWith(
      module.getBody().getArgument(1));
  Imported again = exportAndImport();
  const archive::Node &chunk = again.program->graph.nodes[1];
  EXPECT_EQ(chunk.target, "torch.ops.aten.chunk.default");
  EXPECT_EQ(chunk.inputs[0].value.text, "z");
  EXPECT_EQ(again.program->graph.nodes.size(), 4u);
}

TEST_F(ExporterTest, OneResultOfANodeMayGetAnotherOperand) {
  // Once for the slice that comes first, once for the one that comes last.
  for (StringRef name : {"a", "b"}) {
    module = translator.import(makeChunks());
    module.getOp(name)->setOperand(0, module.getBody().getArgument(1));
    std::string expected = module.print();
    Imported again = exportAndImport();
    // What the chunk also computes, nobody reads.
    for (mlir::Operation &op :
         llvm::make_early_inc_range(llvm::reverse(again.getBody())))
      if (llvm::isa<tp::SliceOp>(op) && op.use_empty())
        op.erase();
    EXPECT_EQ(again.print(), expected) << text;
  }
}

TEST_F(ExporterTest, ChangedResultOfANodeIsWrittenBesideIt) {
  module = translator.import(makeChunks());
  // The first slice takes other columns: the second stays as it is, in a node
  // that would give the first its name.
  llvm::cast<tp::SliceOp>(module.getOp("a")).setStart(1);
  std::string expected = module.print();
  Imported again = exportAndImport();
  EXPECT_EQ(again.print(), expected) << text;
}

TEST_F(ExporterTest, CopyOfAnOpIsANodeOfItsOwn) {
  module = translator.import(makeChunks());
  mlir::Operation *relu = module.getOp("r");
  mlir::Operation *copy = relu->clone();
  copy->setOperand(0, module.getOp("b")->getResult(0));
  relu->getBlock()->getOperations().insertAfter(relu->getIterator(), copy);
  module.getOp("s")->setOperand(0, copy->getResult(0));
  std::string expected = module.print();
  EXPECT_EQ(exportAndImport().print(), expected) << text;
}

TEST_F(ExporterTest, OneNameOfAnOpaqueNodeMayBecomeTwo) {
  module = translator.import(ProgramBuilder()
                                 .input({"x", {4}})
                                 .input({"z", {4}})
                                 .node("mylib.pair.default",
                                       {tensor("a", "x"), tensor("b", "x")},
                                       {{"y", {4}}})
                                 .output("y"));
  module.getOp("y")->setOperand(1, module.getBody().getArgument(1));
  const auto again = exportAndImport();
  const archive::Node &node = again.program->graph.nodes[0];
  EXPECT_EQ(node.inputs[0].value.text, "x");
  EXPECT_EQ(node.inputs[1].value.text, "z");
}

TEST_F(ExporterTest, InnerOpsAreWrittenWhereOthersReadThem) {
  // The product inside add(x, z, alpha=2) is no node; then a node reads it.
  module = translator.import(
      ProgramBuilder()
          .input({"x", {4}})
          .input({"z", {4}})
          .node(
              "aten.add.Tensor",
              {tensor("self", "x"), tensor("other", "z"), integer("alpha", 2)},
              {{"y", {4}}})
          .node("aten.neg.default", {tensor("self", "y")}, {{"n", {4}}})
          .output("n"));
  mlir::Value product = module.getOp("y")->getOperand(1);
  module.getOp("n")->setOperand(0, product);
  Imported again = exportAndImport();
  EXPECT_THAT(getNodeNames(again), ElementsAre("y", "mul", "n"));
  EXPECT_EQ(again.program->graph.nodes[0].find("alpha")->integer, 2);
}

//===----------------------------------------------------------------------===//
// What cannot be written
//===----------------------------------------------------------------------===//

TEST_F(ExporterTest, RankSliceIsOfOneRanksProgram) {
  module = translator.import(ProgramBuilder().input({"x", {4}}).output("x"));
  mlir::OpBuilder builder(module.getBody().getTerminator());
  auto type = mlir::RankedTensorType::get({2}, builder.getF32Type());
  auto slice = tp::RankSliceOp::create(
      builder, builder.getUnknownLoc(), type, module.getBody().getArgument(0),
      /*slice_axis=*/0, tp::GroupAttr::get(&translator.context, "0", {0, 1}));
  module.getBody().getTerminator()->setOperand(0, slice);
  auto edits = translator.exportEdits(module);
  ASSERT_FALSE(bool(edits));
  EXPECT_THAT(llvm::toString(edits.takeError()),
              HasSubstr("takes the rows of one rank, but the graph is for all "
                        "ranks: pass --rank=R"));
}

TEST_F(ExporterTest, CollectiveAlongAnotherDimIsAnError) {
  module = translator.import(ProgramBuilder().input({"x", {4, 4}}).output("x"));
  mlir::OpBuilder builder(module.getBody().getTerminator());
  auto type = mlir::RankedTensorType::get({4, 8}, builder.getF32Type());
  auto gather = tp::AllGatherOp::create(
      builder, builder.getUnknownLoc(), type, module.getBody().getArgument(0),
      /*gather_axis=*/1, tp::GroupAttr::get(&translator.context, "0", {0, 1}),
      /*async=*/false);
  module.getBody().getTerminator()->setOperand(0, gather);
  auto edits = translator.exportEdits(module);
  ASSERT_FALSE(bool(edits));
  EXPECT_THAT(llvm::toString(edits.takeError()),
              HasSubstr("PyTorch has no collective along dim 1"));
}

//===----------------------------------------------------------------------===//
// The graph's own spelling
//===----------------------------------------------------------------------===//

TEST_F(ExporterTest, GroupArgumentIsCalledAsInTheGraph) {
  for (StringRef name : {"group_name", "group"}) {
    module = translator.import(
        ProgramBuilder()
            .input({"x", {4}})
            .node("_c10d_functional.all_reduce.default",
                  {tensor("input", "x"), test::text("reduce_op", "sum"),
                   test::text(name, "0")},
                  {{"y", {4}}})
            .output("y"));
    llvm::cast<tp::AllReduceOp>(module.getOp("y"))
        .setReduction(tp::ReductionKind::Max);
    Imported again = exportAndImport();
    const archive::Node &node = again.program->graph.nodes[0];
    EXPECT_EQ(node.find("reduce_op")->text, "max");
    ASSERT_TRUE(node.find(name)) << text;
  }
}

TEST_F(ExporterTest, SymbolicSizesAreSpelledAsInTheGraph) {
  // A size that is not understood, and one made of it.
  Size size("Max(Integer(2), Symbol('s0', positive=True, integer=True))", 3);
  module =
      translator.import(ProgramBuilder()
                            .input({"x", {4, size}, f32, {1, 4}})
                            .node("aten.neg.default", {tensor("self", "x")},
                                  {{"y", {4, size}, f32, {1, 4}}})
                            .output("y"));
  mlir::OpBuilder builder(module.getBody().getTerminator());
  tp::SymbolSpace symbols(&translator.context);
  auto type = llvm::cast<mlir::RankedTensorType>(
      module.getOp("y")->getResult(0).getType());
  tp::Sizes sizes = symbols.getSizes(type);
  // Of [max, 4] the copy's outer stride is 4; of [1, 4, max] it is 4 * max.
  auto reshaped =
      symbols.getType(type.getElementType(), {1, sizes[0], sizes[1]},
                      tp::Strides({tp::multiply(sizes[1], 4), sizes[1], 1}));
  auto reshape =
      tp::ReshapeOp::create(builder, builder.getUnknownLoc(), reshaped,
                            module.getOp("y")->getResult(0));
  module.getBody().getTerminator()->setOperand(0, reshape);
  Imported again = exportAndImport();
  const archive::TensorMeta &meta =
      again.program->graph.tensorValues.find("reshape")->second;
  EXPECT_EQ(meta.sizes[2].expression, size.text);
  EXPECT_EQ(meta.strides[0].expression, "Mul(Integer(4), " + size.text + ")");
  EXPECT_EQ(meta.strides[0].hint, 12);
}

/// y = x @ w with x of three dims, and a new op in place of y.
static Imported importProduct(Translator &translator) {
  return translator.import(
      ProgramBuilder()
          .input({"x", {2, 4, 8}})
          .parameter({"w", {8, 16}}, "w")
          .node("aten.matmul.default",
                {tensor("self", "x"), tensor("other", "w")},
                {{"y", {2, 4, 16}}})
          .node("aten.relu.default", {tensor("self", "y")}, {{"z", {2, 4, 16}}})
          .output("z"));
}

TEST_F(ExporterTest, NewOpsThatAreNotValidAreNotWritten) {
  // As a pass that runs unverified may leave them.
  auto exportWith = [&](llvm::ArrayRef<int64_t> sizes) {
    module = importProduct(translator);
    mlir::Operation *y = module.getOp("y");
    mlir::OpBuilder builder(y);
    builder.setInsertionPointAfter(y);
    auto type = mlir::RankedTensorType::get(sizes, builder.getF32Type());
    auto copy = tp::CopyOp::create(builder, y->getLoc(), type, y->getResult(0));
    y->getResult(0).replaceAllUsesExcept(copy, copy);
    auto edits = translator.exportEdits(module);
    return edits ? "" : llvm::toString(edits.takeError());
  };
  EXPECT_EQ(exportWith({2, 4, 16}), "");
  EXPECT_THAT(exportWith({2, 4, 15}),
              AllOf(HasSubstr("\"y\""), HasSubstr("'tp.copy' op result has")));
}

TEST_F(ExporterTest, KeptNodesReadTensorsLikeThoseBefore) {
  auto exportWith = [&](llvm::ArrayRef<int64_t> sizes) {
    module = translator.import(
        ProgramBuilder()
            .input({"x", {2, 4, 8}})
            .node("mylib.check.default", {tensor("self", "x")}, {{"z", {2}}})
            .output("z"));
    mlir::Operation *call = module.getOp("z");
    mlir::OpBuilder builder(call);
    auto type = mlir::RankedTensorType::get(sizes, builder.getF32Type());
    call->setOperand(0, tp::ReshapeOp::create(builder, call->getLoc(), type,
                                              call->getOperand(0)));
    auto edits = translator.exportEdits(module);
    return edits ? "" : llvm::toString(edits.takeError());
  };
  EXPECT_EQ(exportWith({2, 4, 8}), "");
  EXPECT_THAT(exportWith({8, 8}),
              HasSubstr("the node 'z' (torch.ops.mylib.check.default) would "
                        "use 'reshape' of type"));
}

TEST_F(ExporterTest, OperatorsGetTensorsOfTheRanksThatTheyTake) {
  archive::Node node;
  node.target = "torch.ops.aten.mm.default";
  for (auto [argument, value] : {std::pair("self", "a"), {"mat2", "b"}}) {
    archive::Argument operand;
    operand.tag = archive::ArgumentTag::Tensor;
    operand.text = value;
    node.inputs.push_back({argument, operand, std::nullopt});
  }
  auto check = [&](size_t a, size_t b) {
    return vocabulary::findRankProblem(node, [&](llvm::StringRef name) {
      return std::optional(name == "a" ? a : b);
    });
  };
  EXPECT_EQ(check(2, 2), "");
  EXPECT_EQ(check(3, 2), "argument self has 3 dims, but the operator takes 2");
  EXPECT_EQ(check(2, 1), "argument mat2 has 1 dims, but the operator takes 2");
}

TEST_F(ExporterTest, FactoriesSayWhereTheirResultIs) {
  std::string text =
      ProgramBuilder()
          .input({"x", {4}})
          .node("aten.neg.default", {tensor("self", "x")}, {{"y", {4}}})
          .output("y")
          .text();
  for (size_t at; (at = text.find(R"("cpu", "index": null)")) != text.npos;)
    text.replace(at, strlen(R"("cpu", "index": null)"),
                 R"("cuda", "index": 1)");
  module = translator.import(text);
  mlir::OpBuilder builder(module.getOp("y"));
  auto type = mlir::RankedTensorType::get({4}, builder.getF32Type());
  auto zeros = tp::ConstantOp::create(builder, builder.getUnknownLoc(), type,
                                      builder.getF64FloatAttr(0.5));
  module.getOp("y")->setOperand(0, zeros);
  Imported again = exportAndImport();
  const archive::Node &node = again.program->graph.nodes[0];
  EXPECT_EQ(node.target, "torch.ops.aten.full.default");
  ASSERT_TRUE(node.find("device"));
  EXPECT_EQ(node.find("device")->text, "cuda");
  EXPECT_EQ(node.find("device")->integer, 1);
  EXPECT_EQ(
      again.program->graph.tensorValues.find(node.name)->second.device.type,
      "cuda");
}
