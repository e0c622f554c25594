//===- ModuleText.cpp - text that is safe to parse --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ModuleText.h"

#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

static llvm::Error makeError(StringRef text, size_t at, StringRef message) {
  StringRef before = text.take_front(at);
  size_t line = before.count('\n') + 1;
  size_t column = at - (before.rfind('\n') + 1) + 1;
  return llvm::createStringError(llvm::Twine(line) + ":" + llvm::Twine(column) +
                                 ": " + message);
}

llvm::Error commute::compiler::checkNesting(StringRef text) {
  constexpr unsigned maxDepth = 200;
  // The number of operators in one expression: "s0 + s1 + s2", "- - s0".
  constexpr unsigned maxOperators = 1000;
  unsigned depth = 0, numOperators = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    StringRef rest = text.substr(at);
    switch (text[at]) {
    case '"':
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        at += text[at] == '\\';
      // The place may be at the end of the text, or beyond it.
      continue;
    case '/':
      if (rest.starts_with("//"))
        at = std::min(text.find('\n', at), text.size() - 1);
      break;
    case '(':
    case '[':
    case '{':
    case '<':
      // "<=" and "<-" are comparisons in affine sets.
      if (rest.starts_with("<=") || rest.starts_with("<-"))
        break;
      numOperators = 0;
      if (++depth > maxDepth)
        return makeError(text, at,
                         "brackets are nested more than " +
                             llvm::utostr(maxDepth) + " levels deep");
      break;
    case '>':
      // "->" and ">=" do not close brackets.
      if ((at > 0 && text[at - 1] == '-') || rest.starts_with(">="))
        break;
      [[fallthrough]];
    case ')':
    case ']':
    case '}':
      numOperators = 0;
      depth -= depth > 0;
      break;
    case ',':
    case ':':
    case '=':
    case '%':
    case '@':
      numOperators = 0;
      break;
    case '-':
    case '+':
    case '*':
      if (!rest.starts_with("->") && ++numOperators > maxOperators)
        return makeError(text, at,
                         "an expression has more than " +
                             llvm::utostr(maxOperators) + " operators");
      break;
    default:
      break;
    }
    // Operators that are keywords: "s0 mod s1 floordiv s2".
    if (llvm::isAlpha(text[at]) && (at == 0 || !llvm::isAlnum(text[at - 1])))
      for (StringRef keyword : {"mod ", "floordiv ", "ceildiv "})
        if (rest.starts_with(keyword) && ++numOperators > maxOperators)
          return makeError(text, at,
                           "an expression has more than " +
                               llvm::utostr(maxOperators) + " operators");
  }
  return llvm::Error::success();
}
