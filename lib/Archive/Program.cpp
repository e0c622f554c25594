//===- Program.cpp - parsing of exported programs -------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "GraphParser.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace commute::archive {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
using llvm::Twine;

/// In the order of InputKind.
static constexpr llvm::StringLiteral inputKindNames[] = {
    "user_input", "parameter",      "buffer", "tensor_constant",
    "custom_obj", "constant_input", "token",
};
/// The key of the name in the module; empty for kinds without one.
static constexpr llvm::StringLiteral inputTargetKeys[] = {
    "",
    "parameter_name",
    "buffer_name",
    "tensor_constant_name",
    "custom_obj_name",
    "",
    "",
};

/// In the order of OutputKind.
static constexpr llvm::StringLiteral outputKindNames[] = {
    "user_output",           "loss_output",
    "buffer_mutation",       "parameter_mutation",
    "gradient_to_parameter", "gradient_to_user_input",
    "user_input_mutation",   "token",
};
/// The key of the output's destination; empty for kinds without one.
static constexpr llvm::StringLiteral outputTargetKeys[] = {
    "",
    "",
    "buffer_name",
    "parameter_name",
    "parameter_name",
    "user_input_name",
    "user_input_name",
    "",
};

llvm::StringRef inputKindName(InputKind kind) {
  return inputKindNames[size_t(kind)];
}
llvm::StringRef outputKindName(OutputKind kind) {
  return outputKindNames[size_t(kind)];
}

namespace {

class ProgramParser {
public:
  explicit ProgramParser(Program &program)
      : program(program), reader(program.strings) {}

  LogicalResult parse();
  llvm::StringRef message() const { return reader.message(); }

private:
  LogicalResult parseVersion(JsonValue root);
  LogicalResult parseGraphModule(JsonValue value, const Location &location);
  LogicalResult parseRangeConstraints(JsonValue value,
                                      const Location &location);
  LogicalResult parseBound(JsonValue constraint, llvm::StringRef key,
                           const Location &location,
                           std::optional<int64_t> &result);
  LogicalResult parseOpsets(JsonValue value, const Location &location);

  LogicalResult parseInputSpecs(JsonValue value, const Location &location);
  LogicalResult parseInputSpec(JsonValue value, const Location &location,
                               const Argument &input, InputSpec &result);
  LogicalResult parseCall(JsonValue signature, const Location &location);
  LogicalResult parseOutputSpecs(JsonValue value, const Location &location);
  LogicalResult parseOutputSpec(JsonValue value, const Location &location,
                                const Argument &output, OutputSpec &result);
  LogicalResult checkSameValue(const Argument &specified,
                               const Argument &actual, llvm::StringRef role,
                               const Location &location);
  LogicalResult parseModuleCallGraph(JsonValue value, const Location &location);

  void addOuterNames(const Argument &argument) {
    argument.forEachValue(
        [&](const Argument &value) { program.outerNames.push_back(value); });
  }

  Program &program;
  SchemaReader reader;
};

/// Finds the index of `tag` in `names`, or reports an error that lists them.
LogicalResult chooseKind(SchemaReader &reader, const Location &location,
                         llvm::StringRef tag,
                         llvm::ArrayRef<llvm::StringLiteral> names,
                         size_t &result) {
  const auto *found = llvm::find(names, tag);
  if (found == names.end())
    return reader.fail(location, "unknown kind " + quoted(tag) +
                                     "; known kinds are " +
                                     llvm::join(names, ", "));
  result = found - names.begin();
  return success();
}

} // namespace

LogicalResult ProgramParser::parse() {
  JsonValue root = program.document->root();
  Location top;
  JsonValue graphModule, opsets, constraints;
  if (failed(parseVersion(root)) ||
      failed(reader.member(root, "graph_module", top, graphModule)) ||
      failed(reader.member(root, "opset_version", top, opsets)) ||
      failed(reader.member(root, "range_constraints", top, constraints)) ||
      failed(parseGraphModule(graphModule, Location(top, "graph_module"))) ||
      failed(parseOpsets(opsets, Location(top, "opset_version"))) ||
      failed(parseRangeConstraints(constraints,
                                   Location(top, "range_constraints"))))
    return failure();

  for (llvm::StringRef key : {"verifiers", "guards_code"}) {
    JsonValue list = root.get(key);
    if (!list)
      continue;
    Location location(top, key);
    if (failed(reader.require(list, JsonKind::Array, location)))
      return failure();
    size_t index = 0;
    for (JsonValue item : list) {
      llvm::StringRef text;
      if (failed(reader.string(item, Location(location, index++), text)))
        return failure();
      if (key == "verifiers" && text == "PYTHON")
        program.graph.holdsFunctions = true;
    }
  }
  if (JsonValue version = root.get("torch_version"))
    return reader.string(version, Location(top, "torch_version"),
                         program.torchVersion);
  program.torchVersion = "<=2.4";
  return success();
}

LogicalResult ProgramParser::parseVersion(JsonValue root) {
  Location top;
  Location location(top, "schema_version");
  JsonValue version, major, minor;
  if (failed(reader.member(root, "schema_version", top, version)) ||
      failed(reader.member(version, "major", location, major)) ||
      failed(reader.member(version, "minor", location, minor)) ||
      failed(reader.integer(major, Location(location, "major"),
                            program.schemaMajor)) ||
      failed(reader.integer(minor, Location(location, "minor"),
                            program.schemaMinor)))
    return failure();
  // Compatible schema changes increment the minor version only.
  constexpr int64_t readMajor = 8;
  if (program.schemaMajor != readMajor)
    return reader.fail(location, "export schema " + Twine(program.schemaMajor) +
                                     "." + Twine(program.schemaMinor) +
                                     " is not supported; only major version " +
                                     Twine(readMajor) + " is read");
  return success();
}

LogicalResult ProgramParser::parseGraphModule(JsonValue value,
                                              const Location &location) {
  JsonValue graph, signature, inputSpecs, outputSpecs, calls;
  Location signatureLocation(location, "signature");
  Location graphLocation(location, "graph");
  if (failed(reader.member(value, "graph", location, graph)) ||
      failed(reader.member(value, "signature", location, signature)) ||
      failed(reader.member(value, "module_call_graph", location, calls)) ||
      failed(reader.member(signature, "input_specs", signatureLocation,
                           inputSpecs)) ||
      failed(reader.member(signature, "output_specs", signatureLocation,
                           outputSpecs)) ||
      failed(parseGraph(reader, graph, graphLocation, program.graph)))
    return failure();
  program.nodesArray = graph.get("nodes");
  program.tensorValuesObject = graph.get("tensor_values");
  program.symIntValuesObject = graph.get("sym_int_values");
  for (const Argument &output : program.graph.outputs)
    addOuterNames(output);

  if (failed(parseInputSpecs(inputSpecs,
                             Location(signatureLocation, "input_specs"))) ||
      failed(parseOutputSpecs(outputSpecs,
                              Location(signatureLocation, "output_specs"))) ||
      failed(
          parseModuleCallGraph(calls, Location(location, "module_call_graph"))))
    return failure();
  if (JsonValue metadata = value.get("metadata"))
    return reader.objectOfStrings(metadata, Location(location, "metadata"));
  return success();
}

LogicalResult ProgramParser::parseOpsets(JsonValue value,
                                         const Location &location) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  for (JsonValue version : value) {
    int64_t number = 0;
    if (failed(reader.integer(version, location, number)))
      return failure();
  }
  return success();
}

LogicalResult ProgramParser::parseRangeConstraints(JsonValue value,
                                                   const Location &location) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    llvm::StringRef symbol;
    if (failed(reader.name(member.key(), location, symbol)))
      return failure();
    Location symbolLocation(location, symbol);
    RangeConstraint constraint;
    if (failed(
            parseBound(*member, "min_val", symbolLocation, constraint.min)) ||
        failed(parseBound(*member, "max_val", symbolLocation, constraint.max)))
      return failure();
    if (constraint.min && constraint.max && *constraint.min > *constraint.max)
      return reader.fail(symbolLocation, "the range is empty: min_val " +
                                             Twine(*constraint.min) +
                                             " is above max_val " +
                                             Twine(*constraint.max));
    program.rangeConstraints.insert({symbol, constraint});
  }
  return success();
}

LogicalResult ProgramParser::parseBound(JsonValue constraint,
                                        llvm::StringRef key,
                                        const Location &location,
                                        std::optional<int64_t> &result) {
  JsonValue bound;
  if (failed(reader.member(constraint, key, location, bound)))
    return failure();
  if (bound.is(JsonKind::Null))
    return success();
  int64_t number = 0;
  if (failed(reader.integer(bound, Location(location, key), number)))
    return failure();
  result = number;
  return success();
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

LogicalResult ProgramParser::checkSameValue(const Argument &specified,
                                            const Argument &actual,
                                            llvm::StringRef role,
                                            const Location &location) {
  auto describeValue = [](const Argument &argument) {
    if (argument.namesValue())
      return quoted(argument.text);
    return ("a constant (" + argumentTagName(argument.tag) + ")").str();
  };
  bool isSame = specified.namesValue() == actual.namesValue();
  if (isSame && specified.namesValue())
    isSame = specified.text == actual.text;
  else if (isSame)
    isSame = specified.tag == actual.tag;
  if (isSame)
    return success();
  return reader.fail(location,
                     "the specification is for " + describeValue(specified) +
                         ", but the graph's " + role + " at this position is " +
                         describeValue(actual));
}

LogicalResult ProgramParser::parseInputSpecs(JsonValue value,
                                             const Location &location) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  size_t count = value.size();
  const std::vector<Argument> &inputs = program.graph.inputs;
  if (count != inputs.size())
    return reader.fail(location, "there are " + Twine(count) +
                                     " input specifications, but the graph "
                                     "has " +
                                     Twine(inputs.size()) + " inputs");
  program.inputSpecs.reserve(count);
  for (JsonValue item : value) {
    size_t index = program.inputSpecs.size();
    if (failed(parseInputSpec(item, Location(location, index), inputs[index],
                              program.inputSpecs.emplace_back())))
      return failure();
  }
  return success();
}

LogicalResult ProgramParser::parseInputSpec(JsonValue value,
                                            const Location &location,
                                            const Argument &input,
                                            InputSpec &result) {
  llvm::StringRef tag;
  JsonValue spec, argumentValue;
  size_t kind = 0;
  if (failed(reader.unionMember(value, location, tag, spec)) ||
      failed(chooseKind(reader, location, tag, inputKindNames, kind)))
    return failure();
  result.kind = InputKind(kind);
  Location specLocation(location, inputKindNames[kind]);

  if (result.kind == InputKind::Constant) {
    JsonValue name, constant;
    if (failed(reader.member(spec, "name", specLocation, name)) ||
        failed(reader.member(spec, "value", specLocation, constant)) ||
        failed(reader.name(name, Location(specLocation, "name"), result.name)))
      return failure();
    // The tags of constants are also tags of arguments.
    Argument argument;
    Location constantLocation(specLocation, "value");
    if (failed(parseArgument(reader, constant, constantLocation, argument)))
      return failure();
    return checkSameValue(argument, input, "input", constantLocation);
  }

  Location argumentLocation(specLocation, "arg");
  if (failed(reader.member(spec, "arg", specLocation, argumentValue)))
    return failure();
  Argument argument;
  LogicalResult parsed =
      result.kind == InputKind::User
          ? parseArgument(reader, argumentValue, argumentLocation, argument)
          : parseNamedValue(reader, argumentValue, argumentLocation,
                            result.kind == InputKind::CustomObject
                                ? ArgumentTag::CustomObject
                            : result.kind == InputKind::Token
                                ? ArgumentTag::Token
                                : ArgumentTag::Tensor,
                            argument);
  if (failed(parsed) ||
      failed(checkSameValue(argument, input, "input", argumentLocation)))
    return failure();
  if (argument.namesValue())
    result.name = argument.text;

  llvm::StringRef targetKey = inputTargetKeys[kind];
  if (targetKey.empty())
    return success();
  JsonValue target;
  if (failed(reader.member(spec, targetKey, specLocation, target)))
    return failure();
  return reader.string(target, Location(specLocation, targetKey),
                       result.target);
}

LogicalResult ProgramParser::parseOutputSpecs(JsonValue value,
                                              const Location &location) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  size_t count = value.size();
  const std::vector<Argument> &outputs = program.graph.outputs;
  if (count != outputs.size())
    return reader.fail(location, "there are " + Twine(count) +
                                     " output specifications, but the graph "
                                     "has " +
                                     Twine(outputs.size()) + " outputs");
  program.outputSpecs.reserve(count);
  for (JsonValue item : value) {
    size_t index = program.outputSpecs.size();
    OutputSpec &spec = program.outputSpecs.emplace_back();
    if (failed(parseOutputSpec(item, Location(location, index), outputs[index],
                               spec)))
      return failure();
    addOuterNames(spec.argument);
  }
  return success();
}

LogicalResult ProgramParser::parseOutputSpec(JsonValue value,
                                             const Location &location,
                                             const Argument &output,
                                             OutputSpec &result) {
  llvm::StringRef tag;
  JsonValue spec, argument;
  size_t kind = 0;
  if (failed(reader.unionMember(value, location, tag, spec)) ||
      failed(chooseKind(reader, location, tag, outputKindNames, kind)))
    return failure();
  result.kind = OutputKind(kind);
  Location specLocation(location, outputKindNames[kind]);
  Location argumentLocation(specLocation, "arg");
  if (failed(reader.member(spec, "arg", specLocation, argument)))
    return failure();
  LogicalResult parsed =
      result.kind == OutputKind::User
          ? parseArgument(reader, argument, argumentLocation, result.argument)
          : parseNamedValue(reader, argument, argumentLocation,
                            result.kind == OutputKind::Token
                                ? ArgumentTag::Token
                                : ArgumentTag::Tensor,
                            result.argument);
  if (failed(parsed) || failed(checkSameValue(result.argument, output, "output",
                                              argumentLocation)))
    return failure();

  llvm::StringRef targetKey = outputTargetKeys[kind];
  if (targetKey.empty())
    return success();
  JsonValue target;
  if (failed(reader.member(spec, targetKey, specLocation, target)))
    return failure();
  return reader.string(target, Location(specLocation, targetKey),
                       result.target);
}

LogicalResult ProgramParser::parseCall(JsonValue signature,
                                       const Location &location) {
  CallingConvention call;
  struct Part {
    llvm::StringRef key;
    llvm::StringRef *text;
  };
  for (Part part :
       {Part{"in_spec", &call.inputs}, Part{"out_spec", &call.outputs}})
    if (JsonValue value = signature.get(part.key);
        value && !value.is(JsonKind::Null) &&
        failed(reader.string(value, Location(location, part.key), *part.text)))
      return failure();
  Location namesLocation(location, "forward_arg_names");
  if (JsonValue names = signature.get("forward_arg_names");
      names && !names.is(JsonKind::Null)) {
    if (failed(reader.require(names, JsonKind::Array, namesLocation)))
      return failure();
    for (JsonValue name : names)
      if (failed(reader.string(name,
                               Location(namesLocation, call.parameters.size()),
                               call.parameters.emplace_back())))
        return failure();
  }
  program.call = std::move(call);
  return success();
}

/// Parses the calling convention of the program. Of its submodules, parses only
/// the names; everything else is needed only for unflattening, which is left to
/// PyTorch.
LogicalResult ProgramParser::parseModuleCallGraph(JsonValue value,
                                                  const Location &location) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  size_t index = 0;
  for (JsonValue entry : value) {
    Location entryLocation(location, index++);
    if (failed(reader.require(entry, JsonKind::Object, entryLocation)))
      return failure();
    JsonValue signature = entry.get("signature");
    if (!signature || signature.is(JsonKind::Null))
      continue;
    Location signatureLocation(entryLocation, "signature");
    std::string storage;
    if (JsonValue module = entry.get("fqn");
        module && module.getString(storage) == llvm::StringRef() &&
        failed(parseCall(signature, signatureLocation)))
      return failure();
    for (llvm::StringRef key : {"inputs", "outputs"}) {
      JsonValue list;
      std::vector<Argument> arguments;
      if (failed(reader.member(signature, key, signatureLocation, list)) ||
          failed(parseArguments(reader, list, Location(signatureLocation, key),
                                arguments)))
        return failure();
      for (const Argument &argument : arguments)
        addOuterNames(argument);
    }
  }
  return success();
}

llvm::Expected<std::unique_ptr<Program>>
parseProgram(std::string json, llvm::StringRef origin,
             const JsonLimits &limits) {
  auto fail = [&](const Twine &message) {
    return llvm::createStringError(origin + ": " + message);
  };
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(std::move(json), limits);
  if (!document)
    return fail(llvm::toString(document.takeError()));
  auto program = std::make_unique<Program>();
  program->document = std::move(*document);
  program->origin = origin.str();
  ProgramParser parser(*program);
  if (failed(parser.parse()))
    return fail(parser.message());
  return program;
}

} // namespace commute::archive
