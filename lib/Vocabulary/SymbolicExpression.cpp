//===- SymbolicExpression.cpp - SymPy text and affine expressions -*- C++ -*-=//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SymbolicExpression.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/xxhash.h"

#include <tuple>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

using Function = OpaquePart::Function;

/// Prefix of the symbols for opaque parts. PyTorch does not use it.
static constexpr StringLiteral opaquePrefix = "expr_";

static AffineExpr getOpaqueSymbol(StringRef key, tp::SymbolSpace &space) {
  std::string name = (opaquePrefix + llvm::utohexstr(llvm::xxh3_64bits(key),
                                                     /*LowerCase=*/true))
                         .str();
  return space.getSymbol(StringAttr::get(space.getContext(), name));
}

/// Unbacked symbols (u0) are not known to be positive, nor are opaque parts.
static bool isBacked(StringRef symbol) {
  return !symbol.starts_with("u") && !symbol.starts_with(opaquePrefix);
}

using IsPositive = llvm::function_ref<bool(AffineSymbolExpr)>;

/// A number that an expression is never below.
static std::optional<int64_t> getLowerBound(AffineExpr expression,
                                            IsPositive isPositive) {
  if (std::optional<int64_t> constant = tp::getConstant(expression))
    return constant;
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return isPositive(symbol) ? std::optional<int64_t>(1) : std::nullopt;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> lhs = getLowerBound(binary.getLHS(), isPositive);
  std::optional<int64_t> rhs = getLowerBound(binary.getRHS(), isPositive);
  if (!lhs || !rhs)
    return std::nullopt;
  int64_t bound;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return llvm::AddOverflow(*lhs, *rhs, bound) ? std::nullopt
                                                : std::optional(bound);
  case AffineExprKind::Mul:
    return *lhs < 0 || *rhs < 0 || llvm::MulOverflow(*lhs, *rhs, bound)
               ? std::nullopt
               : std::optional(bound);
  default:
    return std::nullopt;
  }
}

namespace {
/// A recursive-descent parser for both forms. `parse` returns null for text
/// that is not an expression.
class SizeParser {
public:
  SizeParser(StringRef text, bool isStride, tp::SymbolSpace &space,
             SmallVectorImpl<OpaquePart> *parts)
      : rest(text), isStride(isStride), space(space),
        context(space.getContext()), parts(parts) {}

  AffineExpr parse() {
    AffineExpr result = parseSum();
    skipSpace();
    return rest.empty() && !isTooLarge ? result : AffineExpr();
  }

private:
  // Real sizes nest a few levels deep and have a few parts. The limits prevent
  // a stack overflow on malicious files, here and in walks over the expression.
  static constexpr unsigned maxDepth = 100;
  static constexpr unsigned maxParts = 500;
  static constexpr int64_t maxExponent = 8;

  void skipSpace() { rest = rest.ltrim(); }
  bool consume(StringRef token) {
    skipSpace();
    return rest.consume_front(token);
  }
  /// Returns the text from `begin`, a position before `rest`, up to `rest`.
  StringRef getText(const char *begin) const {
    return StringRef(begin, rest.data() - begin).trim();
  }

  /// Returns the symbol for an opaque part with this text.
  AffineExpr getOpaque(StringRef text, Function function = Function::Unknown,
                       ArrayRef<AffineExpr> arguments = {}) {
    std::string key = text.str();
    if (function != Function::Unknown) {
      // Use a key that is the same for both forms of an expression.
      key = std::to_string(static_cast<int>(function));
      llvm::raw_string_ostream os(key);
      for (AffineExpr argument : arguments)
        tp::printSize(os << ',', argument, space.getNames());
    }
    AffineExpr symbol = getOpaqueSymbol(key, space);
    if (parts)
      parts->push_back({symbol, text, function, llvm::to_vector<2>(arguments)});
    return symbol;
  }

  AffineExpr combine(AffineExprKind kind, AffineExpr lhs, AffineExpr rhs,
                     const char *begin) {
    if (!lhs || !rhs)
      return {};
    if (kind == AffineExprKind::Add || kind == AffineExprKind::Mul)
      return getAffineBinaryOpExpr(kind, lhs, rhs);
    // Affine expressions support division by positive constants only.
    std::optional<int64_t> divisor = tp::getConstant(rhs);
    if (divisor && *divisor > 0)
      return getAffineBinaryOpExpr(kind, lhs, rhs);
    Function function = kind == AffineExprKind::FloorDiv  ? Function::FloorDiv
                        : kind == AffineExprKind::CeilDiv ? Function::CeilDiv
                                                          : Function::Mod;
    return getOpaque(getText(begin), function, {lhs, rhs});
  }

  AffineExpr negate(AffineExpr operand) {
    return operand ? operand * getAffineConstantExpr(-1, context) : operand;
  }

  AffineExpr parseSum() {
    skipSpace();
    const char *begin = rest.data();
    bool isNegative = consume("-");
    AffineExpr result = parseProduct();
    if (isNegative)
      result = negate(result);
    while (result) {
      if (consume("+"))
        result = combine(AffineExprKind::Add, result, parseProduct(), begin);
      else if (consume("-"))
        result =
            combine(AffineExprKind::Add, result, negate(parseProduct()), begin);
      else
        break;
    }
    return result;
  }

  AffineExpr parseProduct() {
    skipSpace();
    const char *begin = rest.data();
    AffineExpr result = parsePower();
    while (result) {
      if (consume("*")) {
        result = combine(AffineExprKind::Mul, result, parsePower(), begin);
      } else if (consume("//")) {
        AffineExpr divisor = parsePower();
        result = combine(AffineExprKind::FloorDiv, result, divisor, begin);
      } else if (consume("%")) {
        AffineExpr divisor = parsePower();
        result = combine(AffineExprKind::Mod, result, divisor, begin);
      } else {
        break;
      }
    }
    return result;
  }

  AffineExpr parsePower() {
    skipSpace();
    const char *begin = rest.data();
    AffineExpr base = parseFactor();
    if (!base || !consume("**"))
      return base;
    AffineExpr exponent = parseFactor();
    return exponent ? getPower(base, exponent, begin) : AffineExpr();
  }

  AffineExpr getPower(AffineExpr base, AffineExpr exponent, const char *begin) {
    std::optional<int64_t> times = tp::getConstant(exponent);
    if (!times || *times < 1 || *times > maxExponent)
      return getOpaque(getText(begin));
    AffineExpr result = base;
    for (int64_t i = 1; i < *times; ++i)
      result = getAffineBinaryOpExpr(AffineExprKind::Mul, result, base);
    return result;
  }

  AffineExpr parseFactor() {
    if (++depth > maxDepth || ++numParts > maxParts)
      isTooLarge = true;
    AffineExpr result = isTooLarge ? AffineExpr() : parseAtom();
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
      return negate(parseFactor());
    const char *begin = rest.data();
    StringRef name = rest.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    if (name.empty())
      return {};
    rest = rest.drop_front(name.size());
    if (!consume("("))
      return space.getSymbol(StringAttr::get(context, name));
    StringRef behind = rest;
    size_t numOpaque = parts ? parts->size() : 0;
    if (AffineExpr result = parseCall(name, begin); result || isTooLarge)
      return result;
    // An unknown function.
    if (parts)
      parts->truncate(numOpaque);
    rest = behind;
    return skipArguments() ? getOpaque(getText(begin)) : AffineExpr();
  }

  /// Skips to the parenthesis that closes the "(" before the current position.
  bool skipArguments() {
    unsigned open = 1;
    for (size_t index = 0; index < rest.size(); ++index) {
      open += rest[index] == '(';
      open -= rest[index] == ')';
      if (open == 0) {
        rest = rest.drop_front(index + 1);
        return true;
      }
    }
    return false;
  }

  AffineExpr parseCall(StringRef function, const char *begin) {
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
                         result, argument, begin);
      return result;
    }
    if (function == "Max" || function == "Min")
      return getExtremum(function == "Max", arguments, begin);
    if (arguments.size() != 2)
      return {};
    if (function == "Pow")
      return getPower(arguments[0], arguments[1], begin);
    if (function == "FloorDiv")
      return combine(AffineExprKind::FloorDiv, arguments[0], arguments[1],
                     begin);
    if (function == "CeilDiv")
      return combine(AffineExprKind::CeilDiv, arguments[0], arguments[1],
                     begin);
    if (function == "Mod" || function == "PythonMod")
      return combine(AffineExprKind::Mod, arguments[0], arguments[1], begin);
    return {};
  }

  AffineExpr getExtremum(bool isMax, SmallVectorImpl<AffineExpr> &arguments,
                         const char *begin) {
    // Order and repetition do not matter: sort, with a single constant first.
    llvm::sort(arguments, [&](AffineExpr lhs, AffineExpr rhs) {
      auto getKey = [&](AffineExpr argument) {
        std::string text;
        llvm::raw_string_ostream os(text);
        tp::printSize(os, argument, space.getNames());
        std::optional<int64_t> constant = tp::getConstant(argument);
        return std::tuple(!constant,
                          isMax ? -constant.value_or(0) : constant.value_or(0),
                          text);
      };
      return getKey(lhs) < getKey(rhs);
    });
    arguments.erase(llvm::unique(arguments), arguments.end());
    while (arguments.size() > 1 && tp::getConstant(arguments[0]) &&
           tp::getConstant(arguments[1]))
      arguments.erase(arguments.begin() + 1);
    // Drop what another one is never above (Max) or below (Min), such as
    // 64 * s in Min(64, 64 * s).
    constexpr size_t maxCompared = 8;
    // Where a size is zero, strides do not matter.
    auto isPositive = [&](AffineSymbolExpr symbol) {
      StringRef name = space.getNames()[symbol.getPosition()].getValue();
      return positive.contains(symbol) || (isStride && isBacked(name));
    };
    auto isDropped = [&](AffineExpr argument) {
      return llvm::any_of(arguments, [&](AffineExpr other) {
        if (other == argument)
          return false;
        AffineExpr difference =
            isMax ? other + negate(argument) : argument + negate(other);
        return getLowerBound(difference, isPositive).value_or(-1) >= 0;
      });
    };
    for (size_t index = 0;
         arguments.size() <= maxCompared && index < arguments.size();)
      if (isDropped(arguments[index]))
        arguments.erase(arguments.begin() + index);
      else
        ++index;
    if (arguments.size() == 1)
      return arguments[0];
    if (isStride && isMax && arguments.size() == 2 &&
        tp::getConstant(arguments[0]) == 1)
      return arguments[1];
    return getOpaque(getText(begin), isMax ? Function::Max : Function::Min,
                     arguments);
  }

  /// Parses what follows "Symbol(": a quoted name and assumptions.
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
    AffineExpr symbol = space.getSymbol(StringAttr::get(context, name));
    if (rest.take_front(close).contains("positive=True"))
      positive.insert(symbol);
    rest = rest.drop_front(close + 1);
    return symbol;
  }

  StringRef rest;
  bool isStride;
  tp::SymbolSpace &space;
  MLIRContext *context;
  SmallVectorImpl<OpaquePart> *parts;
  /// Symbols that the text says are positive.
  llvm::SmallDenseSet<AffineExpr> positive;
  unsigned depth = 0;
  unsigned numParts = 0;
  bool isTooLarge = false;
};
} // namespace

static tp::Size read(const archive::SymInt &size, bool isStride,
                     tp::SymbolSpace &space,
                     SmallVectorImpl<OpaquePart> *parts) {
  if (size.value)
    return *size.value;
  size_t numBefore = parts ? parts->size() : 0;
  SizeParser parser(size.expression, isStride, space, parts);
  if (AffineExpr parsed = parser.parse())
    return parsed;
  AffineExpr whole = getOpaqueSymbol(size.expression, space);
  if (parts) {
    parts->truncate(numBefore);
    parts->push_back({whole, size.expression, Function::Unknown, {}});
  }
  return whole;
}

tp::Size vocabulary::readSize(const archive::SymInt &size,
                              tp::SymbolSpace &space,
                              SmallVectorImpl<OpaquePart> *parts) {
  return read(size, /*isStride=*/false, space, parts);
}

tp::Size vocabulary::getNumber(const archive::Graph &graph, StringRef name,
                               tp::SymbolSpace &space) {
  auto number = graph.symIntValues.find(name);
  return number == graph.symIntValues.end() ? tp::Size()
                                            : readSize(number->second, space);
}

tp::Size vocabulary::readStride(const archive::SymInt &stride,
                                tp::SymbolSpace &space,
                                SmallVectorImpl<OpaquePart> *parts) {
  return read(stride, /*isStride=*/true, space, parts);
}

std::optional<int64_t> vocabulary::evaluate(const OpaquePart &part,
                                            ArrayRef<StringAttr> names,
                                            tp::SymbolValues symbols) {
  SmallVector<int64_t> values;
  for (AffineExpr argument : part.arguments) {
    std::optional<int64_t> value = tp::evaluate(argument, names, symbols);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  bool divides = part.function == Function::FloorDiv ||
                 part.function == Function::CeilDiv ||
                 part.function == Function::Mod;
  if (divides && values[1] <= 0)
    return std::nullopt;
  switch (part.function) {
  case Function::Unknown:
    return std::nullopt;
  case Function::Max:
    return *llvm::max_element(values);
  case Function::Min:
    return *llvm::min_element(values);
  case Function::FloorDiv:
    return llvm::divideFloorSigned(values[0], values[1]);
  case Function::CeilDiv:
    return llvm::divideCeilSigned(values[0], values[1]);
  case Function::Mod:
    return llvm::mod(values[0], values[1]);
  }
  llvm_unreachable("unknown function");
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
    StringRef assumptions =
        isBacked(name) ? ", positive=True, integer=True" : ", integer=True";
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
  // SymPy writes constants first.
  if (binary.getKind() == AffineExprKind::Mul &&
      tp::getConstant(binary.getRHS()))
    std::swap(lhs, rhs);
  return (function + "(" + lhs + ", " + rhs + ")").str();
}
