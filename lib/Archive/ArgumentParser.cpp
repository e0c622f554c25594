//===- ArgumentParser.cpp - parsing of node arguments ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphParser.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace commute::archive {

using llvm::failed;
using llvm::failure;
using llvm::LogicalResult;
using llvm::success;
using llvm::Twine;

namespace {

class ArgumentParser {
public:
  explicit ArgumentParser(SchemaReader &reader) : reader(reader) {}

  LogicalResult parse(JsonValue value, const Location &location,
                      Argument &result);

private:
  using ItemParser = llvm::function_ref<LogicalResult(
      JsonValue item, const Location &location, Argument &element)>;

  /// Parses an array by calling `parseItem` for each element. Elements start
  /// with the tag `tag`, which `parseItem` may change.
  LogicalResult parseList(JsonValue value, const Location &location,
                          ArgumentTag tag, Argument &result,
                          ItemParser parseItem);
  LogicalResult parsePayload(JsonValue payload, const Location &location,
                             Argument &result);
  /// Parses the payload of `result.tag`, a tag with a single value.
  LogicalResult parseScalar(JsonValue value, const Location &location,
                            Argument &result);
  LogicalResult parseScalars(JsonValue value, const Location &location,
                             ArgumentTag tag, Argument &result);
  LogicalResult parseSymbolic(JsonValue value, const Location &location,
                              Argument &result);
  LogicalResult parseOptionalTensor(JsonValue value, const Location &location,
                                    Argument &result);
  LogicalResult parseComplex(JsonValue value, const Location &location,
                             Argument &result);
  LogicalResult parseGraphArgument(JsonValue value, const Location &location,
                                   Argument &result);
  LogicalResult parseDictionary(JsonValue value, const Location &location,
                                Argument &result);

  SchemaReader &reader;
};

} // namespace

static std::string knownTags() {
  std::string result;
  for (unsigned tag = 0; tag < unsigned(ArgumentTag::Token); ++tag) {
    if (tag > 0)
      result += ", ";
    result += argumentTagName(ArgumentTag(tag));
  }
  return result;
}

LogicalResult ArgumentParser::parse(JsonValue value, const Location &location,
                                    Argument &result) {
  llvm::StringRef tagName;
  JsonValue payload;
  if (failed(reader.unionMember(value, location, tagName, payload)))
    return failure();
  std::optional<ArgumentTag> tag = argumentTagFromName(tagName);
  if (!tag)
    return reader.fail(location, "unknown argument tag " + quoted(tagName) +
                                     "; known tags are " + knownTags());
  result.tag = *tag;
  result.span = value.span();
  return parsePayload(payload, Location(location, argumentTagName(*tag)),
                      result);
}

LogicalResult ArgumentParser::parsePayload(JsonValue payload,
                                           const Location &location,
                                           Argument &result) {
  switch (result.tag) {
  case ArgumentTag::None:
    // The payload of None is true; old producers also wrote [] or ().
    return success();
  case ArgumentTag::Tensor:
  case ArgumentTag::CustomObject:
  case ArgumentTag::Token:
    return parseNamedValue(reader, payload, location, result.tag, result);
  case ArgumentTag::Int:
  case ArgumentTag::Float:
  case ArgumentTag::String:
  case ArgumentTag::Operator:
  case ArgumentTag::Bool:
  case ArgumentTag::SymInt:
  case ArgumentTag::SymBool:
  case ArgumentTag::SymFloat:
    return parseScalar(payload, location, result);
  case ArgumentTag::Ints:
    return parseScalars(payload, location, ArgumentTag::Int, result);
  case ArgumentTag::Floats:
    return parseScalars(payload, location, ArgumentTag::Float, result);
  case ArgumentTag::Strings:
    return parseScalars(payload, location, ArgumentTag::String, result);
  case ArgumentTag::Bools:
    return parseScalars(payload, location, ArgumentTag::Bool, result);
  case ArgumentTag::Tensors:
    return parseScalars(payload, location, ArgumentTag::Tensor, result);
  case ArgumentTag::SymInts:
    return parseScalars(payload, location, ArgumentTag::SymInt, result);
  case ArgumentTag::SymBools:
    return parseScalars(payload, location, ArgumentTag::SymBool, result);
  case ArgumentTag::SymFloats:
    return parseScalars(payload, location, ArgumentTag::SymFloat, result);
  case ArgumentTag::NestedTensors:
  case ArgumentTag::IntLists:
  case ArgumentTag::FloatLists: {
    ArgumentTag inner =
        result.tag == ArgumentTag::NestedTensors ? ArgumentTag::Tensors
        : result.tag == ArgumentTag::IntLists    ? ArgumentTag::Ints
                                                 : ArgumentTag::Floats;
    return parseList(
        payload, location, inner, result,
        [&](JsonValue item, const Location &itemLocation, Argument &element) {
          return parsePayload(item, itemLocation, element);
        });
  }
  case ArgumentTag::OptionalTensors:
    return parseList(
        payload, location, ArgumentTag::None, result,
        [&](JsonValue item, const Location &itemLocation, Argument &element) {
          return parseOptionalTensor(item, itemLocation, element);
        });
  case ArgumentTag::OptionalTensor:
    result.elements.emplace_back().span = payload.span();
    return parseOptionalTensor(payload, location, result.elements.back());
  case ArgumentTag::ScalarType:
  case ArgumentTag::MemoryFormat:
  case ArgumentTag::Layout:
    return parseEnumeration(reader, payload, location, result.tag,
                            result.integer);
  case ArgumentTag::Device: {
    std::optional<int64_t> index;
    if (failed(parseDevice(reader, payload, location, result.text, index)))
      return failure();
    result.integer = index.value_or(-1);
    return success();
  }
  case ArgumentTag::Complex:
    return parseComplex(payload, location, result);
  case ArgumentTag::Graph:
    return parseGraphArgument(payload, location, result);
  case ArgumentTag::StringToArgument:
    return parseDictionary(payload, location, result);
  }
  llvm_unreachable("all tags are handled");
}

LogicalResult ArgumentParser::parseList(JsonValue value,
                                        const Location &location,
                                        ArgumentTag tag, Argument &result,
                                        ItemParser parseItem) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  result.elements.reserve(value.size());
  for (JsonValue item : value) {
    Location itemLocation(location, result.elements.size());
    Argument &element = result.elements.emplace_back();
    element.tag = tag;
    element.span = item.span();
    if (failed(parseItem(item, itemLocation, element)))
      return failure();
  }
  return success();
}

LogicalResult ArgumentParser::parseScalars(JsonValue value,
                                           const Location &location,
                                           ArgumentTag tag, Argument &result) {
  return parseList(
      value, location, tag, result,
      [&](JsonValue item, const Location &itemLocation, Argument &element) {
        return parseScalar(item, itemLocation, element);
      });
}

LogicalResult ArgumentParser::parseScalar(JsonValue value,
                                          const Location &location,
                                          Argument &result) {
  switch (result.tag) {
  case ArgumentTag::Tensor:
    return parseNamedValue(reader, value, location, result.tag, result);
  case ArgumentTag::Int:
    return reader.integer(value, location, result.integer);
  case ArgumentTag::Float:
    return reader.number(value, location, result.real);
  case ArgumentTag::String:
  case ArgumentTag::Operator:
    return reader.string(value, location, result.text);
  case ArgumentTag::Bool: {
    bool boolean = false;
    if (failed(reader.boolean(value, location, boolean)))
      return failure();
    result.integer = boolean;
    return success();
  }
  case ArgumentTag::SymInt:
  case ArgumentTag::SymBool:
  case ArgumentTag::SymFloat:
    return parseSymbolic(value, location, result);
  default:
    llvm_unreachable("not a tag of one value");
  }
}

/// Parses a name or a constant: SymIntArgument, SymBoolArgument or
/// SymFloatArgument.
LogicalResult ArgumentParser::parseSymbolic(JsonValue value,
                                            const Location &location,
                                            Argument &result) {
  llvm::StringRef tag;
  JsonValue payload;
  if (failed(reader.unionMember(value, location, tag, payload)))
    return failure();
  ArgumentTag constant = result.tag == ArgumentTag::SymInt ? ArgumentTag::Int
                         : result.tag == ArgumentTag::SymBool
                             ? ArgumentTag::Bool
                             : ArgumentTag::Float;
  if (tag == "as_name") {
    result.nameSpan = payload.span();
    return reader.name(payload, Location(location, "as_name"), result.text);
  }
  if (tag != argumentTagName(constant))
    return reader.fail(location, "unknown tag " + quoted(tag) +
                                     "; known tags are as_name and " +
                                     argumentTagName(constant));
  Argument plain;
  plain.tag = constant;
  if (failed(parseScalar(payload, Location(location, argumentTagName(constant)),
                         plain)))
    return failure();
  result.integer = plain.integer;
  result.real = plain.real;
  return success();
}

LogicalResult ArgumentParser::parseOptionalTensor(JsonValue value,
                                                  const Location &location,
                                                  Argument &result) {
  llvm::StringRef tag;
  JsonValue payload;
  if (failed(reader.unionMember(value, location, tag, payload)))
    return failure();
  if (tag == "as_none") {
    result.tag = ArgumentTag::None;
    return success();
  }
  if (tag != "as_tensor")
    return reader.fail(location, "unknown tag " + quoted(tag) +
                                     "; known tags are as_tensor and as_none");
  return parseNamedValue(reader, payload, Location(location, "as_tensor"),
                         ArgumentTag::Tensor, result);
}

LogicalResult ArgumentParser::parseComplex(JsonValue value,
                                           const Location &location,
                                           Argument &result) {
  JsonValue real, imaginary;
  if (failed(reader.member(value, "real", location, real)) ||
      failed(reader.member(value, "imag", location, imaginary)) ||
      failed(reader.number(real, Location(location, "real"), result.real)))
    return failure();
  return reader.number(imaginary, Location(location, "imag"), result.imaginary);
}

/// Keeps the subgraph as text, because its names are in a scope of their own.
LogicalResult ArgumentParser::parseGraphArgument(JsonValue value,
                                                 const Location &location,
                                                 Argument &result) {
  JsonValue name, graph;
  if (failed(reader.member(value, "name", location, name)) ||
      failed(reader.member(value, "graph", location, graph)) ||
      failed(reader.name(name, Location(location, "name"), result.text)))
    return failure();
  return reader.require(graph, JsonKind::Object, Location(location, "graph"));
}

LogicalResult ArgumentParser::parseDictionary(JsonValue value,
                                              const Location &location,
                                              Argument &result) {
  if (failed(reader.require(value, JsonKind::Object, location)))
    return failure();
  result.elements.reserve(value.size());
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    llvm::StringRef key;
    if (failed(reader.string(member.key(), location, key)))
      return failure();
    Argument &element = result.elements.emplace_back();
    if (failed(parse(*member, Location(location, key), element)))
      return failure();
    // `className` holds the class of a custom object, and so cannot also hold
    // the key.
    if (element.tag == ArgumentTag::CustomObject)
      return reader.fail(Location(location, key),
                         "a custom object inside a dictionary is not "
                         "supported");
    element.className = key;
  }
  return success();
}

LogicalResult parseArgument(SchemaReader &reader, JsonValue value,
                            const Location &location, Argument &result) {
  return ArgumentParser(reader).parse(value, location, result);
}

LogicalResult parseArguments(SchemaReader &reader, JsonValue value,
                             const Location &location,
                             std::vector<Argument> &result) {
  if (failed(reader.require(value, JsonKind::Array, location)))
    return failure();
  result.reserve(value.size());
  for (JsonValue item : value) {
    Location itemLocation(location, result.size());
    if (failed(
            parseArgument(reader, item, itemLocation, result.emplace_back())))
      return failure();
  }
  return success();
}

LogicalResult parseNamedValue(SchemaReader &reader, JsonValue value,
                              const Location &location, ArgumentTag tag,
                              Argument &result) {
  JsonValue name;
  if (failed(reader.member(value, "name", location, name)) ||
      failed(reader.name(name, Location(location, "name"), result.text)))
    return failure();
  result.tag = tag;
  result.nameSpan = name.span();
  if (result.span.empty())
    result.span = value.span();
  if (tag != ArgumentTag::CustomObject)
    return success();
  JsonValue className;
  if (failed(reader.member(value, "class_fqn", location, className)))
    return failure();
  return reader.string(className, Location(location, "class_fqn"),
                       result.className);
}

LogicalResult parseDevice(SchemaReader &reader, JsonValue value,
                          const Location &location, llvm::StringRef &type,
                          std::optional<int64_t> &index) {
  JsonValue typeValue;
  if (failed(reader.member(value, "type", location, typeValue)) ||
      failed(reader.name(typeValue, Location(location, "type"), type)))
    return failure();
  JsonValue indexValue = value.get("index");
  if (!indexValue || indexValue.is(JsonKind::Null))
    return success();
  Location indexLocation(location, "index");
  int64_t number = 0;
  if (failed(reader.integer(indexValue, indexLocation, number)))
    return failure();
  if (number < 0)
    return reader.fail(indexLocation,
                       "the device index " + Twine(number) +
                           " is negative; use null for no index");
  index = number;
  return success();
}

LogicalResult parseEnumeration(SchemaReader &reader, JsonValue value,
                               const Location &location, ArgumentTag tag,
                               int64_t &result) {
  if (failed(reader.integer(value, location, result)))
    return failure();
  switch (tag) {
  case ArgumentTag::ScalarType:
    if (scalarTypeFromNumber(result))
      return success();
    return reader.fail(location, "unknown element type " + Twine(result) +
                                     "; the export schema 8.20 has 0 to 13 "
                                     "and 28 to 35");
  case ArgumentTag::MemoryFormat:
    if (result >= 0 && result <= int64_t(MemoryFormat::Preserve))
      return success();
    return reader.fail(location, "unknown memory format " + Twine(result) +
                                     "; the export schema 8.20 has 0 to 4");
  case ArgumentTag::Layout:
    if (result >= 0 && result <= stridedLayout)
      return success();
    return reader.fail(location, "unknown layout " + Twine(result) +
                                     "; the export schema 8.20 has 0 to 7");
  default:
    llvm_unreachable("not an enumeration");
  }
}

} // namespace commute::archive
