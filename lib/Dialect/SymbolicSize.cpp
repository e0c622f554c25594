//===- SymbolicSize.cpp - sizes and strides as expressions ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/SymbolicSize.h"

#include "commute/Dialect/SymbolNames.h"
#include "commute/Dialect/TPDialect.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

Size::Size(AffineExpr expression) {
  if (auto constant = llvm::dyn_cast_if_present<AffineConstantExpr>(expression))
    number = constant.getValue();
  else
    this->expression = expression;
}

AffineExpr Size::getExpression(MLIRContext *context) const {
  return number == none ? expression : getAffineConstantExpr(number, context);
}

Size commute::tp::multiply(const Size &lhs, const Size &rhs) {
  if (!lhs || !rhs)
    return {};
  std::optional<int64_t> a = lhs.getConstant(), b = rhs.getConstant();
  int64_t product = 0;
  if (a && b)
    return llvm::MulOverflow(*a, *b, product) ? Size() : Size(product);
  MLIRContext *context = (a ? rhs : lhs).getSymbolic().getContext();
  return getAffineBinaryOpExpr(AffineExprKind::Mul, lhs.getExpression(context),
                               rhs.getExpression(context));
}

Size commute::tp::multiply(ArrayRef<Size> sizes) {
  Size product = 1;
  for (const Size &size : sizes)
    product = multiply(product, size);
  return product;
}

Size commute::tp::add(const Size &lhs, const Size &rhs) {
  if (!lhs || !rhs)
    return {};
  std::optional<int64_t> a = lhs.getConstant(), b = rhs.getConstant();
  int64_t sum = 0;
  if (a && b)
    return llvm::AddOverflow(*a, *b, sum) ? Size() : Size(sum);
  MLIRContext *context = (a ? rhs : lhs).getSymbolic().getContext();
  return lhs.getExpression(context) + rhs.getExpression(context);
}

std::optional<Monomial> commute::tp::getMonomial(const Size &size) {
  if (!size)
    return std::nullopt;
  if (std::optional<int64_t> constant = size.getConstant())
    return Monomial{*constant, {}};
  AffineExpr expression = size.getSymbolic();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression))
    return Monomial{1, {symbol.getPosition()}};
  auto product = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  std::optional<Monomial> lhs = getMonomial(product.getLHS());
  std::optional<Monomial> rhs = getMonomial(product.getRHS());
  if (!lhs || !rhs)
    return std::nullopt;
  std::optional<int64_t> coefficient =
      llvm::checkedMul(lhs->coefficient, rhs->coefficient);
  if (!coefficient)
    return std::nullopt;
  lhs->coefficient = *coefficient;
  lhs->symbols.append(rhs->symbols);
  llvm::sort(lhs->symbols);
  return lhs;
}

Size commute::tp::divideExactly(const Size &lhs, const Size &rhs) {
  if (!lhs || !rhs)
    return {};
  if (lhs == rhs)
    return 1;
  std::optional<Monomial> dividend = getMonomial(lhs);
  std::optional<Monomial> divisor = getMonomial(rhs);
  if (!dividend || !divisor || divisor->coefficient < 1 ||
      dividend->coefficient % divisor->coefficient != 0)
    return {};
  assert(llvm::is_sorted(dividend->symbols) &&
         llvm::is_sorted(divisor->symbols) && "symbols of a monomial ascend");
  SmallVector<unsigned> rest;
  const unsigned *next = divisor->symbols.begin();
  for (unsigned symbol : dividend->symbols) {
    if (next != divisor->symbols.end() && *next == symbol)
      ++next;
    else
      rest.push_back(symbol);
  }
  if (next != divisor->symbols.end())
    return {};
  Size result = dividend->coefficient / divisor->coefficient;
  for (unsigned symbol : rest)
    result = multiply(
        result, getAffineSymbolExpr(symbol, lhs.getSymbolic().getContext()));
  return result;
}

bool commute::tp::areDifferent(const Size &lhs, const Size &rhs) {
  if (!lhs || !rhs || lhs == rhs)
    return false;
  if (lhs.getConstant() && rhs.getConstant())
    return true;
  MLIRContext *context =
      (lhs.getConstant() ? rhs : lhs).getSymbolic().getContext();
  AffineExpr difference =
      lhs.getExpression(context) - rhs.getExpression(context);
  if (!getConstant(difference)) {
    // MLIR's subtraction does not cancel terms: s0 - (s0 + 1).
    unsigned numSymbols = 0;
    difference.walk([&](AffineExpr part) {
      if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
        numSymbols = std::max(numSymbols, symbol.getPosition() + 1);
    });
    difference = simplifyAffineExpr(difference, /*numDims=*/0, numSymbols);
  }
  return getConstant(difference).value_or(0) != 0;
}

std::optional<int64_t> commute::tp::evaluate(const Size &size,
                                             ArrayRef<StringAttr> names,
                                             SymbolValues symbols) {
  if (size.getConstant() || !size)
    return size.getConstant();
  AffineExpr expression = size.getSymbolic();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    if (symbol.getPosition() >= names.size())
      return std::nullopt;
    return symbols(names[symbol.getPosition()].getValue());
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary)
    return std::nullopt;
  std::optional<int64_t> lhs = evaluate(binary.getLHS(), names, symbols);
  std::optional<int64_t> rhs = evaluate(binary.getRHS(), names, symbols);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return llvm::checkedAdd(*lhs, *rhs);
  case AffineExprKind::Mul:
    return llvm::checkedMul(*lhs, *rhs);
  case AffineExprKind::FloorDiv:
    return *rhs > 0 ? std::optional(llvm::divideFloorSigned(*lhs, *rhs))
                    : std::nullopt;
  case AffineExprKind::CeilDiv:
    return *rhs > 0 ? std::optional(llvm::divideCeilSigned(*lhs, *rhs))
                    : std::nullopt;
  case AffineExprKind::Mod:
    return *rhs > 0 ? std::optional(llvm::mod(*lhs, *rhs)) : std::nullopt;
  default:
    return std::nullopt;
  }
}

void commute::tp::printSize(llvm::raw_ostream &os, const Size &size,
                            ArrayRef<StringAttr> names) {
  if (!size) {
    os << '?';
    return;
  }
  if (std::optional<int64_t> constant = size.getConstant()) {
    os << *constant;
    return;
  }
  AffineExpr expression = size.getSymbolic();
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expression)) {
    if (symbol.getPosition() < names.size())
      os << names[symbol.getPosition()].getValue();
    else
      os << 's' << symbol.getPosition();
    return;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (!binary) {
    expression.print(os);
    return;
  }
  // Only the operands of a sum need no parentheses.
  auto printOperand = [&](AffineExpr operand) {
    bool parenthesize = isa<AffineBinaryOpExpr>(operand) &&
                        binary.getKind() != AffineExprKind::Add;
    if (parenthesize)
      os << '(';
    printSize(os, operand, names);
    if (parenthesize)
      os << ')';
  };
  printOperand(binary.getLHS());
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    os << " + ";
    break;
  case AffineExprKind::Mul:
    os << " * ";
    break;
  case AffineExprKind::FloorDiv:
    os << " floordiv ";
    break;
  case AffineExprKind::CeilDiv:
    os << " ceildiv ";
    break;
  case AffineExprKind::Mod:
    os << " mod ";
    break;
  default:
    llvm_unreachable("not a binary expression");
  }
  printOperand(binary.getRHS());
}

//===----------------------------------------------------------------------===//
// SymbolSpace
//===----------------------------------------------------------------------===//

AffineExpr SymbolSpace::getSymbol(StringAttr name) {
  auto [position, isNew] = positions.try_emplace(name, names.size());
  if (isNew)
    names.push_back(name);
  return getAffineSymbolExpr(position->second, context);
}

/// Returns the expressions of a layout, renumbered to the symbols of `space`.
static Sizes renumber(SymbolSpace &space, LayoutAttr layout,
                      ArrayRef<AffineExpr> expressions) {
  if (layout.getSymbols().empty())
    return Sizes(expressions);
  SmallVector<AffineExpr> symbols;
  for (StringAttr name : layout.getSymbols())
    symbols.push_back(space.getSymbol(name));
  Sizes result;
  for (AffineExpr expression : expressions)
    result.push_back(expression.replaceSymbols(symbols));
  return result;
}

Sizes SymbolSpace::getSizes(RankedTensorType type) {
  auto layout = dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  if (layout && !layout.getSizes().empty())
    return renumber(*this, layout, layout.getSizes());
  return Sizes(type.getShape());
}

Strides SymbolSpace::getStrides(RankedTensorType type) {
  auto layout = dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  if (!layout) {
    // Strides cannot be stated without sizes (see getType).
    if (!type.hasStaticShape())
      return std::nullopt;
    return getContiguousStrides(getSizes(type));
  }
  if (!layout.getKnowsStrides())
    return std::nullopt;
  if (layout.getStrides().empty())
    return getContiguousStrides(getSizes(type));
  return renumber(*this, layout, layout.getStrides());
}

StridedShape SymbolSpace::getShape(RankedTensorType type) {
  return {getSizes(type), getStrides(type)};
}

RankedTensorType SymbolSpace::getType(Type elementType, ArrayRef<Size> sizes,
                                      const Strides &strides) const {
  SmallVector<int64_t> shape;
  bool isStatic = true;
  bool knowsSizes = true;
  for (const Size &size : sizes) {
    std::optional<int64_t> constant = size.getConstant();
    shape.push_back(constant.value_or(ShapedType::kDynamic));
    isStatic &= constant.has_value();
    knowsSizes &= bool(size);
  }
  // Unknown sizes have no expressions, so such a tensor has no layout.
  if (!knowsSizes)
    return RankedTensorType::get(shape, elementType);
  bool knowsStrides = strides && llvm::all_of(*strides, [](const Size &stride) {
                        return bool(stride);
                      });
  bool isContiguous = knowsStrides && areContiguousStrides(*strides, sizes);
  if (isStatic && isContiguous)
    return RankedTensorType::get(shape, elementType);

  // Number symbols by their first appearance, so that equal layouts are equal
  // attributes.
  SmallVector<StringAttr> used;
  DenseMap<unsigned, unsigned> renumbering;
  auto collect = [&](ArrayRef<Size> stated) {
    for (const Size &size : stated)
      if (AffineExpr expression = size.getSymbolic())
        expression.walk([&](AffineExpr part) {
          auto symbol = dyn_cast<AffineSymbolExpr>(part);
          if (!symbol)
            return;
          if (renumbering.try_emplace(symbol.getPosition(), used.size()).second)
            used.push_back(names[symbol.getPosition()]);
        });
  };
  ArrayRef<Size> statedSizes = isStatic ? ArrayRef<Size>() : sizes;
  ArrayRef<Size> statedStrides =
      knowsStrides && !isContiguous ? ArrayRef(*strides) : ArrayRef<Size>();
  collect(statedSizes);
  collect(statedStrides);
  SmallVector<AffineExpr> replacements(names.size());
  for (unsigned position = 0; position < names.size(); ++position) {
    auto it = renumbering.find(position);
    replacements[position] =
        getAffineSymbolExpr(it == renumbering.end() ? 0 : it->second, context);
  }
  auto rewrite = [&](ArrayRef<Size> stated) {
    SmallVector<AffineExpr> result;
    for (const Size &size : stated)
      result.push_back(
          size.getExpression(context).replaceSymbols(replacements));
    return result;
  };
  return RankedTensorType::get(
      shape, elementType,
      LayoutAttr::get(context, used, rewrite(statedSizes),
                      rewrite(statedStrides), knowsStrides));
}

ArrayRef<StringAttr> commute::tp::getSymbolNames(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto layout = tensor ? dyn_cast_if_present<LayoutAttr>(tensor.getEncoding())
                       : LayoutAttr();
  return layout ? layout.getSymbols() : ArrayRef<StringAttr>();
}

std::optional<int64_t> commute::tp::evaluateSize(RankedTensorType type,
                                                 unsigned dim,
                                                 SymbolValues symbols) {
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  auto layout = dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  if (!layout || layout.getSizes().empty())
    return std::nullopt;
  return evaluate(layout.getSizes()[dim], layout.getSymbols(), symbols);
}

bool commute::tp::hasOneElement(RankedTensorType type) {
  return llvm::all_of(type.getShape(), [](int64_t size) { return size == 1; });
}

std::optional<int64_t> commute::tp::evaluateNumElements(RankedTensorType type,
                                                        SymbolValues symbols) {
  int64_t count = 1;
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    std::optional<int64_t> size = evaluateSize(type, dim, symbols);
    if (!size)
      return std::nullopt;
    std::optional<int64_t> product = llvm::checkedMul(count, *size);
    if (!product)
      return std::nullopt;
    count = *product;
  }
  return count;
}
