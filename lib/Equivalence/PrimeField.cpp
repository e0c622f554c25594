//===- PrimeField.cpp - constants as field elements -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/PrimeField.h"

#include <bit>
#include <cmath>
#include <optional>
#include <utility>

using namespace commute::equivalence;

/// Returns the fraction of small integers that is nearest to a positive double,
/// by its continued fraction, or nullopt if there is none.
static std::optional<std::pair<uint64_t, uint64_t>> getFraction(double value) {
  constexpr double largest = 0x1p26;
  if (value > largest || value < 1 / largest)
    return std::nullopt;
  // Dyadic fractions, which are exact.
  for (double scale = 1; scale <= largest; scale *= 2)
    if (double scaled = value * scale;
        scaled <= largest && scaled == std::floor(scaled))
      return std::pair(static_cast<uint64_t>(scaled),
                       static_cast<uint64_t>(scale));
  constexpr double largestDenominator = 0x1p20;
  double rest = value;
  double numerator = 1, previousNumerator = 0;
  double denominator = 0, previousDenominator = 1;
  for (int step = 0; step < 40; ++step) {
    double whole = std::floor(rest);
    double nextNumerator = whole * numerator + previousNumerator;
    double nextDenominator = whole * denominator + previousDenominator;
    if (nextNumerator > largest || nextDenominator > largestDenominator)
      return std::nullopt;
    previousNumerator = std::exchange(numerator, nextNumerator);
    previousDenominator = std::exchange(denominator, nextDenominator);
    if (numerator / denominator == value)
      return std::pair(static_cast<uint64_t>(numerator),
                       static_cast<uint64_t>(denominator));
    if (rest == whole)
      return std::nullopt;
    rest = 1 / (rest - whole);
  }
  return std::nullopt;
}

/// Returns true if no prime above 59 divides a number, so that it has roots of
/// all degrees that are powers of two.
static bool isSmooth(uint64_t number) {
  for (uint64_t prime :
       {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59})
    while (number % prime == 0)
      number /= prime;
  return number == 1;
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

/// Returns the element of a positive double that is the square root or the
/// fourth root of a small fraction, but for rounding. About one of 2^26 other
/// doubles is taken for such a root.
static std::optional<uint64_t> getRoot(double value) {
  // The rounding of a root, and of a quotient of it, twice over.
  constexpr long double rounding = 0x1p-52L;
  constexpr long double bounds[] = {0x1p24L, 0x1p22L};
  long double power = value;
  for (unsigned squarings = 1; squarings <= 2; ++squarings) {
    power *= power;
    auto fraction = getNearFraction(power, rounding * (1 << squarings),
                                    bounds[squarings - 1]);
    if (!fraction || !isSmooth(fraction->first) || !isSmooth(fraction->second))
      continue;
    uint64_t element = PrimeField::multiply(
        fraction->first, PrimeField::invert(fraction->second));
    for (unsigned root = 0; root < squarings; ++root)
      element = PrimeField::takeRoot(element);
    return element;
  }
  return std::nullopt;
}

uint64_t PrimeField::fromDouble(double value) {
  if (value == 0)
    return 0;
  double magnitude = std::fabs(value);
  uint64_t result;
  if (auto fraction = getFraction(magnitude))
    result = multiply(fraction->first, invert(fraction->second));
  else if (auto root = getRoot(magnitude))
    result = *root;
  else
    // Keyed by the modulus as well: a linear relation of such unknowns that
    // somebody found holds for one modulus alone.
    result = mix(std::bit_cast<uint64_t>(magnitude),
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
