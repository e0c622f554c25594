//===- GraphParser.cpp - parsing of graphs --------------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphParser.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"

namespace commute::archive {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
using llvm::Twine;

namespace {

class GraphParser {
public:
  GraphParser(SchemaReader &reader, Graph &graph)
      : reader(reader), graph(graph) {}

  LogicalResult parse(JsonValue value, const Location &location);

private:
  LogicalResult parseTensorValues(JsonValue value, const Location &location);
  LogicalResult parseTensorMeta(JsonValue value, const Location &location,
                                TensorMeta &result);
  LogicalResult parseSizes(JsonValue value, const Location &location,
                           llvm::SmallVectorImpl<SymInt> &result);
  LogicalResult parseSymInt(JsonValue value, const Location &location,
                            SymInt &result);
  LogicalResult parseSymIntValues(JsonValue value, const Location &location);
  LogicalResult
  parseConstantOrExpression(JsonValue value, const Location &location,
                            ArgumentTag constant,
                            llvm::DenseMap<llvm::StringRef, bool> &result);

  LogicalResult parseNodes(JsonValue value, const Location &location);
  LogicalResult parseNode(JsonValue value, const Location &location,
                          Node &result);
  LogicalResult parseNamedArgument(JsonValue value, const Location &location,
                                   NamedArgument &result);
  /// Parses node names first, because locations need them.
  LogicalResult parseNodeName(JsonValue node, const Location &location,
                              llvm::StringRef &result);

  SchemaReader &reader;
  Graph &graph;
};

} // namespace

LogicalResult GraphParser::parse(JsonValue value, const Location &location) {
  JsonValue inputs, outputs, nodes, tensorValues, symInts, symBools;
  if (failed(reader.member(value, "inputs", location, inputs)) ||
      failed(reader.member(value, "outputs", location, outputs)) ||
      failed(reader.member(value, "nodes", location, nodes)) ||
      failed(reader.member(value, "tensor_values", location, tensorValues)) ||
      failed(reader.member(value, "sym_int_values", location, symInts)) ||
      failed(reader.member(value, "sym_bool_values", location, symBools)) ||
      failed(parseArguments(reader, inputs, Location(location, "inputs"),
                            graph.inputs)) ||
      failed(parseNodes(nodes, Location(location, "nodes"))) ||
      failed(parseArguments(reader, outputs, Location(location, "outputs"),
                            graph.outputs)) ||
      failed(parseTensorValues(tensorValues,
                               Location(location, "tensor_values"))) ||
      failed(
          parseSymIntValues(symInts, Location(location, "sym_int_values"))) ||
      failed(parseConstantOrExpression(symBools,
                                       Location(location, "sym_bool_values"),
                                       ArgumentTag::Bool, graph.symBoolValues)))
    return failure();
  if (JsonValue symFloats = value.get("sym_float_values"))
    if (failed(parseConstantOrExpression(
            symFloats, Location(location, "sym_float_values"),
            ArgumentTag::Float, graph.symFloatValues)))
      return failure();
  return checkNames(reader, graph, location);
}

//===----------------------------------------------------------------------===//
// Tables of values
//===----------------------------------------------------------------------===//

LogicalResult GraphParser::parseTensorValues(JsonValue value,
                                             const Location &location) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    llvm::StringRef name;
    TensorMeta meta;
    if (failed(reader.name(member.key(), location, name)) ||
        failed(parseTensorMeta(*member, Location(location, name), meta)))
      return failure();
    graph.tensorValues.insert({name, std::move(meta)});
  }
  return success();
}

LogicalResult GraphParser::parseTensorMeta(JsonValue value,
                                           const Location &location,
                                           TensorMeta &result) {
  JsonValue dtype, sizes, requiresGrad, device, strides, offset, layout;
  Location offsetLocation(location, "storage_offset");
  int64_t number = 0;
  if (failed(reader.member(value, "dtype", location, dtype)) ||
      failed(reader.member(value, "sizes", location, sizes)) ||
      failed(reader.member(value, "requires_grad", location, requiresGrad)) ||
      failed(reader.member(value, "device", location, device)) ||
      failed(reader.member(value, "strides", location, strides)) ||
      failed(reader.member(value, "storage_offset", location, offset)) ||
      failed(reader.member(value, "layout", location, layout)) ||
      failed(parseEnumeration(reader, dtype, Location(location, "dtype"),
                              ArgumentTag::ScalarType, number)) ||
      failed(parseSizes(sizes, Location(location, "sizes"), result.sizes)) ||
      failed(reader.boolean(requiresGrad, Location(location, "requires_grad"),
                            result.requiresGrad)) ||
      failed(parseDevice(reader, device, Location(location, "device"),
                         result.device.type, result.device.index)) ||
      failed(
          parseSizes(strides, Location(location, "strides"), result.strides)) ||
      failed(parseSymInt(offset, offsetLocation, result.storageOffset)) ||
      failed(parseEnumeration(reader, layout, Location(location, "layout"),
                              ArgumentTag::Layout, result.layout)))
    return failure();
  result.dtype = ScalarType(number);

  for (auto [index, size] : llvm::enumerate(result.sizes))
    if (size.value.value_or(0) < 0)
      return reader.fail(Location(Location(location, "sizes"), index),
                         "the size " + Twine(*size.value) + " is negative");
  if (result.storageOffset.value.value_or(0) < 0)
    return reader.fail(offsetLocation, "the storage offset " +
                                           Twine(*result.storageOffset.value) +
                                           " is negative");
  // Sparse tensors have no strides.
  if (result.layout == stridedLayout &&
      result.sizes.size() != result.strides.size())
    return reader.fail(location, "there are " + Twine(result.sizes.size()) +
                                     " sizes, but " +
                                     Twine(result.strides.size()) + " strides");
  return success();
}

LogicalResult GraphParser::parseSizes(JsonValue value, const Location &location,
                                      llvm::SmallVectorImpl<SymInt> &result) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  for (JsonValue item : value) {
    Location itemLocation(location, result.size());
    if (failed(parseSymInt(item, itemLocation, result.emplace_back())))
      return failure();
  }
  return success();
}

LogicalResult GraphParser::parseSymInt(JsonValue value,
                                       const Location &location,
                                       SymInt &result) {
  llvm::StringRef tag;
  JsonValue payload;
  if (failed(reader.unionMember(value, location, tag, payload)))
    return failure();
  Location payloadLocation(location, tag);
  if (tag == "as_int") {
    int64_t number = 0;
    if (failed(reader.integer(payload, payloadLocation, number)))
      return failure();
    result.value = number;
    return success();
  }
  if (tag != "as_expr")
    return reader.fail(location, "unknown tag " + quoted(tag) +
                                     "; known tags are as_int and as_expr");
  JsonValue expression;
  if (failed(reader.member(payload, "expr_str", payloadLocation, expression)) ||
      failed(reader.name(expression, Location(payloadLocation, "expr_str"),
                         result.expression)))
    return failure();
  JsonValue hint = payload.get("hint");
  if (!hint || hint.is(JsonKind::Null))
    return success();
  Location hintLocation(payloadLocation, "hint");
  JsonValue hintValue;
  int64_t number = 0;
  if (failed(reader.member(hint, "as_int", hintLocation, hintValue)) ||
      failed(
          reader.integer(hintValue, Location(hintLocation, "as_int"), number)))
    return failure();
  result.hint = number;
  return success();
}

LogicalResult GraphParser::parseSymIntValues(JsonValue value,
                                             const Location &location) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    llvm::StringRef name;
    SymInt number;
    if (failed(reader.name(member.key(), location, name)) ||
        failed(parseSymInt(*member, Location(location, name), number)))
      return failure();
    graph.symIntValues.insert({name, number});
  }
  return success();
}

/// Parses a named SymBool or SymFloat, and determines whether it is a constant.
LogicalResult GraphParser::parseConstantOrExpression(
    JsonValue value, const Location &location, ArgumentTag constant,
    llvm::DenseMap<llvm::StringRef, bool> &result) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    llvm::StringRef name, tag;
    JsonValue payload;
    if (failed(reader.name(member.key(), location, name)))
      return failure();
    Location memberLocation(location, name);
    if (failed(reader.unionMember(*member, memberLocation, tag, payload)))
      return failure();
    bool isConstant = tag == argumentTagName(constant);
    if (!isConstant && tag != "as_expr")
      return reader.fail(memberLocation,
                         "unknown tag " + quoted(tag) + "; known tags are " +
                             argumentTagName(constant) + " and as_expr");
    result.insert({name, isConstant});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphParser::parseNodes(JsonValue value,
                                      const Location &location) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  graph.nodes.reserve(value.size());
  for (JsonValue item : value) {
    size_t index = graph.nodes.size();
    Node &node = graph.nodes.emplace_back();
    if (failed(parseNodeName(item, Location::node(index, ""), node.name)) ||
        failed(parseNode(item, Location::node(index, node.name), node)))
      return failure();
  }
  return success();
}

LogicalResult GraphParser::parseNodeName(JsonValue node,
                                         const Location &location,
                                         llvm::StringRef &result) {
  if (failed(reader.require(node, JsonKind::Object, location)))
    return failure();
  JsonValue name = node.get("name");
  if (!name || name.is(JsonKind::Null))
    return success();
  return reader.name(name, Location(location, "name"), result);
}

LogicalResult GraphParser::parseNode(JsonValue value, const Location &location,
                                     Node &result) {
  JsonValue target, inputs, outputs, metadata;
  Location inputsLocation(location, "inputs");
  Location metadataLocation(location, "metadata");
  if (failed(reader.member(value, "target", location, target)) ||
      failed(reader.member(value, "inputs", location, inputs)) ||
      failed(reader.member(value, "outputs", location, outputs)) ||
      failed(reader.member(value, "metadata", location, metadata)) ||
      failed(
          reader.name(target, Location(location, "target"), result.target)) ||
      failed(reader.require(inputs, JsonKind::Array, inputsLocation)))
    return failure();

  result.inputs.reserve(inputs.size());
  for (JsonValue input : inputs) {
    Location inputLocation(inputsLocation, result.inputs.size());
    if (failed(parseNamedArgument(input, inputLocation,
                                  result.inputs.emplace_back())))
      return failure();
  }
  if (failed(parseArguments(reader, outputs, Location(location, "outputs"),
                            result.outputs)) ||
      failed(reader.objectOfStrings(metadata, metadataLocation)))
    return failure();

  result.span = value.span();
  result.inputsSpan = inputs.span();
  result.metadata = metadata.text();
  if (JsonValue trace = metadata.get("stack_trace"))
    if (failed(reader.string(trace, Location(metadataLocation, "stack_trace"),
                             result.stackTrace)))
      return failure();
  if (JsonValue effects = metadata.get("effects")) {
    llvm::StringRef stated;
    if (failed(reader.string(effects, Location(metadataLocation, "effects"),
                             stated)))
      return failure();
    if (stated != "none" && stated != "any")
      return reader.fail(Location(metadataLocation, "effects"),
                         quoted(stated) + " is neither none nor any");
    result.effects = stated == "none" ? Effects::None : Effects::Any;
  }
  if (JsonValue writes = metadata.get("writes")) {
    // For example "writes": "self out"; empty if the operator writes into no
    // argument.
    llvm::StringRef stated;
    if (failed(reader.string(writes, Location(metadataLocation, "writes"),
                             stated)))
      return failure();
    llvm::SmallVector<llvm::StringRef> names;
    stated.split(names, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    result.writes.emplace(names.begin(), names.end());
  }
  if (JsonValue single = value.get("is_hop_single_tensor_return");
      single && !single.is(JsonKind::Null)) {
    bool boolean = false;
    if (failed(reader.boolean(single,
                              Location(location, "is_hop_single_tensor_return"),
                              boolean)))
      return failure();
    result.isSingleTensorReturn = boolean;
  }
  // Before schema 8.8 or so, nodes had no names of their own.
  if (result.name.empty() && result.outputs.size() == 1 &&
      result.outputs.front().tag == ArgumentTag::Tensor)
    result.name = result.outputs.front().text;
  return success();
}

LogicalResult GraphParser::parseNamedArgument(JsonValue value,
                                              const Location &location,
                                              NamedArgument &result) {
  JsonValue name, argument;
  if (failed(reader.member(value, "name", location, name)) ||
      failed(reader.member(value, "arg", location, argument)) ||
      failed(reader.string(name, Location(location, "name"), result.name)) ||
      failed(parseArgument(reader, argument, Location(location, "arg"),
                           result.value)))
    return failure();
  JsonValue kind = value.get("kind");
  if (!kind || kind.is(JsonKind::Null))
    return success();
  Location kindLocation(location, "kind");
  int64_t number = 0;
  if (failed(reader.integer(kind, kindLocation, number)))
    return failure();
  if (number < 0 || number > int64_t(ArgumentKind::Keyword))
    return reader.fail(kindLocation, "unknown argument kind " + Twine(number) +
                                         "; the export schema 8.20 has 0 to 2");
  result.kind = ArgumentKind(number);
  return success();
}

LogicalResult parseGraph(SchemaReader &reader, JsonValue value,
                         const Location &location, Graph &result) {
  return GraphParser(reader, result).parse(value, location);
}

} // namespace commute::archive
