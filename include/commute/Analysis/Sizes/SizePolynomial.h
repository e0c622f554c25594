//===- SizePolynomial.h - exact arithmetic on symbolic sizes ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Affine expressions can spell one value in many ways, and products of symbols
// are not simplified at all. Proofs about positions need a test for equality,
// so they use sums of products of symbols in a normal form.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_SIZES_SIZEPOLYNOMIAL_H
#define COMMUTE_ANALYSIS_SIZES_SIZEPOLYNOMIAL_H

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <optional>

namespace commute::analysis {

/// A polynomial with integer coefficients in the symbols of one SymbolSpace.
/// Quotients and remainders are symbols of their own, and so are products that
/// would have too many terms when multiplied out. A value that does not fit in
/// 64 bits, and everything computed from it, is unknown, and equal to nothing.
class SizePolynomial {
public:
  SizePolynomial(int64_t constant = 0) : constant(constant) {}
  static SizePolynomial get(const tp::Size &size);

  bool isKnown() const { return known; }
  std::optional<int64_t> getConstant() const {
    return isNumber() ? std::optional(constant) : std::nullopt;
  }
  bool isConstant(int64_t value) const {
    return isNumber() && constant == value;
  }

  // Nearly all sizes are constants; avoid a call for them.
  SizePolynomial operator+(const SizePolynomial &other) const {
    int64_t sum;
    return isNumber() && other.isNumber() &&
                   !llvm::AddOverflow(constant, other.constant, sum)
               ? SizePolynomial(sum)
               : addTerms(other);
  }
  SizePolynomial operator-(const SizePolynomial &other) const {
    int64_t difference;
    return isNumber() && other.isNumber() &&
                   !llvm::SubOverflow(constant, other.constant, difference)
               ? SizePolynomial(difference)
               : *this + other * SizePolynomial(-1);
  }
  SizePolynomial operator*(const SizePolynomial &other) const {
    int64_t product;
    return isNumber() && other.isNumber() &&
                   !llvm::MulOverflow(constant, other.constant, product)
               ? SizePolynomial(product)
               : multiplyTerms(other);
  }
  SizePolynomial &operator+=(const SizePolynomial &other) {
    return *this = *this + other;
  }
  SizePolynomial &operator*=(const SizePolynomial &other) {
    return *this = *this * other;
  }
  bool operator==(const SizePolynomial &other) const {
    return isNumber() && other.isNumber() ? constant == other.constant
                                          : hasSameTerms(other);
  }
  bool operator!=(const SizePolynomial &other) const {
    return !(*this == other);
  }
  /// Returns the quotient if the division is provably exact, else unknown.
  SizePolynomial divideExactly(const SizePolynomial &divisor) const;
  /// Returns true if the value is at least 0 for all nonnegative symbols.
  bool isNonNegative() const;

  tp::Size getSize() const;

private:
  /// A nonzero coefficient, and the symbols that it is multiplied with, in
  /// order.
  struct Term {
    llvm::SmallVector<mlir::AffineExpr, 2> symbols;
    int64_t coefficient = 0;
  };
  bool isNumber() const { return known && terms.empty(); }
  SizePolynomial addTerms(const SizePolynomial &other) const;
  SizePolynomial multiplyTerms(const SizePolynomial &other) const;
  bool hasSameTerms(const SizePolynomial &other) const;
  static SizePolynomial getUnknown();
  static bool hasTooManyTerms(const SizePolynomial &lhs,
                              const SizePolynomial &rhs);
  static bool isBefore(const Term &lhs, const Term &rhs);
  void add(const Term &term);
  /// The first term, which may be the constant.
  Term getLeading() const;

  int64_t constant;
  bool known = true;
  /// All other terms, in descending order of their symbols, without duplicates.
  llvm::SmallVector<Term, 0> terms;
};

/// Returns the number of elements of a tensor of these sizes.
SizePolynomial getProduct(llvm::ArrayRef<SizePolynomial> sizes);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_SIZES_SIZEPOLYNOMIAL_H
