//===- SchemaReader.cpp - typed access to JSON by schema ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SchemaReader.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace commute::archive {

using llvm::failed;
using llvm::LogicalResult;
using llvm::success;
using llvm::Twine;

std::string describeNode(size_t index, llvm::StringRef name) {
  if (name.empty())
    return ("node #" + Twine(index)).str();
  return ("node " + quoted(name) + " (#" + Twine(index) + ")").str();
}

std::string Location::str() const {
  llvm::SmallVector<const Location *, 16> links;
  for (const Location *link = this; link; link = link->parent)
    links.push_back(link);
  std::string node, path;
  for (const Location *link : llvm::reverse(links)) {
    switch (link->kind) {
    case Kind::Root:
      break;
    case Kind::Node:
      node = describeNode(link->index, link->key);
      break;
    case Kind::Key: {
      if (!path.empty())
        path += '.';
      // Print keys of the schema without quotes; keys from the file may contain
      // any characters.
      bool isBare = llvm::all_of(link->key, [](char c) {
        return llvm::isAlnum(c) || c == '_' || c == '.';
      });
      path += isBare ? link->key.take_front(200).str() : quoted(link->key);
      break;
    }
    case Kind::Index:
      path += ("[" + Twine(link->index) + "]").str();
      break;
    }
  }
  if (node.empty() || path.empty())
    return node + path;
  return node + ": " + path;
}

LogicalResult SchemaReader::fail(const Location &location,
                                 const Twine &message) {
  if (failure.empty()) {
    std::string where = location.str();
    failure = where.empty() ? message.str() : (where + ": " + message).str();
  }
  return llvm::failure();
}

LogicalResult SchemaReader::require(JsonValue value, JsonKind kind,
                                    const Location &location) {
  if (value.is(kind))
    return success();
  return fail(location, "expected " + describeKind(kind) + ", found " +
                            describeKind(value.kind()));
}

LogicalResult SchemaReader::member(JsonValue object, llvm::StringRef key,
                                   const Location &location,
                                   JsonValue &result) {
  if (failed(require(object, JsonKind::Object, location)))
    return llvm::failure();
  result = object.get(key);
  if (!result)
    return fail(location, "the required key '" + key + "' is missing");
  return success();
}

LogicalResult SchemaReader::string(JsonValue value, const Location &location,
                                   llvm::StringRef &result) {
  std::string storage;
  std::optional<llvm::StringRef> text = value.getString(storage);
  if (!text)
    return require(value, JsonKind::String, location);
  result = value.isPlainString() ? *text : strings.save(*text);
  return success();
}

LogicalResult SchemaReader::name(JsonValue value, const Location &location,
                                 llvm::StringRef &result) {
  if (failed(string(value, location, result)))
    return llvm::failure();
  if (result.empty())
    return fail(location, "the name is empty");
  return success();
}

LogicalResult SchemaReader::boolean(JsonValue value, const Location &location,
                                    bool &result) {
  std::optional<bool> boolean = value.getBoolean();
  if (!boolean)
    return require(value, JsonKind::Boolean, location);
  result = *boolean;
  return success();
}

LogicalResult SchemaReader::integer(JsonValue value, const Location &location,
                                    int64_t &result) {
  if (failed(require(value, JsonKind::Number, location)))
    return llvm::failure();
  std::optional<int64_t> integer = value.getInteger();
  if (!integer)
    return fail(location, "expected an integer of 64 bits, found " +
                              value.text().take_front(40));
  result = *integer;
  return success();
}

LogicalResult SchemaReader::number(JsonValue value, const Location &location,
                                   double &result) {
  std::optional<double> number = value.getNumber();
  if (!number)
    return fail(location, "expected a number, \"Infinity\", \"-Infinity\" or "
                          "\"NaN\", found " +
                              describeKind(value.kind()));
  result = *number;
  return success();
}

LogicalResult SchemaReader::unionMember(JsonValue value,
                                        const Location &location,
                                        llvm::StringRef &tag,
                                        JsonValue &payload) {
  if (failed(require(value, JsonKind::Object, location)))
    return llvm::failure();
  size_t count = value.size();
  if (count != 1)
    return fail(location, "expected an object with exactly one key that names "
                          "the kind of the value; found " +
                              Twine(count) + " keys");
  JsonValue::Iterator only = value.begin();
  payload = *only;
  return string(only.key(), location, tag);
}

LogicalResult SchemaReader::objectOfStrings(JsonValue value,
                                            const Location &location) {
  if (failed(require(value, JsonKind::Object, location)))
    return llvm::failure();
  for (auto member = value.begin(), end = value.end(); member != end;
       ++member) {
    if ((*member).is(JsonKind::String))
      continue;
    llvm::StringRef key;
    if (failed(string(member.key(), location, key)))
      return llvm::failure();
    return require(*member, JsonKind::String, Location(location, key));
  }
  return success();
}

} // namespace commute::archive
