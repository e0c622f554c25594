//===- ProgramEditsTest.cpp - tests of writing edited programs ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "ProgramText.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::archive;
using testing::HasSubstr;

static std::unique_ptr<Program> parse(std::string text) {
  auto program = parseProgram(std::move(text), "m.pt2");
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return nullptr;
  }
  return std::move(*program);
}
static ProgramEdits keepAll(const Program &program) {
  ProgramEdits edits;
  for (size_t i = 0; i < program.graph.nodes.size(); ++i)
    edits.keepNode(i);
  return edits;
}

TEST(ProgramEdits, WithoutEditsTheTextIsTheSame) {
  // White space that PyTorch does not write, and keys that it does not know.
  std::string text =
      "\n" + replaced(programText(), R"("nodes": [)", "\"nodes\" :\t[ ") +
      " \n";
  auto program = parse(text);
  ASSERT_TRUE(program);
  ProgramEdits edits = keepAll(*program);
  EXPECT_TRUE(edits.changesNothing(*program));
  EXPECT_EQ(edits.apply(*program), text);
  EXPECT_FALSE(ProgramEdits().changesNothing(*program));
}

TEST(ProgramEdits, RenamesOnlyTheNames) {
  auto program = parse(programText());
  ASSERT_TRUE(program);
  const Graph &graph = program->graph;
  ProgramEdits edits;
  ProgramEdits::Rename define{graph.nodes[0].outputs[0].nameSpan, "new\"y"};
  ProgramEdits::Rename use{graph.nodes[1].inputs[0].value.nameSpan, "new\"y"};
  edits.keepNode(0, define);
  edits.keepNode(1, use);
  edits.removeTensorValue("y");
  edits.addTensorValue("new\"y", graph.tensorValues.find("y")->second);
  EXPECT_FALSE(edits.changesNothing(*program));

  std::string expected = replaced(
      replaced(programText(), R"("outputs": [{"as_tensor": {"name": "y"}}])",
               R"("outputs": [{"as_tensor": {"name": "new\"y"}}])"),
      R"("arg": {"as_tensor": {"name": "y"}})",
      R"("arg": {"as_tensor": {"name": "new\"y"}})");
  std::string meta = tensorMetaText.str();
  expected = replaced(expected, ", \"y\": " + meta, "");
  expected = replaced(expected, ", \"z\": " + meta,
                      ", \"z\": " + meta + ", \"new\\\"y\": " + meta);
  EXPECT_EQ(edits.apply(*program), expected);
  auto again = parse(expected);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->graph.nodes[1].inputs[0].value.text, "new\"y");
}

TEST(ProgramEdits, RemovesNodesAndFollowsOutside) {
  auto program = parse(programText());
  ASSERT_TRUE(program);
  ProgramEdits edits;
  edits.keepNode(0);
  edits.removeTensorValue("z");
  for (const Argument &name : program->outerNames)
    if (name.text == "z")
      edits.rename({name.nameSpan, "y"});
  auto again = parse(edits.apply(*program));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->graph.nodes.size(), 1u);
  EXPECT_EQ(again->graph.outputs[0].text, "y");
  EXPECT_EQ(again->outputSpecs[0].argument.text, "y");
  EXPECT_FALSE(again->graph.tensorValues.contains("z"));
}

TEST(ProgramEdits, AddsNodesInPlace) {
  auto program = parse(programText());
  ASSERT_TRUE(program);
  Argument input, output;
  input.tag = output.tag = ArgumentTag::Tensor;
  input.text = "y";
  output.text = "w";
  Node node;
  node.target = "torch.ops.aten.neg.default";
  node.name = "w";
  node.inputs.push_back({"self", input, ArgumentKind::Positional});
  node.outputs.push_back(output);
  TensorMeta meta;
  meta.dtype = ScalarType::BFloat16;
  SymInt symbolic;
  symbolic.expression = "s0";
  SymInt hinted = symbolic;
  hinted.hint = 7;
  SymInt one;
  one.value = 1;
  meta.sizes = {symbolic, hinted};
  meta.strides = {one, one};
  meta.storageOffset = one;
  meta.requiresGrad = true;
  meta.device.type = "cuda";
  meta.device.index = 2;

  ProgramEdits edits;
  edits.keepNode(0);
  edits.addNode(node);
  edits.keepNode(1);
  edits.addTensorValue("w", meta);
  std::string text = edits.apply(*program);
  EXPECT_THAT(
      text,
      HasSubstr(R"(, "name": "y"}, {"target": "torch.ops.aten.neg.default", )"
                R"("inputs": [{"name": "self", "arg": {"as_tensor": )"
                R"({"name": "y"}}, "kind": 1}], "outputs": [{"as_tensor": )"
                R"({"name": "w"}}], "metadata": {}, )"
                R"("is_hop_single_tensor_return": null, "name": "w"}, )"
                R"({"target": "torch.ops.aten.add.Tensor")"));
  EXPECT_THAT(
      text,
      HasSubstr(
          R"(, "w": {"dtype": 13, "sizes": [{"as_expr": {"expr_str": )"
          R"("s0", "hint": null}}, {"as_expr": {"expr_str": )"
          R"("s0", "hint": {"as_int": 7}}}], "requires_grad": true, )"
          R"("device": {"type": "cuda", "index": 2}, "strides": )"
          R"([{"as_int": 1}, {"as_int": 1}], "storage_offset": {"as_int": 1}, )"
          R"("layout": 7}})"));
  ASSERT_TRUE(parse(text));
}

TEST(ProgramEdits, ReplacesTensorValuesInPlace) {
  auto program = parse(programText());
  ASSERT_TRUE(program);
  ProgramEdits edits = keepAll(*program);
  TensorMeta meta = program->graph.tensorValues.find("y")->second;
  meta.dtype = ScalarType::Half;
  edits.addTensorValue("y", meta);
  EXPECT_FALSE(edits.changesNothing(*program));
  EXPECT_EQ(edits.apply(*program),
            replaced(programText(), "\"y\": " + tensorMetaText.str(),
                     "\"y\": " + replaced(tensorMetaText.str(), "\"dtype\": 7",
                                          "\"dtype\": 6")));
}

/// Renders the program's nodes from their structs.
static std::string rendered(const Program &program) {
  ProgramEdits edits;
  for (const Node &node : program.graph.nodes)
    edits.addNode(node);
  return edits.apply(program);
}

TEST(ProgramEdits, SpellsEveryTagLikePyTorch) {
  for (const char *argument :
       {R"({"as_none": true})",
        R"({"as_tensor": {"name": "x"}})",
        R"({"as_tensors": [{"name": "x"}, {"name": "y"}]})",
        R"({"as_tensors": []})",
        R"({"as_int": -9223372036854775808})",
        R"({"as_ints": [1, -2]})",
        R"({"as_float": 0.1})",
        R"({"as_float": "-Infinity"})",
        R"({"as_floats": [1.0, 1e-05, "NaN"]})",
        R"({"as_string": "a\"\\\n\u00e9\ud83d\ude00"})",
        R"({"as_strings": ["", "b"]})",
        R"({"as_sym_int": {"as_name": "x"}})",
        R"({"as_sym_int": {"as_int": 3}})",
        R"({"as_sym_ints": [{"as_name": "x"}, {"as_int": -1}]})",
        R"({"as_scalar_type": 13})",
        R"({"as_memory_format": 2})",
        R"({"as_layout": 7})",
        R"({"as_device": {"type": "cuda", "index": 0}})",
        R"({"as_device": {"type": "cpu", "index": null}})",
        R"({"as_bool": true})",
        R"({"as_bools": [false, true]})",
        R"({"as_sym_bool": {"as_name": "x"}})",
        R"({"as_sym_bool": {"as_bool": false}})",
        R"({"as_sym_bools": [{"as_name": "x"}, {"as_bool": true}]})",
        R"({"as_graph": {"name": "g", "graph": {"inputs": [], "n": {}}}})",
        R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}}, )"
        R"({"as_none": true}]})",
        R"({"as_custom_obj": {"name": "o", "class_fqn": "a.B"}})",
        R"({"as_operator": "_operator.add"})",
        R"({"as_sym_float": {"as_name": "x"}})",
        R"({"as_sym_float": {"as_float": 2.5}})",
        R"({"as_sym_floats": [{"as_name": "x"}, {"as_float": 1.0}]})",
        R"({"as_complex": {"real": 1.0, "imag": -0.5}})",
        R"({"as_nested_tensors": [[{"name": "x"}], []]})",
        R"({"as_int_lists": [[1, 2], []]})",
        R"({"as_string_to_argument": {"k": {"as_int": 1}, "l": )"
        R"({"as_tensor": {"name": "x"}}}})",
        R"({"as_float_lists": [[1.5], []]})"}) {
    std::string text = programWithArgument(argument);
    auto program = parse(text);
    ASSERT_TRUE(program) << argument;
    EXPECT_EQ(rendered(*program), text) << argument;
  }
}

TEST(ProgramEdits, NeverWritesOptionalTensor) {
  for (auto [read, written] :
       {std::pair(R"({"as_optional_tensor": {"as_tensor": {"name": "x"}}})",
                  R"({"as_tensor": {"name": "x"}})"),
        std::pair(R"({"as_optional_tensor": {"as_none": true}})",
                  R"({"as_none": true})")}) {
    auto program = parse(programWithArgument(read));
    ASSERT_TRUE(program);
    EXPECT_EQ(rendered(*program), programWithArgument(written));
  }
}

TEST(ProgramEdits, SubgraphsAreCopiedWithTheirSpacing) {
  auto program = parse(programWithArgument(
      R"({ "as_graph" :  {"name": "g","graph":{"a" : [1,2] } } } )"));
  ASSERT_TRUE(program);
  EXPECT_EQ(rendered(*program),
            programWithArgument(
                R"({"as_graph": {"name": "g","graph":{"a" : [1,2] } }})"));
}

TEST(ProgramEdits, WritesAbsentFieldsAsNull) {
  auto program =
      parse(replaced(replaced(programText(),
                              R"(, "is_hop_single_tensor_return": null)"
                              R"(, "name": "z"})",
                              R"(, "is_hop_single_tensor_return": true})"),
                     R"({"as_tensor": {"name": "x"}}, "kind": 1})",
                     R"({"as_tensor": {"name": "x"}}})"));
  ASSERT_TRUE(program);
  std::string text = rendered(*program);
  EXPECT_THAT(text,
              HasSubstr(R"({"as_tensor": {"name": "x"}}, "kind": null})"));
  EXPECT_THAT(text, HasSubstr(R"("is_hop_single_tensor_return": true, )"
                              R"("name": "z"})"));
}
