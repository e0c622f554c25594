//===- SymbolHints.cpp - values that symbols had at capture -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SymbolHints.h"

#include "SymbolicExpression.h"

#include "llvm/Support/MathExtras.h"

#include <limits>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

SymbolHints vocabulary::collectSymbolHints(const archive::Graph &graph,
                                           tp::SymbolSpace &symbols) {
  SymbolHints hints;
  SmallVector<OpaquePart> parts;
  // A recorded size determines the value of a symbol if it is a product in
  // which that symbol is the only unknown.
  auto addHint = [&](const archive::SymInt &size) {
    if (size.isStatic())
      return;
    std::optional<tp::Monomial> product =
        tp::getMonomial(readSize(size, symbols, &parts));
    if (!product || !size.hint)
      return;
    int64_t known = product->coefficient;
    std::optional<std::string> unknown;
    for (unsigned symbol : product->symbols) {
      std::string name = symbols.getNames()[symbol].str();
      auto hint = hints.find(name);
      if (hint != hints.end()) {
        // Archives may state any value, so the product may overflow.
        if (llvm::MulOverflow(known, hint->second, known))
          return;
      } else if (unknown) {
        return;
      } else {
        unknown = name;
      }
    }
    bool overflows =
        known == -1 && *size.hint == std::numeric_limits<int64_t>::min();
    if (unknown && known != 0 && !overflows && *size.hint % known == 0)
      hints.emplace(*unknown, *size.hint / known);
  };
  for (const auto &[name, meta] : graph.tensorValues) {
    llvm::for_each(meta.sizes, addHint);
    // That of an empty tensor says nothing of the sizes; its parts do.
    for (const archive::SymInt &stride : meta.strides)
      if (!stride.isStatic())
        readStride(stride, symbols, &parts);
  }
  for (const auto &[name, size] : graph.symIntValues)
    addHint(size);
  // A part is listed after the parts that it contains.
  for (const OpaquePart &part : parts) {
    StringRef name =
        symbols.getNames()[cast<AffineSymbolExpr>(part.symbol).getPosition()];
    std::optional<int64_t> value =
        evaluate(part, symbols.getNames(),
                 [&](StringRef symbol) -> std::optional<int64_t> {
                   auto hint = hints.find(symbol.str());
                   return hint == hints.end() ? std::nullopt
                                              : std::optional(hint->second);
                 });
    if (value)
      hints.emplace(name, *value);
  }
  return hints;
}
