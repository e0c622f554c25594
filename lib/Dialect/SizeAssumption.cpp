//===- SizeAssumption.cpp - what a user assumes of sizes --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/SizeAssumption.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace commute::tp;
using llvm::StringRef;

/// An upper bound of tensor sizes, far from the limits of an int64_t.
static constexpr int64_t maxNumber = int64_t(1) << 48;

static bool isSymbol(StringRef text) {
  return !text.empty() && !llvm::isDigit(text.front()) &&
         llvm::all_of(text,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static std::optional<int64_t> parseNumber(StringRef text) {
  int64_t number;
  if (text.empty() || !llvm::all_of(text, llvm::isDigit) ||
      text.getAsInteger(10, number) || number > maxNumber)
    return std::nullopt;
  return number;
}

/// "s0 * s1".
static bool parseProduct(StringRef text,
                         llvm::SmallVectorImpl<std::string> &symbols) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, '*');
  for (StringRef part : parts) {
    if (!isSymbol(part.trim()))
      return false;
    symbols.push_back(part.trim().str());
  }
  llvm::sort(symbols);
  return true;
}

static std::optional<SizeAssumption> parse(StringRef text) {
  using Kind = SizeAssumption::Kind;
  SizeAssumption result;
  result.text = text.trim().str();
  size_t position = text.find_first_of("=<>");
  if (position == StringRef::npos)
    return std::nullopt;
  StringRef left = text.take_front(position).trim();
  StringRef rest = text.drop_front(position);
  StringRef comparison;
  for (StringRef known : {"==", ">=", "<=", ">", "<"})
    if (rest.consume_front(known)) {
      comparison = known;
      break;
    }
  std::optional<int64_t> right = parseNumber(rest.trim());
  if (!right || comparison.empty())
    return std::nullopt;
  if (left.contains('%')) {
    auto [product, divisor] = left.split('%');
    std::optional<int64_t> number = parseNumber(divisor.trim());
    if (comparison != "==" || *right != 0 || !number || *number < 1 ||
        !parseProduct(product, result.symbols))
      return std::nullopt;
    result.number = *number;
    return result;
  }
  if (!isSymbol(left))
    return std::nullopt;
  result.symbols.push_back(left.str());
  result.kind = comparison == "=="            ? Kind::Equal
                : comparison.starts_with(">") ? Kind::AtLeast
                                              : Kind::AtMost;
  result.number =
      *right + (comparison == ">" ? 1 : 0) - (comparison == "<" ? 1 : 0);
  return result.number < 0 ? std::nullopt : std::optional(result);
}

llvm::Expected<SizeAssumption>
commute::tp::parseSizeAssumption(StringRef text) {
  if (std::optional<SizeAssumption> assumption = parse(text))
    return std::move(*assumption);
  return llvm::createStringError(
      "'" + text +
      "' is not an assumption about sizes; expected 's0 % 8 == 0' or "
      "'s0 * s1 % 8 == 0' for divisibility, 's0 == 4096', and bounds such as "
      "'s0 >= 16' or 's0 < 512'");
}
