//===- SizePolynomial.cpp - exact arithmetic on symbolic sizes --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Sizes/SizePolynomial.h"

#include "commute/Dialect/SymbolicSize.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// A product of sums has exponentially many terms in its length. No size that
/// occurs in practice has more than a few.
static constexpr size_t maxTerms = 256;

/// Orders symbols by their number, and all other expressions after them.
static bool isSymbolBefore(AffineExpr lhs, AffineExpr rhs) {
  auto getKey = [](AffineExpr expression) {
    auto symbol = dyn_cast<AffineSymbolExpr>(expression);
    return std::pair(symbol ? symbol.getPosition() : ~0U,
                     symbol ? nullptr : expression.getAsOpaquePointer());
  };
  return getKey(lhs) < getKey(rhs);
}

/// A lexicographic order of monomials, in which that of a product is that of
/// its factors, so that division by leading terms is exact.
bool SizePolynomial::isBefore(const Term &lhs, const Term &rhs) {
  size_t common = std::min(lhs.symbols.size(), rhs.symbols.size());
  for (size_t index = 0; index < common; ++index)
    if (lhs.symbols[index] != rhs.symbols[index])
      return isSymbolBefore(lhs.symbols[index], rhs.symbols[index]);
  return lhs.symbols.size() > rhs.symbols.size();
}

SizePolynomial SizePolynomial::getUnknown() {
  SizePolynomial result;
  result.known = false;
  return result;
}

void SizePolynomial::add(const Term &term) {
  if (term.symbols.empty()) {
    if (llvm::AddOverflow(constant, term.coefficient, constant))
      known = false;
    return;
  }
  auto place = llvm::lower_bound(terms, term, isBefore);
  if (place == terms.end() || isBefore(term, *place)) {
    terms.insert(place, term);
    return;
  }
  if (llvm::AddOverflow(place->coefficient, term.coefficient,
                        place->coefficient))
    known = false;
  if (place->coefficient == 0)
    terms.erase(place);
}

bool SizePolynomial::hasTooManyTerms(const SizePolynomial &lhs,
                                     const SizePolynomial &rhs) {
  return (lhs.terms.size() + 1) * (rhs.terms.size() + 1) > maxTerms;
}

SizePolynomial SizePolynomial::get(const tp::Size &size) {
  if (!size)
    return getUnknown();
  if (std::optional<int64_t> number = size.getConstant())
    return *number;
  AffineExpr expression = size.getSymbolic();
  auto binary = dyn_cast<AffineBinaryOpExpr>(expression);
  if (binary && binary.getKind() == AffineExprKind::Add)
    return get(binary.getLHS()) + get(binary.getRHS());
  if (binary && binary.getKind() == AffineExprKind::Mul) {
    SizePolynomial lhs = get(binary.getLHS()), rhs = get(binary.getRHS());
    if (!hasTooManyTerms(lhs, rhs))
      return lhs * rhs;
  }
  SizePolynomial result;
  result.terms.push_back({{expression}, 1});
  return result;
}

SizePolynomial SizePolynomial::addTerms(const SizePolynomial &other) const {
  if (!known || !other.known)
    return getUnknown();
  SizePolynomial result = *this;
  result.add({{}, other.constant});
  for (const Term &term : other.terms)
    result.add(term);
  return result.known ? result : getUnknown();
}

SizePolynomial
SizePolynomial::multiplyTerms(const SizePolynomial &other) const {
  if (!known || !other.known || hasTooManyTerms(*this, other))
    return getUnknown();
  SizePolynomial result;
  if (llvm::MulOverflow(constant, other.constant, result.constant))
    return getUnknown();
  auto addProduct = [&](const Term &lhs, const Term &rhs) {
    Term product = lhs;
    if (llvm::MulOverflow(lhs.coefficient, rhs.coefficient,
                          product.coefficient))
      result.known = false;
    if (product.coefficient == 0)
      return;
    product.symbols.append(rhs.symbols);
    llvm::sort(product.symbols, isSymbolBefore);
    result.add(product);
  };
  for (const Term &lhs : terms) {
    addProduct(lhs, {{}, other.constant});
    for (const Term &rhs : other.terms)
      addProduct(lhs, rhs);
  }
  for (const Term &rhs : other.terms)
    addProduct({{}, constant}, rhs);
  return result.known ? result : getUnknown();
}

bool SizePolynomial::hasSameTerms(const SizePolynomial &other) const {
  return known && other.known && constant == other.constant &&
         llvm::equal(terms, other.terms, [](const Term &lhs, const Term &rhs) {
           return lhs.coefficient == rhs.coefficient &&
                  lhs.symbols == rhs.symbols;
         });
}

SizePolynomial::Term SizePolynomial::getLeading() const {
  return terms.empty() ? Term{{}, constant} : terms.front();
}

SizePolynomial
SizePolynomial::divideExactly(const SizePolynomial &divisor) const {
  if (isNumber() && divisor.isNumber())
    return divisor.constant > 0 && constant % divisor.constant == 0
               ? SizePolynomial(constant / divisor.constant)
               : getUnknown();
  if (!known || !divisor.known)
    return getUnknown();
  Term leading = divisor.getLeading();
  if (leading.coefficient < 1)
    return getUnknown();
  SizePolynomial quotient, rest = *this;
  while (!rest.isConstant(0)) {
    Term dividend = rest.getLeading();
    if (dividend.coefficient % leading.coefficient != 0)
      return getUnknown();
    SizePolynomial step;
    Term factor{{}, dividend.coefficient / leading.coefficient};
    const AffineExpr *next = leading.symbols.begin();
    for (AffineExpr symbol : dividend.symbols) {
      if (next != leading.symbols.end() && *next == symbol)
        ++next;
      else
        factor.symbols.push_back(symbol);
    }
    if (next != leading.symbols.end())
      return getUnknown();
    // Each step eliminates the leading term.
    step.add(factor);
    rest = rest - step * divisor;
    quotient += step;
    if (!rest.known || !quotient.known)
      return getUnknown();
  }
  return quotient;
}

bool SizePolynomial::isNonNegative() const {
  return known && constant >= 0 && llvm::all_of(terms, [](const Term &term) {
           return term.coefficient > 0;
         });
}

tp::Size SizePolynomial::getSize() const {
  if (!known)
    return {};
  tp::Size sum = constant;
  for (const Term &term : llvm::reverse(terms)) {
    tp::Size product = 1;
    for (AffineExpr symbol : term.symbols)
      product = tp::multiply(product, symbol);
    sum = tp::add(sum, tp::multiply(product, term.coefficient));
  }
  return sum;
}

SizePolynomial commute::analysis::getProduct(ArrayRef<SizePolynomial> sizes) {
  SizePolynomial product = 1;
  for (const SizePolynomial &size : sizes)
    product *= size;
  return product;
}
