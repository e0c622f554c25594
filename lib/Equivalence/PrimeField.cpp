//===- PrimeField.cpp - constants as field elements -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/PrimeField.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

using namespace commute::equivalence;

/// A number of the field.
using Element = std::optional<uint64_t>;

/// Returns the fraction of small integers that is nearest to a positive double,
/// by its continued fraction, if there is one.
static Element getFraction(double value) {
  // Of two such fractions, the double is nearest to one: they differ by more
  // than its precision. Few doubles are nearest to one by chance.
  constexpr double largest = 0x1p26, largestDenominator = 0x1p20;
  constexpr double largestProduct = 0x1p40;
  double rest = value;
  double numerator = 1, previousNumerator = 0;
  double denominator = 0, previousDenominator = 1;
  for (int step = 0; step < 40; ++step) {
    double whole = std::floor(rest);
    double nextNumerator = whole * numerator + previousNumerator;
    double nextDenominator = whole * denominator + previousDenominator;
    bool isSmall =
        nextNumerator <= largest && nextDenominator <= largestDenominator;
    if (!isSmall && nextNumerator * nextDenominator > largestProduct)
      return std::nullopt;
    previousNumerator = std::exchange(numerator, nextNumerator);
    previousDenominator = std::exchange(denominator, nextDenominator);
    if (numerator / denominator == value)
      return PrimeField::multiply(
          static_cast<uint64_t>(numerator),
          PrimeField::invert(static_cast<uint64_t>(denominator)));
    if (rest == whole)
      return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// Returns a positive double as the number that it is exactly, if this has few
/// digits in base two.
static Element getBinary(double value) {
  int exponent;
  auto digits = static_cast<uint64_t>(std::ldexp(
      std::frexp(value, &exponent), std::numeric_limits<double>::digits));
  exponent -= std::numeric_limits<double>::digits;
  int zeros = std::countr_zero(digits);
  digits >>= zeros;
  exponent += zeros;
  // Integers that doubles count by ones, and others of few digits.
  constexpr uint64_t mostDigits = uint64_t(1) << 26;
  constexpr double largestInteger = 0x1p53, largest = 0x1p60;
  bool isInteger = exponent >= 0 && value <= largestInteger;
  if (!isInteger && (digits > mostDigits || value > largest || exponent < -60))
    return std::nullopt;
  uint64_t power = PrimeField::power(2, std::abs(exponent));
  return PrimeField::multiply(digits,
                              exponent < 0 ? PrimeField::invert(power) : power);
}

/// Returns a positive double as the decimal number of at most nine digits that
/// it is nearest to, if there is one: the fractions that programs write are
/// such numbers, or have small denominators.
static Element getDecimal(double value) {
  // Numbers that are less exact than others are left out.
  if (value < 0x1p-1000 || !std::isfinite(value))
    return std::nullopt;
  // The shortest digits that only this double is nearest to: 5e-07.
  std::array<char, 32> text;
  auto [end, error] = std::to_chars(text.data(), text.data() + text.size(),
                                    value, std::chars_format::scientific);
  constexpr int mostDigits = 9;
  uint64_t digits = 0;
  int numDigits = 0, exponent = 0;
  const char *next = text.data();
  for (; next != end && *next != 'e'; ++next) {
    if (*next == '.')
      continue;
    if (++numDigits > mostDigits)
      return std::nullopt;
    digits = 10 * digits + static_cast<uint64_t>(*next - '0');
  }
  // from_chars accepts no plus sign.
  next += next[1] == '+' ? 2 : 1;
  std::from_chars(next, end, exponent);
  exponent -= numDigits - 1;
  uint64_t power = PrimeField::power(10, std::abs(exponent));
  return PrimeField::multiply(digits,
                              exponent < 0 ? PrimeField::invert(power) : power);
}

/// Returns the fraction that a positive number is, but for `tolerance` as a
/// factor, and whose numerator times its denominator is at most `bound`.
static std::optional<std::pair<uint64_t, uint64_t>>
getNearFraction(long double value, long double tolerance, long double bound) {
  long double rest = value;
  long double numerator = 1, previousNumerator = 0;
  long double denominator = 0, previousDenominator = 1;
  for (int step = 0; step < 40; ++step) {
    long double whole = std::floor(rest);
    previousNumerator =
        std::exchange(numerator, whole * numerator + previousNumerator);
    previousDenominator =
        std::exchange(denominator, whole * denominator + previousDenominator);
    if (!(numerator * denominator <= bound))
      return std::nullopt;
    if (numerator > 0 &&
        std::fabs(numerator / denominator - value) <= tolerance * value)
      return std::pair(static_cast<uint64_t>(numerator),
                       static_cast<uint64_t>(denominator));
    // Just below a whole number.
    if (rest - whole == 0)
      return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// Returns the element of a number from one on that is the square root of a
/// small fraction, but for rounding. About one of 2^26 other doubles is taken
/// for such a root.
static std::optional<uint64_t> getRoot(long double value) {
  // The rounding of the root, and of a quotient of it, twice over.
  constexpr long double tolerance = 0x1.8p-51L, bound = 0x1p24L;
  auto fraction = getNearFraction(value * value, tolerance, bound);
  if (!fraction)
    return std::nullopt;
  // The root of n / m is k / m times the root of f, where n m is k k f.
  uint64_t squareFree = fraction->first * fraction->second, factor = 1;
  for (uint64_t number = 2; number * number <= squareFree; ++number)
    while (squareFree % (number * number) == 0) {
      squareFree /= number * number;
      factor *= number;
    }
  uint64_t root =
      squareFree == 1
          ? 1
          : PrimeField::mix(squareFree,
                            0x5be0cd19137e2179 + PrimeField::getExcess());
  return PrimeField::multiply(PrimeField::multiply(factor, root),
                              PrimeField::invert(fraction->second));
}

uint64_t PrimeField::fromDouble(double value) {
  if (value == 0)
    return 0;
  double magnitude = std::fabs(value);
  Element known;
  if (std::isfinite(magnitude)) {
    known = getBinary(magnitude);
    if (!known)
      known = getDecimal(magnitude);
    if (!known)
      known = getFraction(magnitude);
    if (!known && magnitude >= 1)
      known = getRoot(magnitude);
    else if (auto root = known
                             ? std::nullopt
                             : getRoot(1 / static_cast<long double>(magnitude)))
      known = invert(*root);
  }
  // Others are keyed by the modulus as well: a linear relation of such unknowns
  // that somebody found holds for one modulus alone.
  uint64_t result = known ? *known
                          : mix(std::bit_cast<uint64_t>(magnitude),
                                0x1f83d9abfb41bd6b + getExcess());
  return std::signbit(value) && !std::isnan(value) ? negate(result) : result;
}

std::optional<double> PrimeField::toFraction(uint64_t element) {
  // Euclid's algorithm: every remainder is `element` times a factor, and the
  // first small remainder has the smallest factor.
  constexpr int64_t bound = int64_t(1) << 20;
  auto before = static_cast<int64_t>(getPrime());
  auto remainder = static_cast<int64_t>(element);
  int64_t factorBefore = 0, factor = 1;
  while (remainder > bound) {
    int64_t quotient = before / remainder;
    before = std::exchange(remainder, before - quotient * remainder);
    factorBefore = std::exchange(factor, factorBefore - quotient * factor);
    if (std::abs(factor) > bound)
      return std::nullopt;
  }
  return static_cast<double>(remainder) / static_cast<double>(factor);
}
