//===- ProgramTest.cpp - tests of reading exported programs ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "ProgramText.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute::archive;
using testing::ElementsAre;
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

TEST(Program, ReadsWhatPyTorchWrites) {
  auto program = parse(programText());
  ASSERT_TRUE(program);
  EXPECT_EQ(program->schemaMajor, 8);
  EXPECT_EQ(program->schemaMinor, 20);
  EXPECT_EQ(program->torchVersion, "2.13.0+cpu");
  const Graph &graph = program->graph;
  ASSERT_EQ(graph.nodes.size(), 2u);
  const Node &relu = graph.nodes[0];
  EXPECT_EQ(relu.target, "torch.ops.aten.relu.default");
  EXPECT_EQ(relu.name, "y");
  EXPECT_EQ(relu.inputs.front().kind, ArgumentKind::Positional);
  EXPECT_EQ(relu.isSingleTensorReturn, std::nullopt);
  EXPECT_EQ(relu.stackTrace,
            "File \"m.py\", line 7, in forward\n    return relu(x) + 1");
  EXPECT_THAT(relu.metadata.str(), StartsWith("{\"stack_trace\": \"File "));
  EXPECT_THAT(program->document->text(relu.span).str(),
              StartsWith("{\"target\": \"torch.ops.aten.relu.default\""));
  const Node &add = graph.nodes[1];
  ASSERT_TRUE(add.find("other"));
  EXPECT_EQ(add.find("other")->text, "p");
  EXPECT_EQ(add.find("alpha"), nullptr);
  EXPECT_EQ(program->document->text(add.find("other")->span),
            R"({"as_tensor": {"name": "p"}})");
  EXPECT_EQ(program->document->text(add.find("other")->nameSpan), "\"p\"");

  ASSERT_EQ(graph.tensorValues.size(), 4u);
  const TensorMeta &meta = graph.tensorValues.find("z")->second;
  EXPECT_EQ(meta.dtype, ScalarType::Float);
  EXPECT_EQ(meta.sizes[1].value, 3);
  EXPECT_EQ(meta.strides[0].value, 3);
  EXPECT_EQ(meta.storageOffset.value, 0);
  EXPECT_EQ(meta.device.type, "cpu");
  EXPECT_EQ(meta.device.index, std::nullopt);
  EXPECT_EQ(meta.layout, stridedLayout);

  ASSERT_EQ(program->inputSpecs.size(), 2u);
  EXPECT_EQ(program->inputSpecs[0].kind, InputKind::Parameter);
  EXPECT_EQ(program->inputSpecs[0].name, "p");
  EXPECT_EQ(program->inputSpecs[0].target, "m.weight");
  EXPECT_EQ(program->inputSpecs[1].kind, InputKind::User);
  EXPECT_EQ(program->inputSpecs[1].name, "x");
  ASSERT_EQ(program->outputSpecs.size(), 1u);
  EXPECT_EQ(program->outputSpecs[0].argument.text, "z");
}

TEST(Program, ChecksTheSchemaVersion) {
  auto withVersion = [](llvm::StringRef version) {
    return errorWith(R"({"major": 8, "minor": 20})", version);
  };
  EXPECT_EQ(withVersion(R"({"major": 8, "minor": 99})"), "");
  EXPECT_EQ(withVersion(R"({"major": 9, "minor": 1})"),
            "schema_version: export schema 9.1 is not supported; only major "
            "version 8 is read");
  EXPECT_THAT(withVersion(R"({"major": 0, "minor": 0})"), HasSubstr("0.0"));
  EXPECT_EQ(withVersion(R"({"major": 8})"),
            "schema_version: the required key 'minor' is missing");
  EXPECT_EQ(withVersion(R"({"major": "8", "minor": 1})"),
            "schema_version.major: expected a number, found a string");
  EXPECT_EQ(withVersion(R"({"major": 8.0, "minor": 1})"),
            "schema_version.major: expected an integer of 64 bits, found 8.0");
}

TEST(Program, SaysWhereTheTextIsBroken) {
  EXPECT_THAT(errorOf("{"), StartsWith("line 1, column 2: "));
  EXPECT_EQ(errorOf("[]"), "expected an object, found an array");
  EXPECT_EQ(errorOf("{}"), "the required key 'schema_version' is missing");
}

TEST(Program, RequiresEveryField) {
  for (const char *key :
       {"graph_module", "graph", "nodes", "tensor_values", "sym_int_values",
        "sym_bool_values", "input_specs", "output_specs", "module_call_graph",
        "opset_version", "range_constraints", "schema_version",
        "parameter_name"}) {
    std::string quotedKey = "\"" + std::string(key) + "\"";
    EXPECT_THAT(
        errorWith(quotedKey + ":", "\"unknown key\":"),
        HasSubstr("the required key '" + std::string(key) + "' is missing"));
  }
  // Those with a default may be missing.
  for (const char *key :
       {"verifiers", "torch_version", "guards_code", "custom_obj_values",
        "sym_float_values", "treespec_namedtuple_fields"})
    EXPECT_EQ(errorWith("\"" + std::string(key) + "\"", "\"unknown key\""), "");
}

TEST(Program, ReadsSymbolicSizes) {
  std::string meta =
      replaced(tensorMetaText.str(), R"({"as_int": 2})",
               R"({"as_expr": {"expr_str": "s77", "hint": {"as_int": 5}}})");
  auto program = parse(replaced(
      replaced(programText(), "\"y\": " + tensorMetaText.str(),
               "\"y\": " + meta),
      R"("range_constraints": {})",
      R"("range_constraints": {"s77": {"min_val": 2, "max_val": null}})"));
  ASSERT_TRUE(program);
  const SymInt &size = program->graph.tensorValues.find("y")->second.sizes[0];
  EXPECT_FALSE(size.isStatic());
  EXPECT_EQ(size.expression, "s77");
  EXPECT_EQ(size.hint, 5);
  RangeConstraint range = program->rangeConstraints.find("s77")->second;
  EXPECT_EQ(range.min, 2);
  EXPECT_EQ(range.max, std::nullopt);

  EXPECT_EQ(errorWith(R"("range_constraints": {})",
                      R"("range_constraints": {"s": {"min_val": 2}})"),
            "range_constraints.s: the required key 'max_val' is missing");
  EXPECT_EQ(
      errorWith(R"("range_constraints": {})",
                R"("range_constraints": {"s": {"min_val": 2, "max_val": 1}})"),
      "range_constraints.s: the range is empty: min_val 2 is above max_val 1");
}

TEST(Program, SpecificationsMatchInputsAndOutputs) {
  std::string spec = R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})";
  std::string where = "graph_module.signature.";
  EXPECT_EQ(errorWith(", " + spec, ""),
            where + "input_specs: there are 1 input specifications, but the "
                    "graph has 2 inputs");
  EXPECT_EQ(errorWith(spec, R"({"user_input": {"arg": {"as_tensor": )"
                            R"({"name": "p"}}}})"),
            where + "input_specs[1].user_input.arg: the specification is for "
                    "'p', but the graph's input at this position is 'x'");
  EXPECT_EQ(errorWith(spec, R"({"user_input": {"arg": {"as_int": 1}}})"),
            where + "input_specs[1].user_input.arg: the specification is for a "
                    "constant (as_int), but the graph's input at this position "
                    "is 'x'");
  EXPECT_THAT(errorWith(spec, R"({"weight": {"arg": {"name": "x"}}})"),
              StartsWith(where + "input_specs[1]: unknown kind 'weight'; known "
                                 "kinds are user_input, parameter, buffer"));
  EXPECT_EQ(errorWith(spec, R"({"buffer": {"arg": {"name": "x"}, )"
                            R"("buffer_name": "b", "persistent": true}})"),
            "");
  EXPECT_EQ(errorWith(R"([{"user_output": {"arg": {"as_tensor": )"
                      R"({"name": "z"}}}}])",
                      "[]"),
            where + "output_specs: there are 0 output specifications, but the "
                    "graph has 1 outputs");
  EXPECT_EQ(errorWith(R"({"user_output": {"arg": {"as_tensor": )"
                      R"({"name": "z"}}}})",
                      R"({"buffer_mutation": {"arg": {"name": "y"}, )"
                      R"("buffer_name": "b"}})"),
            where + "output_specs[0].buffer_mutation.arg: the specification is "
                    "for 'y', but the graph's output at this position is 'z'");
}

TEST(Program, ReadsEveryKindOfSpecification) {
  auto inputKind = [](llvm::StringRef spec, InputKind kind,
                      llvm::StringRef target) {
    auto program = parse(replaced(
        programText(),
        R"({"user_input": {"arg": {"as_tensor": {"name": "x"}}}})", spec));
    ASSERT_TRUE(program);
    EXPECT_EQ(program->inputSpecs[1].kind, kind);
    EXPECT_EQ(program->inputSpecs[1].name, "x");
    EXPECT_EQ(program->inputSpecs[1].target, target);
    EXPECT_THAT(spec.str(), HasSubstr(inputKindName(kind).str()));
  };
  inputKind(R"({"tensor_constant": {"arg": {"name": "x"}, )"
            R"("tensor_constant_name": "c"}})",
            InputKind::TensorConstant, "c");
  inputKind(R"({"token": {"arg": {"name": "x"}}})", InputKind::Token, "");
  inputKind(R"({"custom_obj": {"arg": {"name": "x", "class_fqn": "C"}, )"
            R"("custom_obj_name": "o"}})",
            InputKind::CustomObject, "o");

  auto constant =
      parse(replaced(replaced(programText(), R"("graph": {"inputs": [)",
                              R"("graph": {"inputs": [{"as_bool": true}, )"),
                     R"("input_specs": [)",
                     R"("input_specs": [{"constant_input": {"name": "flag", )"
                     R"("value": {"as_bool": true}}}, )"));
  ASSERT_TRUE(constant);
  EXPECT_EQ(constant->inputSpecs[0].kind, InputKind::Constant);
  EXPECT_EQ(constant->inputSpecs[0].name, "flag");

  struct Case {
    OutputKind kind;
    const char *targetKey;
  };
  for (const Case &test : std::initializer_list<Case>{
           {OutputKind::Loss, ""},
           {OutputKind::BufferMutation, "buffer_name"},
           {OutputKind::ParameterMutation, "parameter_name"},
           {OutputKind::GradientToParameter, "parameter_name"},
           {OutputKind::GradientToUserInput, "user_input_name"},
           {OutputKind::UserInputMutation, "user_input_name"},
           {OutputKind::Token, ""}}) {
    std::string kind = outputKindName(test.kind).str();
    std::string spec = "{\"" + kind + R"(": {"arg": {"name": "z"})";
    if (*test.targetKey)
      spec += ", \"" + std::string(test.targetKey) + "\": \"t\"";
    spec += "}}";
    auto program = parse(replaced(
        programText(),
        R"({"user_output": {"arg": {"as_tensor": {"name": "z"}}}})", spec));
    ASSERT_TRUE(program);
    EXPECT_EQ(program->outputSpecs[0].kind, test.kind);
    EXPECT_EQ(program->outputSpecs[0].argument.text, "z");
    EXPECT_EQ(program->outputSpecs[0].target, *test.targetKey ? "t" : "");
  }
}

TEST(Program, CollectsTheNamesOutsideOfNodes) {
  auto program = parse(replaced(
      programText(), R"({"fqn": "m", "signature": null})",
      R"({"fqn": "m", "signature": {"inputs": [{"as_tensor": {"name": "x"}}, )"
      R"({"as_int": 1}], "outputs": [{"as_tensors": [{"name": "y"}]}], )"
      R"("in_spec": "", "out_spec": ""}})"));
  ASSERT_TRUE(program);
  std::vector<std::string> names;
  for (const Argument &name : program->outerNames) {
    names.push_back(name.text.str());
    EXPECT_EQ(program->document->text(name.nameSpan),
              "\"" + names.back() + "\"");
  }
  EXPECT_THAT(names, ElementsAre("z", "z", "x", "y"));
}

TEST(Program, MetadataIsAnObjectOfStrings) {
  EXPECT_EQ(errorWith(R"("metadata": {}, "is_hop)",
                      R"("metadata": {"custom": "{\"a\": 1}"}, "is_hop)"),
            "");
  EXPECT_EQ(errorWith(R"("metadata": {}, "is_hop)",
                      R"("metadata": {"custom": {}}, "is_hop)"),
            "node 'z' (#1): metadata.custom: expected a string, found an "
            "object");
  EXPECT_EQ(
      errorWith(R"("metadata": {}, "is_hop)", R"("metadata": [], "is_hop)"),
      "node 'z' (#1): metadata: expected an object, found an array");
}

TEST(Program, IgnoresUnknownKeys) {
  std::string text =
      replaced(programText(), R"({"target": "torch.ops.aten.add)",
               R"({"from_the_future": [1, {}], "target": )"
               R"("torch.ops.aten.add)");
  auto program = parse(text);
  ASSERT_TRUE(program);
  EXPECT_EQ(program->document->text(), text);
}

//===----------------------------------------------------------------------===//
// Programs without a document
//===----------------------------------------------------------------------===//

/// A copy of the small program as a reader of live graphs makes it: with inputs
/// and outputs of the user, and without text.
static std::unique_ptr<Program> makeLiveProgram(const Program &source) {
  auto live = std::make_unique<Program>();
  live->origin = "the graph";
  live->graph = source.graph;
  live->schemaMajor = source.schemaMajor;
  live->schemaMinor = source.schemaMinor;
  for (Node &node : live->graph.nodes)
    node.metadata = {};
  live->graph.nodes[0].writes = {{"out", "self"}};
  live->graph.nodes[1].effects = Effects::None;
  return live;
}

TEST(Program, LiveProgramsAreRenderedAsTheyAreRead) {
  auto source = parse(programText());
  ASSERT_TRUE(source);
  auto live = makeLiveProgram(*source);
  live->rangeConstraints.insert({"s0", {2, std::nullopt}});
  live->graph.symBoolValues.insert({"b", false});
  std::string text = renderProgram(*live);
  auto program = parse(text);
  ASSERT_TRUE(program) << text;
  EXPECT_EQ(program->graph.nodes.size(), 2u);
  EXPECT_EQ(program->graph.nodes[0].writes,
            std::vector<llvm::StringRef>({"out", "self"}));
  EXPECT_EQ(program->graph.nodes[0].effects, Effects::Unstated);
  EXPECT_EQ(program->graph.nodes[1].effects, Effects::None);
  EXPECT_EQ(program->inputSpecs[0].kind, InputKind::User);
  EXPECT_EQ(program->rangeConstraints.find("s0")->second.min, 2);
  EXPECT_EQ(program->rangeConstraints.find("s0")->second.max, std::nullopt);
  EXPECT_TRUE(program->graph.symBoolValues.contains("b"));
  EXPECT_EQ(renderProgram(*program), text);
}

TEST(Program, InputsAreTextWithAndWithoutADocument) {
  auto source = parse(programText());
  ASSERT_TRUE(source);
  auto live = makeLiveProgram(*source);
  for (const Program *program : {source.get(), live.get()}) {
    unsigned position = 0;
    std::string text = program->getInputsText(
        program->graph.nodes[1],
        [&](const Argument &value) -> std::optional<std::string> {
          if (value.text == "p")
            return std::nullopt;
          return "%" + std::to_string(position++);
        });
    EXPECT_EQ(
        text,
        R"([{"name": "self", "arg": {"as_tensor": {"name": "%0"}}, "kind": 1}, )"
        R"({"name": "other", "arg": {"as_tensor": {"name": "p"}}, "kind": 1}])");
  }
}

TEST(Program, NamesOfLiveProgramsAreChecked) {
  auto source = parse(programText());
  ASSERT_TRUE(source);
  auto errorAfter = [&](llvm::function_ref<void(Graph &)> change) {
    auto live = makeLiveProgram(*source);
    change(live->graph);
    return llvm::toString(checkNames(*live));
  };
  EXPECT_EQ(errorAfter([](Graph &) {}), "");
  EXPECT_THAT(
      errorAfter([](Graph &graph) { graph.nodes[1].outputs[0].text = "y"; }),
      HasSubstr("the graph: node 'z' (#1): outputs[0]: the name 'y' is "
                "already defined by node 'y' (#0)"));
  EXPECT_THAT(errorAfter([](Graph &graph) {
                std::swap(graph.nodes[0], graph.nodes[1]);
              }),
              HasSubstr("before its definition"));
  EXPECT_THAT(errorAfter([](Graph &graph) { graph.tensorValues.erase("y"); }),
              HasSubstr("has no entry in graph.tensor_values"));
}
