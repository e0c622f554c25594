//===- Json.cpp - JSON documents with source spans ------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// RapidJSON's SAX reader does the tokenizing and all syntax checks. It reports
// the position of strings only. The builder finds other tokens after the
// previous one, because only whitespace, ',' and ':' can be between them.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/Json.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <cstring>

// RapidJSON asserts its preconditions, which this file satisfies, and reports
// invalid input by error codes.
#ifdef __clang__
// RapidJSON's stack adds an offset to a null pointer before its first
// allocation, which the undefined-behaviour sanitizer reports. It is harmless.
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), \
                             apply_to = function)
#endif
#include <rapidjson/error/en.h>
#include <rapidjson/reader.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

namespace commute {

llvm::StringRef describeKind(JsonKind kind) {
  switch (kind) {
  case JsonKind::Null:
    return "null";
  case JsonKind::Boolean:
    return "a boolean";
  case JsonKind::Number:
    return "a number";
  case JsonKind::String:
    return "a string";
  case JsonKind::Array:
    return "an array";
  case JsonKind::Object:
    return "an object";
  }
  llvm_unreachable("all kinds are handled");
}

/// Decodes the content of a JSON string that the parser has accepted. A lone
/// surrogate, which Python writes for undecodable file names, becomes U+FFFD.
static std::string decodeString(llvm::StringRef body) {
  std::string result;
  result.reserve(body.size());
  auto hexadecimal = [&](size_t at) {
    unsigned unit = 0;
    body.substr(at, 4).getAsInteger(16, unit);
    return unit;
  };
  for (size_t i = 0; i < body.size(); ++i) {
    size_t plain = std::min(body.find('\\', i), body.size());
    result += body.slice(i, plain);
    if (plain == body.size())
      break;
    i = plain + 1;
    char escape = body[i];
    switch (escape) {
    case 'b':
      result += '\b';
      break;
    case 'f':
      result += '\f';
      break;
    case 'n':
      result += '\n';
      break;
    case 'r':
      result += '\r';
      break;
    case 't':
      result += '\t';
      break;
    case 'u': {
      unsigned codePoint = hexadecimal(i + 1);
      i += 4;
      if (codePoint >= 0xD800 && codePoint < 0xDC00) {
        // The parser accepts a high surrogate only if a low one follows.
        codePoint = 0x10000 + ((codePoint - 0xD800) << 10) +
                    (hexadecimal(i + 3) - 0xDC00);
        i += 6;
      } else if (codePoint >= 0xDC00 && codePoint < 0xE000) {
        codePoint = 0xFFFD;
      }
      char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
      char *end = bytes;
      llvm::ConvertCodePointToUTF8(codePoint, end);
      result.append(bytes, end);
      break;
    }
    default: // '"', '\\' and '/' stand for themselves
      result += escape;
    }
  }
  return result;
}

static llvm::Error parseError(llvm::StringRef text, size_t offset,
                              const llvm::Twine &reason) {
  llvm::StringRef before = text.take_front(offset);
  size_t line = before.count('\n') + 1;
  size_t lastNewline = before.rfind('\n');
  size_t column =
      lastNewline == llvm::StringRef::npos ? offset + 1 : offset - lastNewline;
  return llvm::createStringError("line " + llvm::Twine(line) + ", column " +
                                 llvm::Twine(column) + ": " + reason);
}

/// RapidJSON's input stream: a NUL-terminated text without other NULs. It
/// declares itself as parsed in situ, so that string events point into the
/// text, but `Put` never modifies the text.
class TextStream {
public:
  using Ch = char;

  explicit TextStream(const std::string &text)
      : start(text.data()), next(start), end(start + text.size()) {}

  Ch Peek() const { return *next; }
  /// Does not advance at the end: RapidJSON's check of a truncated UTF-8
  /// sequence would otherwise read past it.
  Ch Take() { return next == end ? '\0' : *next++; }
  size_t Tell() const { return next - start; }

  Ch *PutBegin() { return const_cast<Ch *>(next); }
  size_t PutEnd(const Ch *begin) { return next - begin; }
  /// Called after each decoded character of a string. Skips plain characters
  /// here, which need no individual check.
  void Put(Ch put) {
    if (put >= 0x20)
      skipPlainCharacters();
  }

private:
  /// Skips ASCII without controls, quotes and backslashes, one word at a time.
  void skipPlainCharacters() {
    constexpr uint64_t ones = ~uint64_t(0) / 255;
    constexpr uint64_t highs = ones << 7;
    // Returns the high bit of each byte that equals `c`. Only the lowest such
    // bit is exact, which is enough to find the first match.
    auto contains = [](uint64_t word, unsigned char c) {
      uint64_t difference = word ^ (ones * c);
      return (difference - ones) & ~difference & highs;
    };
    while (end - next >= 8) {
      uint64_t word = llvm::support::endian::read64le(next);
      uint64_t controls = (word - ones * 0x20) & ~word & highs;
      uint64_t special = controls | (word & highs) | contains(word, '"') |
                         contains(word, '\\');
      if (special) {
        next += llvm::countr_zero(special) / 8;
        return;
      }
      next += sizeof(word);
    }
  }

  const char *start;
  const char *next;
  const char *end;
};

/// RapidJSON's event handler, which builds the flat list of entries.
class JsonBuilder {
public:
  JsonBuilder(JsonDocument &document, const JsonLimits &limits)
      : content(document.content), entries(document.entries), limits(limits) {}

  bool Null() { return addScalar(JsonKind::Null, 4); }
  bool Bool(bool value) { return addScalar(JsonKind::Boolean, value ? 4 : 5); }
  bool RawNumber(const char *, rapidjson::SizeType length, bool) {
    return addScalar(JsonKind::Number, length);
  }
  bool String(const char *body, rapidjson::SizeType length, bool) {
    cursor = body - content.data() - 1;
    return append(JsonKind::String, cursor + length + 2,
                  std::memchr(body, '\\', length) != nullptr);
  }
  bool Key(const char *body, rapidjson::SizeType length, bool copy) {
    return String(body, length, copy);
  }
  bool StartObject() { return open(JsonKind::Object); }
  bool EndObject(rapidjson::SizeType memberCount) {
    uint32_t object = close();
    return checkKeys(object, memberCount);
  }
  bool StartArray() { return open(JsonKind::Array); }
  bool EndArray(rapidjson::SizeType) {
    close();
    return true;
  }

  // Required by RapidJSON, but never called with kParseNumbersAsStringsFlag.
  bool Int(int) { return false; }
  bool Uint(unsigned) { return false; }
  bool Int64(int64_t) { return false; }
  bool Uint64(uint64_t) { return false; }
  bool Double(double) { return false; }

  /// The builder's error and its offset; empty if RapidJSON reported the error.
  std::string refusal;
  size_t refusalOffset = 0;

private:
  bool refuse(size_t offset, const llvm::Twine &reason) {
    refusal = reason.str();
    refusalOffset = offset;
    return false;
  }

  /// Advances the cursor to the next token.
  void skipSeparators() {
    while (true) {
      switch (content[cursor]) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
      case ',':
      case ':':
        ++cursor;
        continue;
      default:
        return;
      }
    }
  }

  bool append(JsonKind kind, size_t end, bool hasEscapes) {
    if (entries.size() >= limits.maxValues)
      return refuse(cursor,
                    "more than " + llvm::Twine(limits.maxValues) + " values");
    uint32_t index = entries.size();
    entries.push_back(
        {{uint32_t(cursor), uint32_t(end)}, index + 1, kind, hasEscapes});
    cursor = end;
    return true;
  }

  bool addScalar(JsonKind kind, size_t length) {
    skipSeparators();
    return append(kind, cursor + length, /*hasEscapes=*/false);
  }

  bool open(JsonKind kind) {
    skipSeparators();
    if (openContainers.size() >= limits.maxDepth)
      return refuse(cursor, "arrays and objects nested more than " +
                                llvm::Twine(limits.maxDepth) + " levels deep");
    openContainers.push_back(entries.size());
    return append(kind, cursor + 1, false);
  }

  /// Completes the innermost container and returns its index.
  uint32_t close() {
    skipSeparators();
    ++cursor;
    uint32_t index = openContainers.pop_back_val();
    entries[index].span.end = cursor;
    entries[index].next = entries.size();
    return index;
  }

  /// Rejects duplicate keys, because readers disagree on which one is valid.
  bool checkKeys(uint32_t object, size_t memberCount) {
    if (memberCount < 2)
      return true;
    keys.clear();
    std::vector<std::string> decoded;
    for (uint32_t i = object + 1; i < entries.size(); i = entries[i + 1].next) {
      const JsonDocument::Entry &key = entries[i];
      llvm::StringRef body =
          llvm::StringRef(content).slice(key.span.begin + 1, key.span.end - 1);
      keys.push_back({body, i});
      if (!key.hasEscapes)
        continue;
      // Copies are rare. Views into the vector must survive its growth.
      if (decoded.empty())
        decoded.reserve(memberCount);
      decoded.push_back(decodeString(body));
      keys.back().first = decoded.back();
    }
    // Comparing all pairs is fastest for objects with few keys. Sorting avoids
    // quadratic time for tables and malicious objects.
    if (keys.size() <= 16) {
      for (size_t i = 1; i < keys.size(); ++i)
        for (size_t j = 0; j < i; ++j)
          if (keys[i].first == keys[j].first)
            return refuseDuplicate(keys[i]);
      return true;
    }
    llvm::sort(keys);
    for (size_t i = 1; i < keys.size(); ++i)
      if (keys[i].first == keys[i - 1].first)
        return refuseDuplicate(keys[i]);
    return true;
  }
  bool refuseDuplicate(const std::pair<llvm::StringRef, uint32_t> &key) {
    return refuse(entries[key.second].span.begin,
                  "the object has the key " + quoteJson(key.first) + " twice");
  }

  const std::string &content;
  std::vector<JsonDocument::Entry> &entries;
  const JsonLimits &limits;
  size_t cursor = 0;
  llvm::SmallVector<uint32_t, 32> openContainers;
  std::vector<std::pair<llvm::StringRef, uint32_t>> keys;
};

llvm::Expected<std::unique_ptr<JsonDocument>>
JsonDocument::parse(std::string text, const JsonLimits &limits) {
  // Spans are 32 bit.
  uint64_t maxBytes = std::min<uint64_t>(limits.maxBytes, UINT32_MAX);
  if (text.size() > maxBytes)
    return llvm::createStringError(
        "the JSON text has " + llvm::Twine(text.size()) +
        " bytes, more than the limit of " + llvm::Twine(maxBytes));

  auto document = std::make_unique<JsonDocument>();
  document->content = std::move(text);
  std::string &content = document->content;
  if (size_t nul = content.find('\0'); nul != std::string::npos)
    return parseError(content, nul, "a NUL byte, which JSON does not allow");
  // Captured graphs have one value per 7 to 10 bytes. Reserved memory that is
  // never touched costs nothing.
  document->entries.reserve(
      std::min<uint64_t>(content.size() / 6 + 1, limits.maxValues));

  JsonBuilder builder(*document, limits);
  rapidjson::Reader reader;
  TextStream stream(content);
  rapidjson::ParseResult result =
      reader
          .Parse<rapidjson::kParseInsituFlag | rapidjson::kParseIterativeFlag |
                 rapidjson::kParseValidateEncodingFlag |
                 rapidjson::kParseNumbersAsStringsFlag>(stream, builder);
  if (result.IsError()) {
    if (!builder.refusal.empty())
      return parseError(content, builder.refusalOffset, builder.refusal);
    return parseError(content, result.Offset(),
                      rapidjson::GetParseError_En(result.Code()));
  }
  return document;
}

JsonValue JsonDocument::root() const { return JsonValue(this, 0); }

std::optional<bool> JsonValue::getBoolean() const {
  if (kind() != JsonKind::Boolean)
    return std::nullopt;
  return text() == "true";
}

std::optional<int64_t> JsonValue::getInteger() const {
  int64_t value = 0;
  if (kind() != JsonKind::Number || text().getAsInteger(10, value))
    return std::nullopt;
  return value;
}

std::optional<double> JsonValue::getNumber() const {
  if (kind() == JsonKind::String)
    return llvm::StringSwitch<std::optional<double>>(text())
        .Case("\"Infinity\"", HUGE_VAL)
        .Case("\"-Infinity\"", -HUGE_VAL)
        .Case("\"NaN\"", std::nan(""))
        .Default(std::nullopt);
  double value = 0;
  if (kind() != JsonKind::Number || text().getAsDouble(value))
    return std::nullopt;
  return value;
}

std::optional<llvm::StringRef>
JsonValue::getString(std::string &storage) const {
  if (kind() != JsonKind::String)
    return std::nullopt;
  llvm::StringRef body = text().drop_front().drop_back();
  if (!entry().hasEscapes)
    return body;
  storage = decodeString(body);
  return llvm::StringRef(storage);
}

JsonValue JsonValue::get(llvm::StringRef key) const {
  if (kind() != JsonKind::Object)
    return {};
  std::string storage;
  for (Iterator member = begin(), last = end(); member != last; ++member)
    if (*member.key().getString(storage) == key)
      return *member;
  return {};
}

size_t JsonValue::size() const {
  size_t count = 0;
  for (Iterator member = begin(), last = end(); member != last; ++member)
    ++count;
  return count;
}

JsonValue JsonValue::Iterator::operator*() const {
  return JsonValue(document, inObject ? index + 1 : index);
}
JsonValue JsonValue::Iterator::key() const {
  return JsonValue(document, index);
}
JsonValue::Iterator &JsonValue::Iterator::operator++() {
  index = document->entries[inObject ? index + 1 : index].next;
  return *this;
}

JsonValue::Iterator JsonValue::begin() const {
  Iterator result;
  result.document = document;
  result.index = index + 1;
  result.inObject = kind() == JsonKind::Object;
  return result;
}
JsonValue::Iterator JsonValue::end() const {
  Iterator result;
  result.document = document;
  result.index = entry().next;
  result.inObject = kind() == JsonKind::Object;
  return result;
}

} // namespace commute
