//===- TorchFunctionsTest.cpp - Python functions of PyTorch ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"
#include "Respelling.h"

#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using llvm::dyn_cast;
using llvm::isa;
using testing::HasSubstr;
using testing::Not;

namespace {
using Arguments = std::vector<std::string>;

class TorchFunctions : public testing::Test {
protected:
  /// x, y: 4x6; w: 5x12; v: 12x5; u: 5.
  static ProgramBuilder getInputs() {
    return std::move(ProgramBuilder()
                         .input({"x", {4, 6}})
                         .input({"y", {4, 6}})
                         .input({"c", {4, 12}})
                         .input({"w", {5, 12}})
                         .input({"v", {12, 5}})
                         .input({"u", {5}}));
  }
  /// The module of one call whose result is z.
  Imported call(llvm::StringRef target, const Arguments &arguments,
                const Tensor &result) {
    return translator.import(
        getInputs().functionNode(target, arguments, {result}).output("z"));
  }
  template <typename OpType>
  OpType getResult(const Imported &module) {
    auto op = dyn_cast<OpType>(module.getOp("z"));
    EXPECT_TRUE(op) << "z is given by another op";
    return op;
  }

  Translator translator;
};
} // namespace

static const Tensor joined{"z", {4, 12}};
static const Tensor product{"z", {4, 5}};

/// x[index], whose index is JSON.
static Arguments index(llvm::StringRef name, llvm::StringRef json) {
  return {tensor("", name), argument("", json)};
}

static std::string slice(llvm::StringRef start, llvm::StringRef stop,
                         llvm::StringRef step = "{\"as_none\": true}") {
  return ("{\"as_string_to_argument\": {\"start\": " + start +
          ", \"stop\": " + stop + ", \"step\": " + step + "}}")
      .str();
}

static std::string whole(int64_t value) {
  return "{\"as_int\": " + std::to_string(value) + "}";
}

static const std::string nothing = "{\"as_none\": true}";
static const std::string ellipsis = "{\"as_string\": \"...\"}";

static std::string tuple(const std::vector<std::string> &elements) {
  std::string text;
  for (auto [place, element] : llvm::enumerate(elements))
    text += (place ? ", \"" : "\"") + std::to_string(place) + "\": " + element;
  return "{\"as_string_to_argument\": {" + text + "}}";
}

//===----------------------------------------------------------------------===//
// Names of functions and arguments
//===----------------------------------------------------------------------===//

TEST_F(TorchFunctions, ConcatenationByEveryName) {
  const std::pair<const char *, Arguments> spellings[] = {
      {"torch.cat", {tensors("", {"x", "y"}), integer("", 1)}},
      {"torch.cat", {tensors("", {"x", "y"}), integer("dim", -1)}},
      {"torch.cat", {tensors("tensors", {"x", "y"}), integer("axis", 1)}},
      {"torch.concat", {tensors("", {"x", "y"}), integer("axis", -1)}},
      {"torch.concatenate",
       {integer("dim", 1), tensors("tensors", {"x", "y"})}},
  };
  for (const auto &[target, arguments] : spellings) {
    Imported module = call(target, arguments, joined);
    auto op = getResult<tp::ConcatOp>(module);
    ASSERT_TRUE(op);
    EXPECT_EQ(op.getDim(), 1);
  }
}

TEST_F(TorchFunctions, ProductsByEveryName) {
  Arguments linear = {tensor("", "c"), tensor("", "w"), tensor("", "u")};
  Arguments byKeyword = {tensor("bias", "u"), tensor("weight", "w"),
                         tensor("input", "c")};
  for (const char *target :
       {"torch._C._nn.linear", "torch.nn.functional.linear"})
    for (const Arguments &arguments : {linear, byKeyword}) {
      Imported module = call(target, arguments, product);
      auto op = getResult<tp::MatmulOp>(module);
      ASSERT_TRUE(op);
      EXPECT_TRUE(op.getTransposeRhs());
      EXPECT_TRUE(op.getBias());
    }
  for (const char *target :
       {"torch.mm", "torch.matmul", "torch.Tensor.mm", "_operator.matmul"}) {
    Imported module = call(target, {tensor("", "c"), tensor("", "v")}, product);
    auto op = getResult<tp::MatmulOp>(module);
    ASSERT_TRUE(op);
    EXPECT_FALSE(op.getTransposeRhs());
  }
  Imported module =
      call("torch.addmm",
           {tensor("input", "u"), tensor("", "c"), tensor("", "v")}, product);
  // `input` by keyword leaves the first place to mat1: Python would refuse.
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
  module = call("torch.addmm",
                {tensor("", "u"), tensor("", "c"), tensor("", "v")}, product);
  EXPECT_TRUE(getResult<tp::MatmulOp>(module).getBias());
}

TEST_F(TorchFunctions, ArgumentsThatAreNotKnownAreNotIgnored) {
  Arguments arguments = {tensors("", {"x", "y"}), integer("", 1)};
  for (const std::string &more :
       {integer("", 3), integer("order", 1), tensor("out", "c")}) {
    Arguments call = arguments;
    call.push_back(more);
    Imported module = this->call("torch.cat", call, joined);
    EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z"))) << more;
  }
  // With a factor, this is a sum of a product, and not a product with a bias.
  Imported module = call("torch.addmm",
                         {tensor("", "u"), tensor("", "c"), tensor("", "v"),
                          test::number("beta", "0.5")},
                         product);
  EXPECT_FALSE((isa<tp::CallOp, tp::MatmulOp>(module.getOp("z"))));
}

TEST_F(TorchFunctions, SizesAndDimsOneByOne) {
  const std::pair<Tensor, std::vector<Arguments>> calls[] = {
      {{"z", {6, 4}, f32, {1, 6}},
       {{tensor("", "x"), integer("", 1), integer("", 0)},
        {tensor("", "x"), integers("", {1, 0})},
        {tensor("", "x"), integers("dims", {-1, 0})}}},
  };
  for (const auto &[result, spellings] : calls)
    for (const Arguments &arguments : spellings) {
      Imported module = call("torch.Tensor.permute", arguments, result);
      auto op = getResult<tp::PermuteOp>(module);
      ASSERT_TRUE(op);
      EXPECT_THAT(op.getPermutation(), testing::ElementsAre(1, 0));
    }
  Imported module =
      call("torch.Tensor.view",
           {tensor("", "x"), integer("", 2), integer("", -1)}, {"z", {2, 12}});
  EXPECT_TRUE(getResult<tp::ReshapeOp>(module));
  module = call("builtins.getattr", {tensor("", "x"), text("", "T")},
                {"z", {6, 4}, f32, {1, 6}});
  EXPECT_TRUE(getResult<tp::PermuteOp>(module));
  module = call("builtins.getattr", {tensor("", "x"), text("", "data")},
                {"z", {4, 6}});
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
}

TEST_F(TorchFunctions, DetachIsNoIdentity) {
  Imported module =
      call("torch.Tensor.detach", {tensor("", "x")}, {"z", {4, 6}});
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
}

TEST_F(TorchFunctions, ProductUnderAutocastIsOpaque) {
  Imported module = call("torch._C._nn.linear",
                         {tensor("", "c"), tensor("", "w"), tensor("", "u")},
                         {"z", {4, 5}, bf16});
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

TEST_F(TorchFunctions, SlicesOfOneDim) {
  struct Case {
    std::string index;
    int64_t start, size, step;
  };
  const Case cases[] = {
      {tuple({slice(nothing, nothing), slice(whole(2), whole(5))}), 2, 3, 1},
      {tuple({ellipsis, slice(whole(-2), nothing)}), 4, 2, 1},
      {tuple({slice(nothing, nothing), slice(nothing, whole(-1), whole(2))}), 0,
       3, 2},
      {tuple({slice(nothing, nothing), slice(whole(1), whole(100), whole(2))}),
       1, 3, 2},
  };
  for (const Case &slice : cases) {
    Imported module = call("_operator.getitem", index("x", slice.index),
                           {"z", {4, slice.size}, f32, {6, slice.step}});
    auto op = getResult<tp::SliceOp>(module);
    ASSERT_TRUE(op);
    EXPECT_EQ(op.getDim(), 1);
    EXPECT_EQ(op.getStart(), slice.start);
    EXPECT_EQ(op.getStep(), slice.step);
  }
}

TEST_F(TorchFunctions, IndicesThatTakeDimsAwayAndPutThemIn) {
  const std::pair<std::string, Tensor> cases[] = {
      {whole(1), {"z", {6}}},
      {whole(-1), {"z", {6}}},
      {"{\"as_ints\": [1, 2]}", {"z", {}}},
      {tuple({nothing, ellipsis, whole(3)}), {"z", {1, 4}, f32, {24, 6}}},
      {tuple({slice(whole(1), whole(3)), nothing, whole(0)}),
       {"z", {2, 1}, f32, {6, 6}}},
      {ellipsis, {"z", {4, 6}}},
  };
  for (const auto &[text, result] : cases) {
    Imported module = call("_operator.getitem", index("x", text), result);
    EXPECT_TRUE(getResult<tp::ReshapeOp>(module)) << text;
  }
}

TEST_F(TorchFunctions, IndicesThatAreNotModelled) {
  const std::string cases[] = {
      "{\"as_bool\": true}", "{\"as_string\": \"python: x\"}",
      tuple({slice(nothing, nothing, whole(-1))}), tuple({ellipsis, ellipsis}),
      "{\"as_string_to_argument\": {\"list\": {\"as_ints\": [1, 2]}}}"};
  for (const std::string &text : cases) {
    Imported module =
        call("_operator.getitem", index("x", text), {"z", {4, 6}});
    EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z"))) << text;
  }
}

//===----------------------------------------------------------------------===//
// What is written into
//===----------------------------------------------------------------------===//

/// cat([x, y]) with a node in front of it that reads x.
static ProgramBuilder getBehind(ProgramBuilder inputs, llvm::StringRef target,
                                const Arguments &arguments,
                                bool isFunctional = false) {
  return std::move(
      inputs.functionNode(target, arguments, {{"n", {4, 6}}}, isFunctional)
          .functionNode("torch.cat", {tensors("", {"x", "y"}), integer("", 1)},
                        {{"z", {4, 12}}})
          .output("n")
          .output("z"));
}

TEST_F(TorchFunctions, WhatMayBeWrittenIntoIsOpaque) {
  const std::pair<const char *, Arguments> writers[] = {
      {"torch.Tensor.add_", {tensor("", "x"), integer("", 1)}},
      {"_operator.iadd", {tensor("", "x"), tensor("", "y")}},
      {"_operator.setitem", {tensor("", "x"), integer("", 1), tensor("", "y")}},
      {"torch.nn.functional.relu", {tensor("", "x"), truth("", true)}},
      {"torch.nn.functional.relu", {tensor("", "x"), truth("inplace", true)}},
      {"torch.add", {tensor("", "y"), integer("", 1), tensor("out", "x")}},
      {"mylib.unknown", {tensor("", "x")}},
      {"mylib.unknown", {tensors("those", {"y", "x"})}},
  };
  for (const auto &[target, arguments] : writers) {
    Imported module =
        translator.import(getBehind(getInputs(), target, arguments));
    EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z"))) << target;
  }
}

TEST_F(TorchFunctions, WhatIsOnlyReadIsNot) {
  const std::pair<const char *, Arguments> readers[] = {
      {"torch.nn.functional.relu", {tensor("", "x"), truth("", false)}},
      {"torch.add", {tensor("", "x"), integer("", 1)}},
      {"torch.Tensor.add_", {tensor("", "w"), tensor("", "x")}},
  };
  for (const auto &[target, arguments] : readers) {
    Imported module =
        translator.import(getBehind(getInputs(), target, arguments));
    EXPECT_TRUE(getResult<tp::ConcatOp>(module)) << target;
  }
  Imported module = translator.import(getBehind(
      getInputs(), "mylib.unknown", {tensor("", "x")}, /*isFunctional=*/true));
  EXPECT_TRUE(getResult<tp::ConcatOp>(module));
}

TEST_F(TorchFunctions, EffectsAreNoneOrAny) {
  std::string text = getBehind(getInputs(), "mylib.unknown", {tensor("", "x")},
                               /*isFunctional=*/true)
                         .text();
  size_t place = text.find("\"none\"");
  ASSERT_NE(place, std::string::npos);
  std::string any = text, other = text;
  any.replace(place, 6, "\"any\"");
  EXPECT_TRUE(isa<tp::CallOp>(translator.import(any).getOp("z")));
  other.replace(place, 6, "\"some\"");
  auto result = translator.tryImport(other);
  ASSERT_FALSE(bool(result));
  EXPECT_THAT(llvm::toString(result.takeError()),
              HasSubstr("'some' is neither none nor any"));
}

TEST_F(TorchFunctions, WritesThroughSharedMemoryAreSeen) {
  auto write = [](ProgramBuilder inputs) {
    return getBehind(std::move(inputs), "torch.Tensor.mul_",
                     {tensor("", "w"), integer("", 2)});
  };
  EXPECT_TRUE(getResult<tp::ConcatOp>(translator.import(write(getInputs()))));
  ProgramBuilder inputs = getInputs();
  inputs.functionNode("commute.share_memory", {tensors("", {"w", "y"})}, {},
                      /*isFunctional=*/true);
  Imported module = translator.import(write(inputs));
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
  // A list of views, of which one is picked and written into.
  std::string list = R"({"as_custom_obj": {"name": "l", "class_fqn": "list"}})";
  inputs = getInputs();
  inputs.rawNode("mylib.views.default", "l", {tensor("self", "y")}, list);
  inputs.functionNode("_operator.getitem", {argument("", list), integer("", 0)},
                      {{"p", {4, 6}}});
  module = translator.import(getBehind(inputs, "torch.Tensor.mul_",
                                       {tensor("", "p"), integer("", 2)}));
  EXPECT_TRUE(isa<tp::CallOp>(module.getOp("z")));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

TEST_F(TorchFunctions, NewNodesAreFunctions) {
  Imported module = translator.import(
      getInputs()
          .functionNode("torch.cat", {tensors("", {"x", "y"}), integer("", 1)},
                        {{"a", {4, 12}}})
          .functionNode("torch._C._nn.linear",
                        {tensor("", "a"), tensor("", "w")}, {{"b", {4, 5}}})
          .functionNode("torch.matmul", {tensor("", "c"), tensor("", "v")},
                        {{"d", {4, 5}}})
          .functionNode("_operator.add", {tensor("", "b"), tensor("", "d")},
                        {{"e", {4, 5}}})
          .functionNode(
              "torch.Tensor.narrow",
              {tensor("", "w"), integer("", 1), integer("", 3), integer("", 2)},
              {{"f", {5, 2}, f32, {12, 1}}})
          .output("e")
          .output("f"));
  std::string before = module.print();
  forgetNodes(module.imported);
  std::string written = translator.exportText(module);
  Imported again = translator.import(written);
  EXPECT_EQ(again.print(), before);
  std::vector<std::string> targets;
  for (const archive::Node &node : again.program->graph.nodes)
    targets.push_back(node.target.str());
  EXPECT_THAT(targets, testing::ElementsAre("torch.cat", "torch._C._nn.linear",
                                            "torch.matmul", "_operator.add",
                                            "torch.narrow"));
}

TEST_F(TorchFunctions, OperatorsStayOperators) {
  Imported module = translator.import(
      getInputs()
          .node("aten.mm.default", {tensor("self", "c"), tensor("mat2", "v")},
                {{"z", {4, 5}}})
          .output("z"));
  forgetNodes(module.imported);
  std::string written = translator.exportText(module);
  EXPECT_THAT(written, HasSubstr("torch.ops.aten.mm.default"));
  EXPECT_THAT(written, Not(HasSubstr("torch.matmul")));
}

TEST_F(TorchFunctions, EditsSayWhatChanged) {
  Imported module = translator.import(
      getInputs()
          .functionNode("torch.relu", {tensor("", "x")}, {{"a", {4, 6}}})
          .functionNode("torch.cat", {tensors("", {"a", "y"}), integer("", 1)},
                        {{"b", {4, 12}}})
          .functionNode("mylib.unknown", {tensor("", "b"), tensor("", "x")},
                        {{"d", {4, 5}}}, /*isFunctional=*/true)
          .output("d")
          .output("b"));
  auto edits = translator.exportEdits(module);
  ASSERT_TRUE(bool(edits));
  auto getSources = [&] {
    std::vector<std::optional<size_t>> sources;
    for (const archive::ProgramEdits::NodeItem &item : edits->getNodes())
      sources.push_back(item.source);
    return sources;
  };
  EXPECT_THAT(getSources(), testing::ElementsAre(0, 1, 2));
  for (const archive::ProgramEdits::NodeItem &item : edits->getNodes())
    EXPECT_THAT(item.renames, testing::IsEmpty());
  EXPECT_THAT(edits->getOuterRenames(), testing::IsEmpty());
  // As if the concatenation were c.
  mlir::Operation *concat = module.getOp("b");
  concat->replaceAllUsesWith(mlir::ValueRange(module.getBody().getArgument(2)));
  concat->erase();
  edits = translator.exportEdits(module);
  ASSERT_TRUE(bool(edits));
  EXPECT_THAT(getSources(), testing::ElementsAre(0, 2));
  EXPECT_THAT(edits->getNodes()[0].renames, testing::IsEmpty());
  const archive::Graph &graph = module.program->graph;
  auto renames = edits->getNodes()[1].renames;
  ASSERT_EQ(renames.size(), 1u);
  EXPECT_EQ(renames[0].span.begin,
            graph.nodes[2].inputs[0].value.nameSpan.begin);
  EXPECT_EQ(renames[0].name, "c");
  std::vector<uint32_t> outer;
  for (const archive::ProgramEdits::Rename &rename : edits->getOuterRenames())
    if (rename.name == "c")
      outer.push_back(rename.span.begin);
  EXPECT_THAT(outer, testing::Contains(graph.outputs[1].nameSpan.begin));
  EXPECT_THAT(edits->getAddedValues(), testing::IsEmpty());
}
