//===- VocabularyFileTest.cpp - what vocabulary files can say -------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/GroupSpelling.h"
#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using testing::ElementsAre;
using testing::HasSubstr;

/// A file of one operator of mylib.
static std::string getFile(llvm::StringRef name, llvm::StringRef entry) {
  return (R"({"version": 1, "name": "mylib", "operators": {"torch.ops.mylib.)" +
          name + R"(.default": )" + entry + "}}")
      .str();
}

static void add(Translator &translator, const std::string &file) {
  cantFail(translator.vocabulary.addUserVocabulary(file, "v.json"));
}

/// The last node after a change of the op that defines "y".
static archive::Node writeChanged(Translator &translator,
                                  const ProgramBuilder &builder,
                                  std::unique_ptr<archive::Program> &again) {
  Imported imported = translator.import(builder);
  mlir::Operation *op = imported.getOp("y");
  op->setAttr("tp.changed", mlir::UnitAttr::get(op->getContext()));
  again = cantFail(archive::parseProgram(translator.exportText(imported), "t"));
  return again->graph.nodes.back();
}

static std::vector<std::string> getNames(const archive::Node &node) {
  std::vector<std::string> names;
  for (const archive::NamedArgument &input : node.inputs)
    names.push_back(input.name.str());
  return names;
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// A sum over ranks with an argument that says how.
static ProgramBuilder getSum(llvm::StringRef algorithm) {
  return ProgramBuilder()
      .input({"x", {4, 2}})
      .node("mylib.sum.default",
            {tensor("x", "x"), algorithm.str(), text("group_name", "g")},
            {{"y", {4, 2}}})
      .output("y");
}

static constexpr llvm::StringLiteral sumEntry =
    R"({"same_as": "torch.ops._c10d_functional.all_reduce.default", )"
    R"("arguments": {"input": "x"}, "constants": {"reduce_op": "max"}, )"
    R"("ignored": ["algorithm"], "wait": false})";

TEST(VocabularyFile, ConstantsStandForMissingArguments) {
  Translator translator;
  translator.distributed.groups["g"] = {{0, 1}};
  add(translator, getFile("sum", sumEntry));
  Imported imported = translator.import(getSum(text("algorithm", "ring")));
  auto reduce = llvm::dyn_cast_if_present<tp::AllReduceOp>(imported.getOp("y"));
  ASSERT_TRUE(reduce) << imported.print();
  EXPECT_EQ(reduce.getReduction(), tp::ReductionKind::Max);
  EXPECT_FALSE(reduce.getAsync());
}

TEST(VocabularyFile, IgnoredArgumentIsWrittenAgain) {
  Translator translator;
  translator.distributed.groups["g"] = {{0, 1}};
  add(translator, getFile("sum", sumEntry));
  std::unique_ptr<archive::Program> again;
  archive::Node node =
      writeChanged(translator, getSum(text("algorithm", "ring")), again);
  EXPECT_EQ(node.target, "torch.ops.mylib.sum.default");
  EXPECT_THAT(getNames(node), ElementsAre("x", "algorithm", "group_name"));
  EXPECT_EQ(node.inputs[1].value.text, "ring");
}

TEST(VocabularyFile, IgnoredTensorStaysOpaque) {
  Translator translator;
  translator.distributed.groups["g"] = {{0, 1}};
  add(translator, getFile("sum", sumEntry));
  Imported imported = translator.import(getSum(tensor("algorithm", "x")));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(imported.getOp("y")));
}

TEST(VocabularyFile, ArgumentThatIsNotDescribedIsReported) {
  Translator translator;
  translator.distributed.groups["g"] = {{0, 1}};
  add(translator, getFile("sum", sumEntry));
  EXPECT_EQ(translator.getImportRemarks(getSum(text("algorithm", "ring"))), "");
  EXPECT_THAT(translator.getImportRemarks(getSum(integer("root", 0))),
              HasSubstr("import: y: torch.ops.mylib.sum.default does not match "
                        "its description in mylib: argument \"root\" is not "
                        "described"));
}

TEST(VocabularyFile, OperatorThatNoNodeCallsIsReported) {
  Translator translator;
  add(translator,
      getFile("other", R"({"same_as": "torch.ops.aten.neg.default"})"));
  ProgramBuilder builder =
      ProgramBuilder()
          .input({"x", {4}})
          .node("aten.neg.default", {tensor("self", "x")}, {{"y", {4}}})
          .output("y");
  EXPECT_THAT(translator.getImportRemarks(builder),
              HasSubstr("no node of the graph calls "
                        "torch.ops.mylib.other.default, which mylib "
                        "describes"));
  ProgramBuilder called =
      ProgramBuilder()
          .input({"x", {4}})
          .node("mylib.other.default", {tensor("self", "x")}, {{"y", {4}}})
          .output("y");
  EXPECT_EQ(translator.getImportRemarks(called), "");
}

TEST(VocabularyFile, ListOfTensorsThatAreTakenOneByOne) {
  Translator translator;
  add(translator,
      getFile("join", R"({"same_as": "torch.ops.aten.cat.default", )"
                      R"("arguments": {"tensors": ["a", "b"]}})"));
  std::unique_ptr<archive::Program> again;
  ProgramBuilder builder =
      ProgramBuilder()
          .input({"x", {4, 2}})
          .input({"z", {4, 3}})
          .node("mylib.join.default",
                {tensor("b", "z"), tensor("a", "x"), integer("dim", 1)},
                {{"y", {4, 5}}})
          .output("y");
  Imported imported = translator.import(builder);
  EXPECT_TRUE(llvm::isa_and_present<tp::ConcatOp>(imported.getOp("y")));
  archive::Node node = writeChanged(translator, builder, again);
  EXPECT_EQ(node.target, "torch.ops.mylib.join.default");
  EXPECT_THAT(getNames(node), ElementsAre("b", "a", "dim"));
  EXPECT_EQ(node.inputs[0].value.text, "z");
  EXPECT_EQ(node.inputs[1].value.text, "x");
}

/// y = a - b of a list of tensors.
static ProgramBuilder getDifference(const std::vector<std::string> &values) {
  return ProgramBuilder()
      .input({"x", {4}})
      .input({"z", {4}})
      .node("mylib.minus.default", {tensors("both", values)}, {{"y", {4}}})
      .output("y");
}

TEST(VocabularyFile, ElementsOfAList) {
  Translator translator;
  add(translator,
      getFile("minus",
              R"({"same_as": "torch.ops.aten.sub.Tensor", "arguments":)"
              R"( {"self": "both[1]", "other": "both[0]"}})"));
  Imported imported = translator.import(getDifference({"x", "z"}));
  auto map = llvm::dyn_cast_if_present<tp::MapOp>(imported.getOp("y"));
  ASSERT_TRUE(map) << imported.print();
  EXPECT_EQ(map.getOperands()[0], imported.getBody().getArgument(1));
  std::unique_ptr<archive::Program> again;
  archive::Node node =
      writeChanged(translator, getDifference({"x", "z"}), again);
  ASSERT_EQ(node.inputs.size(), 1u);
  EXPECT_EQ(node.inputs[0].value.elements[0].text, "x");
  EXPECT_EQ(node.inputs[0].value.elements[1].text, "z");
  // The vocabulary says nothing about a third.
  Imported longer = translator.import(getDifference({"x", "z", "x"}));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(longer.getOp("y")));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// The sum and the norm of x and z, in this order.
static ProgramBuilder getSumAndNorm() {
  return ProgramBuilder()
      .input({"x", {4, 8}})
      .input({"z", {4, 8}})
      .parameter({"w", {8}}, "norm.w")
      .node("mylib.add_norm.default",
            {tensor("x", "x"), tensor("residual", "z"), tensor("weight", "w"),
             number("eps", "1e-06")},
            {{"sum", {4, 8}}, {"y", {4, 8}}})
      .output("sum")
      .output("y");
}

TEST(VocabularyFile, ResultsByPosition) {
  Translator translator;
  add(translator,
      getFile("add_norm",
              R"({"same_as": "torch.ops.tensor_cast.add_rms_norm2.default", )"
              R"("results": [1, 0]})"));
  Imported imported = translator.import(getSumAndNorm());
  auto norm = llvm::dyn_cast_if_present<tp::AddRmsNormOp>(imported.getOp("y"));
  ASSERT_TRUE(norm) << imported.print();
  auto results = imported.getBody().getTerminator()->getOperands();
  EXPECT_EQ(results[0], norm.getSum());
  EXPECT_EQ(results[1], norm.getNormalized());
  std::unique_ptr<archive::Program> again;
  archive::Node node = writeChanged(translator, getSumAndNorm(), again);
  EXPECT_EQ(node.target, "torch.ops.mylib.add_norm.default");
  EXPECT_EQ(node.outputs[0].text, "sum");
  EXPECT_EQ(node.outputs[1].text, "y");
}

TEST(VocabularyFile, ResultThatIsNotDescribedStaysOpaqueWhereItIsUsed) {
  Translator translator;
  add(translator,
      getFile("add_norm",
              R"({"same_as": "torch.ops.tensor_cast.add_rms_norm.default", )"
              R"("results": [1]})"));
  Imported imported = translator.import(getSumAndNorm());
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(imported.getOp("y")));
}

//===----------------------------------------------------------------------===//
// Mutated arguments
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral writtenNorm =
    R"({"same_as": "torch.ops.tensor_cast.rms_norm.default", )"
    R"("mutated": ["out"], "results": ["out"]})";

static std::string getOperator(llvm::StringRef target) {
  return argument("", (R"({"as_operator": ")" + target + "\"}").str());
}

/// A norm into new memory, after functionalization.
static ProgramBuilder getWrittenNorm(bool hasViews,
                                     std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {
      getOperator("torch.ops.mylib.norm.default")};
  if (!hasViews)
    arguments.push_back(tensor("out", "memory"));
  arguments.insert(arguments.end(), {tensor("x", "x"), tensor("weight", "w"),
                                     number("eps", "1e-06")});
  if (hasViews)
    arguments.insert(arguments.end(), {integer("_out_base_index", 0),
                                       tensors("_all_bases", {"memory"})});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return ProgramBuilder()
      .input({"x", {4, 8}})
      .parameter({"w", {8}}, "norm.w")
      .node("aten.empty.memory_format", {integers("size", {4, 8})},
            {{"memory", {4, 8}}})
      .value({"y", {4, 8}})
      .rawNode(hasViews ? "higher_order.auto_functionalized_v2"
                        : "higher_order.auto_functionalized",
               "auto_functionalized", arguments,
               R"({"as_none": true}, {"as_tensor": {"name": "y"}})")
      .output("y");
}

class FunctionalizedCalls : public testing::TestWithParam<bool> {};

TEST_P(FunctionalizedCalls, AreReadAndKept) {
  Translator translator;
  add(translator, getFile("norm", writtenNorm));
  Imported imported = translator.import(getWrittenNorm(GetParam()));
  EXPECT_TRUE(llvm::isa_and_present<tp::RmsNormOp>(imported.getOp("y")))
      << imported.print();
  auto edits = translator.exportEdits(imported);
  ASSERT_TRUE(bool(edits)) << llvm::toString(edits.takeError());
  EXPECT_TRUE(edits->changesNothing(*imported.program));
}

TEST_P(FunctionalizedCalls, AreWrittenInTheSameForm) {
  Translator translator;
  add(translator, getFile("norm", writtenNorm));
  std::unique_ptr<archive::Program> again;
  archive::Node node =
      writeChanged(translator, getWrittenNorm(GetParam()), again);
  EXPECT_EQ(node.target, GetParam()
                             ? "torch.ops.higher_order.auto_functionalized_v2"
                             : "torch.ops.higher_order.auto_functionalized");
  EXPECT_EQ(node.inputs[0].value.tag, archive::ArgumentTag::Operator);
  EXPECT_EQ(node.inputs[0].value.text, "torch.ops.mylib.norm.default");
  ASSERT_EQ(node.outputs.size(), 2u);
  EXPECT_EQ(node.outputs[0].tag, archive::ArgumentTag::None);
  EXPECT_EQ(node.outputs[1].text, "y");
  // The memory is new: nothing reads what was there.
  const archive::Argument *memory =
      node.find(GetParam() ? "_all_bases" : "out");
  ASSERT_TRUE(memory);
  const archive::Argument &written =
      GetParam() ? memory->elements.front() : *memory;
  EXPECT_EQ(written.text, "empty");
  // What was written is read again.
  Imported reread =
      translator.import(translator.exportText(*std::make_unique<Imported>(
          translator.import(getWrittenNorm(GetParam())))));
  EXPECT_TRUE(llvm::isa_and_present<tp::RmsNormOp>(reread.getOp("y")));
}

INSTANTIATE_TEST_SUITE_P(Forms, FunctionalizedCalls, testing::Bool());

TEST(VocabularyFile, MutatedArgumentThatIsAViewStaysOpaque) {
  Translator translator;
  add(translator, getFile("norm", writtenNorm));
  for (bool isWhole : {true, false}) {
    Imported imported = translator.import(getWrittenNorm(
        /*hasViews=*/true, isWhole
                               ? std::vector{truth("_out_alias", true)}
                               : std::vector{integer("_out_slice_dim", 0),
                                             integer("_out_slice_start", 0),
                                             integer("_out_slice_end", 2)}));
    EXPECT_EQ(llvm::isa_and_present<tp::RmsNormOp>(imported.getOp("y")),
              isWhole);
  }
}

TEST(VocabularyFile, DirectCallOfAMutatingOperatorWritesInPlace) {
  Translator translator;
  add(translator, getFile("norm", writtenNorm));
  Imported imported = translator.import(
      ProgramBuilder()
          .input({"x", {4, 8}})
          .parameter({"w", {8}}, "norm.w")
          .node("aten.neg.default", {tensor("self", "x")}, {{"m", {4, 8}}})
          .node("mylib.norm.default",
                {tensor("out", "m"), tensor("x", "x"), tensor("weight", "w"),
                 number("eps", "1e-06")},
                {})
          .node("aten.neg.default", {tensor("self", "m")}, {{"y", {4, 8}}})
          .output("y"));
  // The second negation reads what the norm has written.
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(imported.getOp("y")))
      << imported.print();
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

static constexpr llvm::StringLiteral collectives =
    R"({"version": 1, "name": "mylib", "own_group_names": true, "operators": {)"
    R"("torch.ops.mylib.gather.default": {)"
    R"("same_as": "torch.ops._c10d_functional.all_gather_into_tensor.default", )"
    R"("arguments": {"input": "x", "dim": "axis", "group_size": "ranks"}, )"
    R"("wait": false, "signature": ["x", "axis", "ranks", "group_name"]}, )"
    R"("torch.ops.mylib.sum.default": {)"
    R"("same_as": "torch.ops._c10d_functional.all_reduce.default", )"
    R"("arguments": {"input": "x"}, "constants": {"reduce_op": "sum"}, )"
    R"("wait": false}}})";

static ProgramBuilder getOwnSum() {
  return ProgramBuilder()
      .input({"x", {4, 2}})
      .node("mylib.sum.default", {tensor("x", "x"), text("group_name", "tp:0")},
            {{"y", {4, 2}}})
      .output("y");
}

/// Gathers the result of the sum along dim 1.
static void addGather(Imported &imported) {
  auto reduce = llvm::cast<tp::AllReduceOp>(imported.getOp("y"));
  mlir::OpBuilder builder(reduce->getBlock()->getTerminator());
  builder.setInsertionPointAfter(reduce);
  auto type = mlir::RankedTensorType::get({4, 4}, builder.getF32Type());
  auto gather =
      tp::AllGatherOp::create(builder, reduce.getLoc(), type,
                              reduce.getResult(), 1, reduce.getGroup(), false);
  imported.getBody().getTerminator()->setOperand(0, gather);
  auto function =
      llvm::cast<mlir::func::FuncOp>(imported.getBody().getParentOp());
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), {type}));
}

TEST(VocabularyFile, NewCollectivesOfAGroupAreTheVocabularys) {
  Translator translator;
  translator.distributed.groups["tp:0"] = {{0, 1}};
  add(translator, collectives.str());
  Imported imported = translator.import(getOwnSum());
  tp::GroupSpelling spelling = tp::getGroupSpelling(
      llvm::cast<tp::AllReduceOp>(imported.getOp("y")).getGroup(),
      imported.getModule());
  EXPECT_EQ(spelling.vocabulary, "mylib");
  EXPECT_TRUE(spelling.gathersAnyDim);
  EXPECT_FALSE(spelling.hasReduceScatter);
  EXPECT_EQ(spelling.processGroup, "");
  addGather(imported);
  auto again =
      cantFail(archive::parseProgram(translator.exportText(imported), "t"));
  const archive::Node &node = again->graph.nodes.back();
  EXPECT_EQ(node.target, "torch.ops.mylib.gather.default");
  EXPECT_THAT(getNames(node), ElementsAre("x", "axis", "ranks", "group_name"));
  EXPECT_EQ(node.inputs[1].value.integer, 1);
  EXPECT_EQ(node.inputs[3].value.text, "tp:0");
  EXPECT_EQ(node.inputs[3].kind, archive::ArgumentKind::Positional);
}

TEST(VocabularyFile, GroupsOfPyTorchsOwnNameAreTheVocabularysGroups) {
  Translator translator;
  translator.distributed.groups["tp:0"] = {{0, 1}};
  translator.distributed.processGroups["tp:0"] = "7";
  add(translator, collectives.str());
  Imported imported = translator.import(
      ProgramBuilder()
          .input({"x", {4, 2}})
          .node("mylib.sum.default",
                {tensor("x", "x"), text("group_name", "tp:0")}, {{"s", {4, 2}}})
          .node("_c10d_functional.all_reduce.default",
                {tensor("input", "s"), text("reduce_op", "sum"),
                 text("group_name", "7")},
                {{"t", {4, 2}}})
          .node("_c10d_functional.wait_tensor.default", {tensor("tensor", "t")},
                {{"y", {4, 2}}})
          .output("y"));
  auto own = llvm::cast<tp::AllReduceOp>(imported.getOp("s"));
  auto theirs = llvm::cast<tp::AllReduceOp>(imported.getOp("t"));
  EXPECT_EQ(own.getGroup(), theirs.getGroup());
  EXPECT_EQ(tp::getGroupSpelling(own.getGroup(), own).processGroup, "7");
  EXPECT_TRUE(tp::getGroupSpelling(own.getGroup(), own).hasReduceScatter);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST(VocabularyFile, Errors) {
  auto getError = [](llvm::StringRef entry) {
    vocabulary::Vocabulary vocabulary;
    llvm::Error error =
        vocabulary.addUserVocabulary(getFile("f", entry), "v.json");
    return error ? llvm::toString(std::move(error)) : "";
  };
  constexpr llvm::StringLiteral same =
      R"({"same_as": "torch.ops.tensor_cast.rms_norm.default", )";
  auto get = [&](llvm::StringRef rest) {
    return getError((same + rest + "}").str());
  };
  // Legal, then not.
  EXPECT_EQ(get(R"("constants": {"eps": 1e-6})"), "");
  EXPECT_THAT(get(R"("constants": {"eps": {}})"),
              HasSubstr("the constant \"eps\" must be null, true, false, a "
                        "number, a string or a list of integers"));
  EXPECT_THAT(get(R"("arguments": {"eps": "e"}, "constants": {"eps": 1})"),
              HasSubstr("argument \"eps\" is both in \"arguments\" and in "
                        "\"constants\""));
  EXPECT_EQ(get(R"("ignored": ["mode"])"), "");
  EXPECT_THAT(get(R"("ignored": "mode")"),
              HasSubstr("\"ignored\" must be a list of different arguments"));
  EXPECT_THAT(get(R"("ignored": ["e"], "arguments": {"eps": "e"})"),
              HasSubstr("argument \"e\" is both in \"ignored\""));
  EXPECT_EQ(get(R"("mutated": ["out"], "results": ["out"])"), "");
  EXPECT_THAT(get(R"("mutated": ["out"], "results": ["x"])"),
              HasSubstr("\"results\" must be a list that states"));
  EXPECT_THAT(get(R"("mutated": ["out", "out"])"),
              HasSubstr("\"mutated\" must be a list of different arguments"));
  EXPECT_EQ(get(R"("results": [1])"), "");
  EXPECT_THAT(get(R"("results": [-1])"), HasSubstr("\"results\" must be"));
  EXPECT_EQ(get(R"("arguments": {"x": "xs[1]"})"), "");
  EXPECT_THAT(get(R"("arguments": {"x": "xs[y]"})"),
              HasSubstr("argument \"x\" must be a string"));
  EXPECT_THAT(get(R"("wait": false)"),
              HasSubstr("\"wait\" is for collectives"));
  EXPECT_EQ(
      getError(
          R"({"same_as": "torch.ops._c10d_functional.all_reduce.default", )"
          R"("wait": true})"),
      "");
  EXPECT_THAT(get(R"("same": 1)"),
              HasSubstr("operator \"torch.ops.mylib.f.default\" has the "
                        "unknown key \"same\"; the known keys are same_as"));
}

TEST(VocabularyFile, NamesAreUnique) {
  vocabulary::Vocabulary vocabulary;
  cantFail(vocabulary.addUserVocabulary(R"({"version": 1, "operators": {}})",
                                        "a.json"));
  cantFail(vocabulary.addUserVocabulary(R"({"version": 1, "operators": {}})",
                                        "b.json"));
  EXPECT_EQ(
      llvm::toString(vocabulary.addUserVocabulary(
          R"({"version": 1, "name": "vllm", "operators": {}})", "c.json")),
      "c.json: there is already a vocabulary \"vllm\"");
}
