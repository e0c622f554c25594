//===- Json.h - JSON documents with source spans ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A read-only JSON document in which every value records the bytes that it was
// parsed from. Unmodified values are written back as these bytes, so key order,
// number spelling, escapes and unknown keys survive a round trip.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_SUPPORT_JSON_H
#define COMMUTE_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commute {

/// A half-open range of bytes in a document's text.
struct TextSpan {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const TextSpan &) const = default;
};

enum class JsonKind : uint8_t { Null, Boolean, Number, String, Array, Object };

/// Returns "an object", "a string" and so on, for messages.
llvm::StringRef describeKind(JsonKind kind);

/// Resource limits for documents from untrusted sources.
struct JsonLimits {
  /// Maximal length of the text in bytes; at most 4 GiB, because spans are 32
  /// bit.
  uint64_t maxBytes = uint64_t(2) << 30;
  /// Maximal nesting depth of arrays and objects.
  unsigned maxDepth = 200;
  /// Maximal number of values, including keys. Each takes 16 bytes in addition
  /// to its text.
  uint64_t maxValues = uint64_t(1) << 28;
};

class JsonValue;

/// A parsed JSON text. Values refer to the document and must not outlive it.
class JsonDocument {
public:
  /// Parses `text` strictly: RFC 8259, valid UTF-8, one value, and no duplicate
  /// keys in an object. Errors state line, column and reason.
  static llvm::Expected<std::unique_ptr<JsonDocument>>
  parse(std::string text, const JsonLimits &limits = {});

  llvm::StringRef text() const { return content; }
  llvm::StringRef text(TextSpan span) const {
    return llvm::StringRef(content).slice(span.begin, span.end);
  }
  /// Returns the outermost value.
  JsonValue root() const;

private:
  friend class JsonValue;
  friend class JsonBuilder;

  /// Entries are in document order, and containers precede their children.
  /// `next` is the index after the value's last descendant. The children of an
  /// object are key, value, key, value, and so on.
  struct Entry {
    TextSpan span;
    uint32_t next;
    JsonKind kind;
    bool hasEscapes;
  };

  std::string content;
  std::vector<Entry> entries;
};

/// A handle to one value of a document; cheap to copy.
class JsonValue {
public:
  JsonValue() = default;

  explicit operator bool() const { return document != nullptr; }
  JsonKind kind() const { return entry().kind; }
  bool is(JsonKind kind) const { return entry().kind == kind; }
  TextSpan span() const { return entry().span; }
  /// Returns the text of this value in the document.
  llvm::StringRef text() const { return document->text(entry().span); }

  /// Typed accessors. They return nullopt if the value is of another kind, or
  /// is not an integer of 64 bits.
  std::optional<bool> getBoolean() const;
  std::optional<int64_t> getInteger() const;
  /// Also accepts the strings "Infinity", "-Infinity" and "NaN", which PyTorch
  /// writes for non-finite floats.
  std::optional<double> getNumber() const;
  /// Returns the decoded string. `storage` is used only if there are escapes.
  std::optional<llvm::StringRef> getString(std::string &storage) const;
  /// Returns true for a string without escapes.
  bool isPlainString() const {
    return entry().kind == JsonKind::String && !entry().hasEscapes;
  }

  /// Returns the value of `key` in an object, or an empty handle.
  JsonValue get(llvm::StringRef key) const;
  /// Returns the number of elements or members. Takes linear time.
  size_t size() const;

  /// Iterates over the elements of an array or the values of an object.
  class Iterator {
  public:
    JsonValue operator*() const;
    /// Returns the key of the current value. The container must be an object.
    JsonValue key() const;
    Iterator &operator++();
    bool operator!=(const Iterator &other) const {
      return index != other.index;
    }

  private:
    friend class JsonValue;
    const JsonDocument *document = nullptr;
    uint32_t index = 0;
    bool inObject = false;
  };
  /// Both return an empty range for scalars.
  Iterator begin() const;
  Iterator end() const;

private:
  friend class JsonDocument;
  JsonValue(const JsonDocument *document, uint32_t index)
      : document(document), index(index) {}
  const JsonDocument::Entry &entry() const { return document->entries[index]; }

  const JsonDocument *document = nullptr;
  uint32_t index = 0;
};

/// Returns `text` as a quoted JSON string. Like Python's json module, writes
/// non-ASCII characters as \uXXXX.
std::string quoteJson(llvm::StringRef text);
/// Formats a float as PyTorch does: the shortest digits that round-trip, with a
/// '.' or an exponent, and non-finite values as strings.
std::string formatJsonFloat(double value);

} // namespace commute

#endif // COMMUTE_SUPPORT_JSON_H
