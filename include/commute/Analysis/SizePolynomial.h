//===- SizePolynomial.h - exact arithmetic on symbolic sizes ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Affine expressions have many spellings of one value, and products of symbols
// are not simplified at all. Proofs about positions need equality: sums of
// products of symbols in a normal form.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_SIZEPOLYNOMIAL_H
#define COMMUTE_ANALYSIS_SIZEPOLYNOMIAL_H

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace commute::analysis {

/// A polynomial with integer coefficients in the symbols of one SymbolSpace.
/// Quotients and remainders are symbols of their own. What cannot be counted in
/// 64 bits, and everything computed from it, is not known, and equal to
/// nothing.
class SizePolynomial {
public:
  SizePolynomial(int64_t constant = 0) : constant(constant) {}
  static SizePolynomial get(const tp::Size &size);

  bool isKnown() const { return known; }
  std::optional<int64_t> getConstant() const;
  bool isConstant(int64_t value) const { return getConstant() == value; }

  SizePolynomial operator+(const SizePolynomial &other) const;
  SizePolynomial operator-(const SizePolynomial &other) const;
  SizePolynomial operator*(const SizePolynomial &other) const;
  SizePolynomial &operator+=(const SizePolynomial &other) {
    return *this = *this + other;
  }
  SizePolynomial &operator*=(const SizePolynomial &other) {
    return *this = *this * other;
  }
  bool operator==(const SizePolynomial &other) const;
  bool operator!=(const SizePolynomial &other) const {
    return !(*this == other);
  }
  /// The quotient where it provably leaves no remainder, else not known.
  SizePolynomial divideExactly(const SizePolynomial &divisor) const;
  /// Whether it is at least 0 for all symbols that are.
  bool isNonNegative() const;

  tp::Size getSize() const;

private:
  /// A coefficient, not 0, and the symbols that it stands with, in order.
  struct Term {
    llvm::SmallVector<mlir::AffineExpr, 2> symbols;
    int64_t coefficient = 0;
  };
  static SizePolynomial getUnknown();
  static bool isBefore(const Term &lhs, const Term &rhs);
  void add(const Term &term);
  /// The first term, which may be the constant.
  Term getLeading() const;

  int64_t constant;
  bool known = true;
  /// The others, in descending order of their symbols, no two alike.
  llvm::SmallVector<Term, 0> terms;
};

/// The number of elements of a tensor of these sizes.
SizePolynomial getProduct(llvm::ArrayRef<SizePolynomial> sizes);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_SIZEPOLYNOMIAL_H
