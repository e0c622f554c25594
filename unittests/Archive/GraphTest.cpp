//===- GraphTest.cpp - tests of reading graphs ----------------------------===//
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
using testing::StartsWith;

static std::unique_ptr<Program> parse(std::string text) {
  auto program = parseProgram(std::move(text), "m.pt2: record r");
  if (!program) {
    ADD_FAILURE() << llvm::toString(program.takeError());
    return nullptr;
  }
  return std::move(*program);
}
/// The error without its origin, "" when the text is accepted.
static std::string errorOf(std::string text) {
  auto program = parseProgram(std::move(text), "m.pt2: record r");
  if (program)
    return "";
  std::string message = llvm::toString(program.takeError());
  llvm::StringRef rest = message;
  EXPECT_TRUE(rest.consume_front("m.pt2: record r: ")) << message;
  return rest.str();
}
/// The error of the small program with one part replaced.
static std::string errorWith(llvm::StringRef from, llvm::StringRef to) {
  return errorOf(replaced(programText(), from, to));
}

TEST(Graph, NodesMayLackNameAndKind) {
  auto program =
      parse(replaced(replaced(programText(), R"(, "name": "y"})", "}"),
                     R"({"as_tensor": {"name": "x"}}, "kind": 1})",
                     R"({"as_tensor": {"name": "x"}}})"));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->graph.nodes[0].name, "y");
  EXPECT_EQ(program->graph.nodes[0].inputs[0].kind, std::nullopt);
  EXPECT_EQ(errorWith(R"({"as_tensor": {"name": "x"}}, "kind": 1})",
                      R"({"as_tensor": {"name": "x"}}, "kind": 3})"),
            "node 'y' (#0): inputs[0].kind: unknown argument kind 3; the "
            "export schema 8.20 has 0 to 2");
  EXPECT_EQ(errorWith(R"("name": "y"}, {"target")", R"("name": 5}, {"target")"),
            "node #0: name: expected a string, found a number");
}

TEST(Graph, NamesTheUnknownArgumentTag) {
  EXPECT_THAT(errorOf(programWithArgument(R"({"as_foo": 1})")),
              StartsWith("node 'z' (#1): inputs[2].arg: unknown argument tag "
                         "'as_foo'; known tags are as_none, as_tensor, "));
  EXPECT_THAT(errorOf(programWithArgument(R"({"token": {"name": "x"}})")),
              HasSubstr("unknown argument tag 'token'"));
  EXPECT_THAT(
      errorOf(programWithArgument(R"({"as_int": 1, "as_float": 1.0})")),
      StartsWith("node 'z' (#1): inputs[2].arg: expected an object with "
                 "exactly one key"));
  EXPECT_THAT(errorOf(programWithArgument("{}")), HasSubstr("found 0 keys"));
  EXPECT_EQ(errorOf(programWithArgument("[]")),
            "node 'z' (#1): inputs[2].arg: expected an object, found an array");
}

TEST(Graph, ChecksThePayloadOfEveryTag) {
  struct Case {
    const char *good, *bad, *error;
  };
  for (const Case &test : std::initializer_list<Case>{
           {R"({"as_tensor": {"name": "x"}})", R"({"as_tensor": "x"})",
            "as_tensor: expected an object, found a string"},
           {R"({"as_tensors": [{"name": "x"}]})",
            R"({"as_tensors": [{"name": "x"}, {}]})",
            "as_tensors[1]: the required key 'name' is missing"},
           {R"({"as_int": 9223372036854775807})",
            R"({"as_int": 9223372036854775808})",
            "as_int: expected an integer of 64 bits, found "
            "9223372036854775808"},
           {R"({"as_ints": [1]})", R"({"as_ints": [true]})",
            "as_ints[0]: expected a number, found a boolean"},
           {R"({"as_float": "Infinity"})", R"({"as_float": "Inf"})",
            "as_float: expected a number, \"Infinity\", \"-Infinity\" or "
            "\"NaN\", found a string"},
           {R"({"as_floats": [1]})", R"({"as_floats": 1})",
            "as_floats: expected an array, found a number"},
           {R"({"as_string": ""})", R"({"as_string": null})",
            "as_string: expected a string, found null"},
           {R"({"as_strings": ["a"]})", R"({"as_strings": [1]})",
            "as_strings[0]: expected a string, found a number"},
           {R"({"as_sym_int": {"as_int": 1}})",
            R"({"as_sym_int": {"as_float": 1.0}})",
            "as_sym_int: unknown tag 'as_float'; known tags are as_name and "
            "as_int"},
           {R"({"as_sym_ints": []})", R"({"as_sym_ints": [1]})",
            "as_sym_ints[0]: expected an object, found a number"},
           {R"({"as_scalar_type": 13})", R"({"as_scalar_type": 14})",
            "as_scalar_type: unknown element type 14; the export schema 8.20 "
            "has 0 to 13 and 28 to 35"},
           {R"({"as_memory_format": 4})", R"({"as_memory_format": 5})",
            "as_memory_format: unknown memory format 5; the export schema "
            "8.20 has 0 to 4"},
           {R"({"as_layout": 0})", R"({"as_layout": 8})",
            "as_layout: unknown layout 8; the export schema 8.20 has 0 to 7"},
           {R"({"as_device": {"type": "cuda", "index": 0}})",
            R"({"as_device": {"type": "cuda", "index": -1}})",
            "as_device.index: the device index -1 is negative; use null for no "
            "index"},
           {R"({"as_bool": false})", R"({"as_bool": 0})",
            "as_bool: expected a boolean, found a number"},
           {R"({"as_bools": [true]})", R"({"as_bools": [null]})",
            "as_bools[0]: expected a boolean, found null"},
           {R"({"as_sym_bool": {"as_bool": true}})",
            R"({"as_sym_bool": {"as_bool": 1}})",
            "as_sym_bool.as_bool: expected a boolean, found a number"},
           {R"({"as_sym_bools": [{"as_bool": true}]})",
            R"({"as_sym_bools": [{}]})",
            "as_sym_bools[0]: expected an object with exactly one key that "
            "names the kind of the value; found 0 keys"},
           {R"({"as_optional_tensors": [{"as_none": true}]})",
            R"({"as_optional_tensors": [{"as_int": 1}]})",
            "as_optional_tensors[0]: unknown tag 'as_int'; known tags are "
            "as_tensor and as_none"},
           {R"({"as_graph": {"name": "g", "graph": {}}})",
            R"({"as_graph": {"name": "g", "graph": []}})",
            "as_graph.graph: expected an object, found an array"},
           {R"({"as_custom_obj": {"name": "o", "class_fqn": "C"}})",
            R"({"as_custom_obj": {"name": "o"}})",
            "as_custom_obj: the required key 'class_fqn' is missing"},
           {R"({"as_operator": "add"})", R"({"as_operator": []})",
            "as_operator: expected a string, found an array"},
           {R"({"as_sym_float": {"as_float": 1.5}})",
            R"({"as_sym_float": {"as_int": 1}})",
            "as_sym_float: unknown tag 'as_int'; known tags are as_name and "
            "as_float"},
           {R"({"as_sym_floats": [{"as_float": 1}]})",
            R"({"as_sym_floats": {}})",
            "as_sym_floats: expected an array, found an object"},
           {R"({"as_optional_tensor": {"as_none": true}})",
            R"({"as_optional_tensor": {"as_tensor": {"name": ""}}})",
            "as_optional_tensor.as_tensor.name: the name is empty"},
           {R"({"as_complex": {"real": 1.0, "imag": 0}})",
            R"({"as_complex": {"real": 1.0}})",
            "as_complex: the required key 'imag' is missing"},
           {R"({"as_nested_tensors": [[{"name": "x"}]]})",
            R"({"as_nested_tensors": [{"name": "x"}]})",
            "as_nested_tensors[0]: expected an array, found an object"},
           {R"({"as_int_lists": [[1], []]})",
            R"({"as_int_lists": [[1], [1.5]]})",
            "as_int_lists[1][0]: expected an integer of 64 bits, found 1.5"},
           {R"({"as_string_to_argument": {"k": {"as_int": 1}}})",
            R"({"as_string_to_argument": {"k": {"as_int": []}}})",
            "as_string_to_argument.k.as_int: expected a number, found an "
            "array"},
           {R"({"as_float_lists": [[1.0]]})", R"({"as_float_lists": [null]})",
            "as_float_lists[0]: expected an array, found null"}}) {
    EXPECT_EQ(errorOf(programWithArgument(test.good)), "") << test.good;
    EXPECT_EQ(errorOf(programWithArgument(test.bad)),
              "node 'z' (#1): inputs[2].arg." + std::string(test.error));
  }
  // Any payload means None.
  EXPECT_EQ(errorOf(programWithArgument(R"({"as_none": []})")), "");
}

TEST(Graph, DeepArgumentsAreRefused) {
  std::string deep;
  for (int i = 0; i < 50; ++i)
    deep += R"({"as_string_to_argument": {"k": )";
  deep += R"({"as_int": 1})";
  std::string tooDeep = deep;
  for (int i = 0; i < 50; ++i)
    deep += "}}";
  EXPECT_EQ(errorOf(programWithArgument(deep)), "");
  for (int i = 0; i < 100; ++i)
    tooDeep = R"({"as_string_to_argument": {"k": )" + tooDeep;
  for (int i = 0; i < 150; ++i)
    tooDeep += "}}";
  EXPECT_THAT(errorOf(programWithArgument(tooDeep)),
              HasSubstr("nested more than 200 levels deep"));
}

TEST(Graph, ChecksTensorMetadata) {
  auto metaError = [](llvm::StringRef from, llvm::StringRef to) {
    std::string meta = replaced(tensorMetaText.str(), from, to);
    return errorWith("\"y\": " + tensorMetaText.str(), "\"y\": " + meta);
  };
  std::string where = "graph_module.graph.tensor_values.y";
  EXPECT_EQ(metaError(R"("dtype": 7)", R"("dtype": 35)"), "");
  EXPECT_THAT(metaError(R"("dtype": 7)", R"("dtype": 20)"),
              StartsWith(where + ".dtype: unknown element type 20"));
  EXPECT_EQ(metaError(R"({"as_int": 2})", R"({"as_int": 0})"), "");
  EXPECT_EQ(metaError(R"({"as_int": 2})", R"({"as_int": -2})"),
            where + ".sizes[0]: the size -2 is negative");
  EXPECT_EQ(metaError(R"(, {"as_int": 1}])", "]"),
            where + ": there are 2 sizes, but 1 strides");
  EXPECT_EQ(metaError(R"("storage_offset": {"as_int": 0})",
                      R"("storage_offset": {"as_int": -1})"),
            where + ".storage_offset: the storage offset -1 is negative");
  EXPECT_EQ(metaError(R"("layout": 7)", R"("layout": null)"),
            where + ".layout: expected a number, found null");
  EXPECT_EQ(metaError(R"("device": {"type": "cpu", "index": null})",
                      R"("device": {"index": null})"),
            where + ".device: the required key 'type' is missing");
  // Sparse tensors have no strides.
  EXPECT_EQ(errorWith("\"y\": " + tensorMetaText.str(),
                      "\"y\": " +
                          replaced(replaced(tensorMetaText.str(),
                                            R"([{"as_int": 3}, {"as_int": 1}])",
                                            "[]"),
                                   R"("layout": 7)", R"("layout": 1)")),
            "");
}

TEST(Graph, ReadsTablesOfSymbols) {
  auto program = parse(replaced(
      replaced(replaced(programText(), R"("sym_int_values": {})",
                        R"("sym_int_values": {"n": {"as_int": 4}})"),
               R"("sym_bool_values": {})",
               R"("sym_bool_values": {"b": {"as_expr": {"expr_str": "e"}}})"),
      R"("sym_float_values": {})",
      R"("sym_float_values": {"f": {"as_float": 1.0}})"));
  ASSERT_TRUE(program);
  EXPECT_EQ(program->graph.symIntValues.lookup("n").value, 4);
  EXPECT_TRUE(program->graph.symBoolValues.contains("b"));
  EXPECT_FALSE(program->graph.symBoolValues.lookup("b"));
  EXPECT_TRUE(program->graph.symFloatValues.lookup("f"));
  EXPECT_EQ(errorWith(R"("sym_bool_values": {})",
                      R"("sym_bool_values": {"b": {"as_int": 1}})"),
            "graph_module.graph.sym_bool_values.b: unknown tag 'as_int'; known "
            "tags are as_bool and as_expr");
}

TEST(Graph, NamesAreDefinedOnceAndBeforeUse) {
  std::string reluInput =
      R"({"name": "self", "arg": {"as_tensor": {"name": "x"}}, "kind": 1})";
  EXPECT_EQ(errorWith(reluInput, R"({"name": "self", "arg": {"as_tensor": )"
                                 R"({"name": "p"}}, "kind": 1})"),
            "");
  EXPECT_EQ(errorWith(reluInput, R"({"name": "self", "arg": {"as_tensor": )"
                                 R"({"name": "z"}}, "kind": 1})"),
            "node 'y' (#0): inputs[0].arg: use of 'z' before its definition at "
            "node 'z' (#1)");
  EXPECT_EQ(errorWith(reluInput, R"({"name": "self", "arg": {"as_tensor": )"
                                 R"({"name": "y"}}, "kind": 1})"),
            "node 'y' (#0): inputs[0].arg: use of 'y' before its definition at "
            "node 'y' (#0)");
  EXPECT_EQ(errorWith(reluInput, R"({"name": "self", "arg": {"as_tensors": )"
                                 R"([{"name": "w"}]}, "kind": 1})"),
            "node 'y' (#0): inputs[0].arg: use of 'w', which neither an input "
            "nor a node defines");
  EXPECT_EQ(errorWith(R"("outputs": [{"as_tensor": {"name": "y"}}])",
                      R"("outputs": [{"as_tensor": {"name": "x"}}])"),
            "node 'y' (#0): outputs[0]: the name 'x' is already defined by the "
            "graph's inputs; names are unique in a graph");
  EXPECT_EQ(
      errorWith(R"("outputs": [{"as_tensor": {"name": "z"}}], "metadata")",
                R"("outputs": [{"as_tensor": {"name": "y"}}], "metadata")"),
      "node 'z' (#1): outputs[0]: the name 'y' is already defined by node 'y' "
      "(#0); names are unique in a graph");
  EXPECT_EQ(errorWith(R"("outputs": [{"as_tensor": {"name": "z"}}], "nodes")",
                      R"("outputs": [{"as_tensor": {"name": "w"}}], "nodes")"),
            "graph_module.graph.outputs[0]: use of 'w', which neither an input "
            "nor a node defines");
  EXPECT_EQ(errorWith("\"y\": " + tensorMetaText.str() + ", ", ""),
            "node 'y' (#0): outputs[0]: the tensor 'y' has no entry in "
            "graph.tensor_values");
  // Of a custom object's name a constant of the archive may be meant.
  EXPECT_EQ(errorOf(programWithArgument(
                R"({"as_custom_obj": {"name": "_custom_obj_0", )"
                R"("class_fqn": "C"}})")),
            "");
  // The names of a subgraph are its own.
  EXPECT_EQ(errorOf(programWithArgument(
                R"({"as_graph": {"name": "g", "graph": {"inputs": )"
                R"([{"as_tensor": {"name": "x"}}], "outputs": )"
                R"([{"as_tensor": {"name": "w"}}]}}})")),
            "");
}

TEST(Graph, DecodesNamesWithEscapes) {
  auto program =
      parse(replaced(programText(), R"("as_tensor": {"name": "y"}}, )",
                     R"("as_tensor": {"name": "\u0079"}}, )"));
  ASSERT_TRUE(program);
  const Argument &use = program->graph.nodes[1].inputs[0].value;
  EXPECT_EQ(use.text, "y");
  EXPECT_EQ(program->document->text(use.nameSpan), R"("\u0079")");
}

TEST(Graph, TagsAndTypesHaveNames) {
  for (unsigned tag = 0; tag < unsigned(ArgumentTag::Token); ++tag)
    EXPECT_EQ(argumentTagFromName(argumentTagName(ArgumentTag(tag))),
              ArgumentTag(tag));
  EXPECT_EQ(argumentTagFromName("token"), std::nullopt);
  EXPECT_EQ(argumentTagFromName("as_float_lists"), ArgumentTag::FloatLists);
  EXPECT_EQ(scalarTypeFromNumber(13), ScalarType::BFloat16);
  EXPECT_EQ(scalarTypeFromNumber(14), std::nullopt);
  EXPECT_EQ(scalarTypeFromNumber(-1), std::nullopt);
  EXPECT_EQ(scalarTypeName(ScalarType::BFloat16), "bfloat16");
  EXPECT_EQ(scalarTypeName(ScalarType::Float8E8M0FNU), "float8_e8m0fnu");
}

TEST(Graph, FindsTheInnermostSourceLine) {
  auto line = innermostSourceLine("File \"a.py\", line 1, in f\n"
                                  "    g()\n"
                                  "  File \"/b c/d.py\", line 23, in <lambda>\n"
                                  "    print('File \"x.py\", line 9, in h')");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "/b c/d.py");
  EXPECT_EQ(line->line, 23u);
  EXPECT_EQ(line->function, "<lambda>");
  line = innermostSourceLine("  File \"a.py\", line 5");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->function, "");
  EXPECT_FALSE(innermostSourceLine("").has_value());
  EXPECT_FALSE(innermostSourceLine("File \"a.py\", line x").has_value());
  EXPECT_FALSE(innermostSourceLine("File \"a.py").has_value());
}
