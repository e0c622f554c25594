//===- SchemaReader.h - typed access to JSON by schema ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Typed access to required fields, unions and scalars of a JSON document.
// Errors state where and how the document deviates from the export schema.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H
#define COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H

#include "commute/Support/Json.h"

#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/StringSaver.h"

namespace commute::archive {

/// The position of a value in the document. Positions are linked lists on the
/// stack, which are formatted only for messages.
class Location {
public:
  Location() = default;
  Location(const Location &parent, llvm::StringRef key)
      : parent(&parent), kind(Kind::Key), key(key) {}
  Location(const Location &parent, size_t index)
      : parent(&parent), kind(Kind::Index), index(index) {}
  /// The position of a graph node, which messages name instead of its path.
  static Location node(size_t index, llvm::StringRef name) {
    Location result;
    result.kind = Kind::Node;
    result.index = index;
    result.key = name;
    return result;
  }

  /// Returns, for example, "node 'linear_3' (#12): inputs[1].arg" or
  /// "graph_module.signature".
  std::string str() const;

private:
  enum class Kind : uint8_t { Root, Key, Index, Node };

  const Location *parent = nullptr;
  Kind kind = Kind::Root;
  llvm::StringRef key;
  size_t index = 0;
};

/// Returns "node 'linear_3' (#12)", or "node #12" if the node has no name.
std::string describeNode(size_t index, llvm::StringRef name);

class SchemaReader {
public:
  /// `strings` owns the decoded strings.
  explicit SchemaReader(llvm::StringSaver &strings) : strings(strings) {}

  /// Records an error, unless there is one already. Always returns failure.
  llvm::LogicalResult fail(const Location &location,
                           const llvm::Twine &message);
  llvm::StringRef message() const { return failure; }

  llvm::LogicalResult require(JsonValue value, JsonKind kind,
                              const Location &location);
  /// Gets the member `key` of `object`. Fails if `object` is not an object or
  /// lacks the key. `location` is that of the object.
  llvm::LogicalResult member(JsonValue object, llvm::StringRef key,
                             const Location &location, JsonValue &result);
  llvm::LogicalResult string(JsonValue value, const Location &location,
                             llvm::StringRef &result);
  /// Gets a nonempty string.
  llvm::LogicalResult name(JsonValue value, const Location &location,
                           llvm::StringRef &result);
  llvm::LogicalResult boolean(JsonValue value, const Location &location,
                              bool &result);
  llvm::LogicalResult integer(JsonValue value, const Location &location,
                              int64_t &result);
  llvm::LogicalResult number(JsonValue value, const Location &location,
                             double &result);
  /// Gets the key and the value of an object with exactly one member.
  llvm::LogicalResult unionMember(JsonValue value, const Location &location,
                                  llvm::StringRef &tag, JsonValue &payload);
  /// Checks that a value is an object whose values are all strings.
  llvm::LogicalResult objectOfStrings(JsonValue value,
                                      const Location &location);

  llvm::StringSaver &strings;

private:
  std::string failure;
};

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_SCHEMAREADER_H
