//===- JsonMutator.cpp - changes tokens of JSON inputs -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"

#include <cstdint>
#include <random>
#include <vector>

/// Numbers and strings of a JSON text, with their quotes.
static std::vector<llvm::StringRef> findTokens(llvm::StringRef text) {
  std::vector<llvm::StringRef> tokens;
  for (size_t begin = 0; begin < text.size();) {
    auto isPartOfNumber = [](char c) {
      return llvm::isDigit(c) || c == '-' || c == '.';
    };
    size_t end = begin + 1;
    if (text[begin] == '"') {
      end = std::min(text.find('"', end), text.size() - 1) + 1;
      tokens.push_back(text.slice(begin, end));
    } else if (isPartOfNumber(text[begin])) {
      while (end < text.size() && isPartOfNumber(text[end]))
        ++end;
      tokens.push_back(text.slice(begin, end));
    }
    begin = end;
  }
  return tokens;
}

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Bytes changed at random are hardly ever a graph. Half of the time one token
/// takes the place of another, or a number becomes a remarkable one.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  std::minstd_rand random(seed);
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  std::vector<llvm::StringRef> tokens = findTokens(text);
  if (tokens.empty() || random() % 2)
    return LLVMFuzzerMutate(data, size, maxSize);
  static constexpr llvm::StringLiteral numbers[] = {
      "0",  "1",  "2",          "3",          "4",
      "-1", "-2", "2147483648", "4294967296", "9223372036854775807",
      "7",  "8",  "64",         "1048576",    "-9223372036854775808"};
  llvm::StringRef token = tokens[random() % tokens.size()];
  llvm::StringRef other = tokens[random() % tokens.size()];
  if (token.front() != '"' && random() % 2)
    other = numbers[random() % std::size(numbers)];
  size_t begin = token.data() - text.data();
  std::string result =
      (text.take_front(begin) + other + text.drop_front(begin + token.size()))
          .str();
  if (result.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(result.begin(), result.end(), data);
  return result.size();
}
