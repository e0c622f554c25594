//===- JsonText.cpp - strings and floats as JSON text ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Support/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"

#include <charconv>
#include <cmath>

namespace commute {

static void appendUnicodeEscape(std::string &result, unsigned unit) {
  result += "\\u";
  std::string digits = llvm::utohexstr(unit, /*LowerCase=*/true);
  result.append(4 - digits.size(), '0');
  result += digits;
}

std::string quoteJson(llvm::StringRef text) {
  std::string repaired;
  if (!llvm::json::isUTF8(text)) {
    repaired = llvm::json::fixUTF8(text);
    text = repaired;
  }
  std::string result;
  result.reserve(text.size() + 2);
  result += '"';
  const auto *next = reinterpret_cast<const llvm::UTF8 *>(text.begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.end());
  while (next != end) {
    char c = static_cast<char>(*next);
    if (llvm::isPrint(c)) {
      if (c == '"' || c == '\\')
        result += '\\';
      result += c;
      ++next;
      continue;
    }
    static constexpr llvm::StringLiteral controls = "\b\f\n\r\t";
    static constexpr llvm::StringLiteral letters = "bfnrt";
    if (size_t at = controls.find(c); at != llvm::StringRef::npos) {
      result += '\\';
      result += letters[at];
      ++next;
      continue;
    }
    llvm::UTF32 codePoint = 0;
    llvm::convertUTF8Sequence(&next, end, &codePoint, llvm::strictConversion);
    if (codePoint < 0x10000) {
      appendUnicodeEscape(result, codePoint);
    } else {
      appendUnicodeEscape(result, 0xD800 + ((codePoint - 0x10000) >> 10));
      appendUnicodeEscape(result, 0xDC00 + ((codePoint - 0x10000) & 0x3FF));
    }
  }
  result += '"';
  return result;
}

std::string formatJsonFloat(double value) {
  if (std::isnan(value))
    return "\"NaN\"";
  if (std::isinf(value))
    return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  // Follow Python's repr: the shortest digits that round-trip, in positional
  // notation for exponents from -4 to 15.
  char buffer[32];
  auto [end, status] = std::to_chars(buffer, std::end(buffer), value,
                                     std::chars_format::scientific);
  llvm::StringRef scientific(buffer, end - buffer);
  int exponent = 0;
  llvm::StringRef exponentText = scientific.split('e').second;
  exponentText.consume_front("+");
  exponentText.getAsInteger(10, exponent);
  if (exponent < -4 || exponent >= 16)
    return scientific.str();
  auto [positionalEnd, positionalStatus] =
      std::to_chars(buffer, std::end(buffer), value, std::chars_format::fixed);
  std::string result(buffer, positionalEnd);
  if (result.find('.') == std::string::npos)
    result += ".0";
  return result;
}

} // namespace commute
