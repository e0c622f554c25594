//===- SchemaReader.h - typed reads from a JSON document --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Reads of required fields, unions and scalars that say, when the document is
// not what the export schema states, where and in what way.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H
#define COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H

#include "commute/Archive/Json.h"

#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/StringSaver.h"

namespace commute::archive {

/// Where in the document a value stands. Links of a chain that lives on the
/// stack, so that a location costs nothing until it is printed.
class Location {
public:
  Location() = default;
  Location(const Location &parent, llvm::StringRef key)
      : parent(&parent), kind(Kind::Key), key(key) {}
  Location(const Location &parent, size_t index)
      : parent(&parent), kind(Kind::Index), index(index) {}
  /// A node of the graph: messages name it instead of the way to it.
  static Location node(size_t index, llvm::StringRef name) {
    Location result;
    result.kind = Kind::Node;
    result.index = index;
    result.key = name;
    return result;
  }

  /// "node 'linear_3' (#12): inputs[1].arg" or "graph_module.signature".
  std::string str() const;

private:
  enum class Kind : uint8_t { Root, Key, Index, Node };

  const Location *parent = nullptr;
  Kind kind = Kind::Root;
  llvm::StringRef key;
  size_t index = 0;
};

/// "node 'linear_3' (#12)", or "node #12" when it has no name.
std::string describeNode(size_t index, llvm::StringRef name);

class SchemaReader {
public:
  /// Decoded strings are kept in `strings`.
  explicit SchemaReader(llvm::StringSaver &strings) : strings(strings) {}

  /// Records the error; always failure. Only the first one counts.
  llvm::LogicalResult fail(const Location &location,
                           const llvm::Twine &message);
  llvm::StringRef message() const { return failure; }

  llvm::LogicalResult require(JsonValue value, JsonKind kind,
                              const Location &location);
  /// The member `key` of `object`, which must be an object and have it. The
  /// location is the object's.
  llvm::LogicalResult member(JsonValue object, llvm::StringRef key,
                             const Location &location, JsonValue &result);
  llvm::LogicalResult string(JsonValue value, const Location &location,
                             llvm::StringRef &result);
  /// A string that names something: not empty.
  llvm::LogicalResult name(JsonValue value, const Location &location,
                           llvm::StringRef &result);
  llvm::LogicalResult boolean(JsonValue value, const Location &location,
                              bool &result);
  llvm::LogicalResult integer(JsonValue value, const Location &location,
                              int64_t &result);
  llvm::LogicalResult number(JsonValue value, const Location &location,
                             double &result);
  /// An object with exactly one member: its key and its value.
  llvm::LogicalResult unionMember(JsonValue value, const Location &location,
                                  llvm::StringRef &tag, JsonValue &payload);
  /// An object whose values are all strings.
  llvm::LogicalResult objectOfStrings(JsonValue value,
                                      const Location &location);

  llvm::StringSaver &strings;

private:
  std::string failure;
};

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H
