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

uint64_t PrimeField::fromDouble(double value) {
  if (value == 0)
    return 0;
  double magnitude = std::fabs(value);
  uint64_t result;
  if (auto fraction = getFraction(magnitude))
    result = multiply(fraction->first, invert(fraction->second));
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
