//===- SymbolicExpression.cpp - SymPy text and affine expressions -*- C++ -*-=//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SymbolicExpression.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

namespace {
/// Recursive descent over both forms; any surprise makes `parse` give null.
class SizeParser {
public:
  SizeParser(StringRef text, tp::SymbolSpace &space)
      : rest(text), space(space), context(space.getContext()) {}

  AffineExpr parse() {
    AffineExpr result = parseSum();
    skipSpace();
    return rest.empty() ? result : AffineExpr();
  }

private:
  // Sizes nest a few levels and have a few parts; a file made to overflow the
  // stack, here or where the expression is walked, has more.
  static constexpr unsigned maxDepth = 100;
  static constexpr unsigned maxParts = 500;

  void skipSpace() { rest = rest.ltrim(); }
  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }

  static AffineExpr combine(AffineExprKind kind, AffineExpr lhs,
                            AffineExpr rhs) {
    if (!lhs || !rhs)
      return {};
    bool divides = kind == AffineExprKind::FloorDiv ||
                   kind == AffineExprKind::CeilDiv ||
                   kind == AffineExprKind::Mod;
    std::optional<int64_t> divisor = tp::getConstant(rhs);
    if (divides && (!divisor || *divisor <= 0))
      return {};
    return getAffineBinaryOpExpr(kind, lhs, rhs);
  }

  AffineExpr parseSum() {
    AffineExpr result = parseProduct();
    while (result) {
      if (consume("+")) {
        result = combine(AffineExprKind::Add, result, parseProduct());
      } else if (consume("-")) {
        AffineExpr minusOne = getAffineConstantExpr(-1, context);
        result =
            combine(AffineExprKind::Add, result,
                    combine(AffineExprKind::Mul, parseProduct(), minusOne));
      } else {
        break;
      }
    }
    return result;
  }

  AffineExpr parseProduct() {
    AffineExpr result = parseFactor();
    while (result) {
      skipSpace();
      if (rest.starts_with("**"))
        return {};
      if (consume("*"))
        result = combine(AffineExprKind::Mul, result, parseFactor());
      else if (consume("//"))
        result = combine(AffineExprKind::FloorDiv, result, parseFactor());
      else if (consume("%"))
        result = combine(AffineExprKind::Mod, result, parseFactor());
      else
        break;
    }
    return result;
  }

  AffineExpr parseFactor() {
    if (++depth > maxDepth || ++numParts > maxParts)
      return {};
    AffineExpr result = parseAtom();
    --depth;
    return result;
  }

  AffineExpr parseAtom() {
    skipSpace();
    if (consume("(")) {
      AffineExpr result = parseSum();
      return consume(")") ? result : AffineExpr();
    }
    bool isNegative = consume("-");
    skipSpace();
    StringRef digits = rest.take_while(llvm::isDigit);
    if (!digits.empty()) {
      rest = rest.drop_front(digits.size());
      int64_t value;
      if (digits.getAsInteger(10, value))
        return {};
      return getAffineConstantExpr(isNegative ? -value : value, context);
    }
    if (isNegative)
      return {};
    StringRef name =
        rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (name.empty())
      return {};
    rest = rest.drop_front(name.size());
    if (!consume("("))
      return space.getSymbol(StringAttr::get(context, name));
    return parseCall(name);
  }

  AffineExpr parseCall(StringRef function) {
    if (function == "Symbol" || function == "Dummy")
      return parseSymbol();
    SmallVector<AffineExpr> arguments;
    do {
      arguments.push_back(parseSum());
      if (!arguments.back())
        return {};
    } while (consume(","));
    if (!consume(")"))
      return {};
    if (function == "Integer" && arguments.size() == 1)
      return arguments[0];
    if (function == "Add" || function == "Mul") {
      AffineExpr result = arguments[0];
      for (AffineExpr argument : ArrayRef(arguments).drop_front())
        result = combine(function == "Add" ? AffineExprKind::Add
                                           : AffineExprKind::Mul,
                         result, argument);
      return result;
    }
    if (arguments.size() != 2)
      return {};
    if (function == "FloorDiv")
      return combine(AffineExprKind::FloorDiv, arguments[0], arguments[1]);
    if (function == "CeilDiv")
      return combine(AffineExprKind::CeilDiv, arguments[0], arguments[1]);
    if (function == "Mod" || function == "PythonMod")
      return combine(AffineExprKind::Mod, arguments[0], arguments[1]);
    return {};
  }

  /// After "Symbol(": a quoted name and assumptions.
  AffineExpr parseSymbol() {
    skipSpace();
    if (rest.empty() || (rest.front() != '\'' && rest.front() != '"'))
      return {};
    char quote = rest.front();
    size_t end = rest.find(quote, 1);
    if (end == StringRef::npos)
      return {};
    StringRef name = rest.slice(1, end);
    rest = rest.drop_front(end + 1);
    size_t close = rest.find(')');
    if (name.empty() || close == StringRef::npos ||
        !llvm::all_of(name,
                      [](char c) { return llvm::isAlnum(c) || c == '_'; }))
      return {};
    rest = rest.drop_front(close + 1);
    return space.getSymbol(StringAttr::get(context, name));
  }

  StringRef rest;
  tp::SymbolSpace &space;
  MLIRContext *context;
  unsigned depth = 0;
  unsigned numParts = 0;
};
} // namespace

/// Names of symbols that stand for text begin so; PyTorch's do not.
static constexpr StringLiteral opaquePrefix = "expr_";

tp::Size vocabulary::readSize(const archive::SymInt &size,
                              tp::SymbolSpace &space) {
  if (size.value)
    return *size.value;
  if (AffineExpr parsed = SizeParser(size.expression, space).parse())
    return parsed;
  std::string name =
      (opaquePrefix + llvm::utohexstr(llvm::xxh3_64bits(size.expression),
                                      /*LowerCase=*/true))
          .str();
  return space.getSymbol(StringAttr::get(space.getContext(), name));
}

std::string vocabulary::writeSize(
    const tp::Size &size, ArrayRef<StringAttr> symbolNames,
    llvm::function_ref<std::optional<StringRef>(AffineExpr)> getSpelling) {
  if (std::optional<int64_t> constant = size.getConstant())
    return "Integer(" + std::to_string(*constant) + ")";
  AffineExpr expression = size.getSymbolic();
  if (std::optional<StringRef> known = getSpelling(expression))
    return known->str();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    StringRef name = symbolNames[symbol.getPosition()].getValue();
    // Unbacked symbols (u0) are not known to be positive.
    StringRef assumptions = name.starts_with("u")
                                ? ", integer=True"
                                : ", positive=True, integer=True";
    return ("Symbol('" + name + "'" + assumptions + ")").str();
  }
  auto binary = cast<AffineBinaryOpExpr>(expression);
  std::string lhs = writeSize(binary.getLHS(), symbolNames, getSpelling);
  std::string rhs = writeSize(binary.getRHS(), symbolNames, getSpelling);
  StringRef function = [&]() -> StringRef {
    switch (binary.getKind()) {
    case AffineExprKind::Add:
      return "Add";
    case AffineExprKind::Mul:
      return "Mul";
    case AffineExprKind::FloorDiv:
      return "FloorDiv";
    case AffineExprKind::CeilDiv:
      return "CeilDiv";
    case AffineExprKind::Mod:
      return "Mod";
    default:
      llvm_unreachable("not a binary expression");
    }
  }();
  // SymPy puts the number first.
  if (binary.getKind() == AffineExprKind::Mul &&
      tp::getConstant(binary.getRHS()))
    std::swap(lhs, rhs);
  return (function + "(" + lhs + ", " + rhs + ")").str();
}
