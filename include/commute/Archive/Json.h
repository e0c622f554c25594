//===- Json.h - JSON documents that remember their text ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A read-only JSON document in which every value knows the bytes it was read
// from. What nobody changes is written back from those bytes, so key order,
// number spelling, escapes and unknown keys survive a round trip untouched.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ARCHIVE_JSON_H
#define COMMUTE_ARCHIVE_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commute::archive {

/// A half-open range of bytes in a document's text.
struct Span {
  uint32_t begin = 0;
  uint32_t end = 0;

  bool empty() const { return begin == end; }
  bool operator==(const Span &) const = default;
};

enum class JsonKind : uint8_t { Null, Boolean, Number, String, Array, Object };

/// "an object", "a string", ...: for messages.
llvm::StringRef describe(JsonKind kind);

/// What a document from an untrusted source may cost.
struct JsonLimits {
  /// Longest text, in bytes. Spans are 32 bit, hence never above 4 GiB.
  uint64_t maxBytes = uint64_t(2) << 30;
  /// Deepest nesting of arrays and objects.
  unsigned maxDepth = 200;
  /// Most values (keys count too); each takes 16 bytes beside its text.
  uint64_t maxValues = uint64_t(1) << 28;
};

class JsonValue;

/// One parsed text. Values refer to it and must not outlive it.
class JsonDocument {
public:
  /// Parses `text` strictly (RFC 8259, valid UTF-8, one value, no duplicate
  /// keys within an object). The error gives line, column and reason.
  static llvm::Expected<std::unique_ptr<JsonDocument>>
  parse(std::string text, const JsonLimits &limits = {});

  llvm::StringRef text() const { return content; }
  llvm::StringRef text(Span span) const {
    return llvm::StringRef(content).slice(span.begin, span.end);
  }
  JsonValue root() const;

private:
  friend class JsonValue;
  friend class JsonBuilder;

  /// Values lie in document order, a container before its children; `next` is
  /// the index behind the value's last descendant. An object's children are
  /// key, value, key, value, ...
  struct Entry {
    Span span;
    uint32_t next;
    JsonKind kind;
    bool hasEscapes;
  };

  std::string content;
  std::vector<Entry> entries;
};

/// A handle to one value of a document: two words, copied freely.
class JsonValue {
public:
  JsonValue() = default;

  explicit operator bool() const { return document != nullptr; }
  JsonKind kind() const { return entry().kind; }
  bool is(JsonKind kind) const { return entry().kind == kind; }
  Span span() const { return entry().span; }
  /// The bytes of this value as they stand in the document.
  llvm::StringRef text() const { return document->text(entry().span); }

  /// Typed reads; nullopt when the value is of another kind or, for integers,
  /// not an integer that fits.
  std::optional<bool> getBoolean() const;
  std::optional<int64_t> getInteger() const;
  /// Accepts numbers, and the strings "Infinity", "-Infinity" and "NaN", which
  /// is how PyTorch writes non-finite floats.
  std::optional<double> getNumber() const;
  /// The decoded string. `storage` is used only when the text has escapes.
  std::optional<llvm::StringRef> getString(std::string &storage) const;
  /// True for a string whose text needs no decoding.
  bool isPlainString() const {
    return entry().kind == JsonKind::String && !entry().hasEscapes;
  }

  /// The member named `key` of an object, or an empty handle.
  JsonValue get(llvm::StringRef key) const;
  /// Number of elements of an array or members of an object (linear).
  size_t size() const;

  /// Walks the elements of an array, or the values of an object.
  class Iterator {
  public:
    JsonValue operator*() const;
    /// The key in front of the current value; objects only.
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
  /// Both are empty ranges for scalars.
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

/// `text` as a JSON string with its quotes: escapes what must be escaped, and
/// non-ASCII as \uXXXX, like Python's json module.
std::string quoteJson(llvm::StringRef text);
/// A float as PyTorch writes it: shortest round-trip digits with a '.' or an
/// exponent, non-finite values as strings.
std::string formatJsonFloat(double value);

} // namespace commute::archive

#endif // COMMUTE_ARCHIVE_JSON_H
