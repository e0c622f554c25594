//===- PrimeField.h - arithmetic modulo 2^61 - 1 ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_PRIMEFIELD_H
#define COMMUTE_EQUIVALENCE_PRIMEFIELD_H

#include <bit>
#include <cmath>
#include <cstdint>

namespace commute::equivalence {

/// The field of integers modulo the Mersenne prime 2^61 - 1. Elements are
/// numbers in [0, p); reduction is a shift and an addition.
struct PrimeField {
  static constexpr uint64_t prime = (uint64_t(1) << 61) - 1;

  /// Any 64-bit number.
  static constexpr uint64_t reduce(uint64_t value) {
    value = (value & prime) + (value >> 61);
    return value >= prime ? value - prime : value;
  }
  /// Any 128-bit number.
  static constexpr uint64_t reduceWide(unsigned __int128 value) {
    uint64_t low = static_cast<uint64_t>(value) & prime;
    // What is above 61 bits has up to 67 bits: fold twice.
    unsigned __int128 high = value >> 61;
    uint64_t middle = static_cast<uint64_t>(high) & prime;
    uint64_t top = static_cast<uint64_t>(high >> 61);
    return reduce(reduce(low + middle) + top);
  }
  static constexpr uint64_t add(uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return sum >= prime ? sum - prime : sum;
  }
  static constexpr uint64_t negate(uint64_t a) { return a ? prime - a : 0; }
  static constexpr uint64_t subtract(uint64_t a, uint64_t b) {
    return add(a, negate(b));
  }
  static constexpr uint64_t multiply(uint64_t a, uint64_t b) {
    return reduceWide(static_cast<unsigned __int128>(a) * b);
  }
  static constexpr uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
      if (exponent & 1)
        result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
  /// The inverse; 0 for 0, which no random value is but with probability 1/p.
  static constexpr uint64_t invert(uint64_t a) { return power(a, prime - 2); }

  static constexpr uint64_t fromInteger(int64_t value) {
    return value >= 0 ? reduce(static_cast<uint64_t>(value))
                      : negate(reduce(~static_cast<uint64_t>(value) + 1));
  }
  /// Every finite double is an integer times a power of two, and so has an
  /// exact image: sums and products of constants come out as they should.
  static uint64_t fromDouble(double value) {
    if (value == 0)
      return 0;
    if (!std::isfinite(value))
      return mix(std::bit_cast<uint64_t>(value), 0x1f83d9abfb41bd6b);
    int exponent;
    double fraction = std::frexp(std::fabs(value), &exponent);
    uint64_t mantissa = static_cast<uint64_t>(std::ldexp(fraction, 53));
    exponent -= 53;
    uint64_t scale = power(2, static_cast<uint64_t>(std::abs(exponent)));
    if (exponent < 0)
      scale = invert(scale);
    uint64_t result = multiply(mantissa, scale);
    return value < 0 ? negate(result) : result;
  }

  /// A random function of `value` for each key: the finalizer of splitmix64,
  /// twice, on value and key.
  static constexpr uint64_t mix(uint64_t value, uint64_t key) {
    return reduce(scramble(scramble(value ^ scramble(key)) + key));
  }

  /// A fixed permutation of the 64-bit numbers without structure.
  static constexpr uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  /// Its inverse.
  static constexpr uint64_t unscramble(uint64_t x) {
    x = unshift(x, 31) * invertOdd(0x94d049bb133111eb);
    x = unshift(x, 27) * invertOdd(0xbf58476d1ce4e5b9);
    return unshift(x, 30) - 0x9e3779b97f4a7c15;
  }

private:
  /// The inverse of x ^ (x >> count).
  static constexpr uint64_t unshift(uint64_t x, unsigned count) {
    uint64_t result = x;
    for (unsigned done = count; done < 64; done += count)
      result = x ^ (result >> count);
    return result;
  }
  /// Of an odd number modulo 2^64, by Newton's method.
  static constexpr uint64_t invertOdd(uint64_t x) {
    uint64_t inverse = x;
    for (int step = 0; step < 6; ++step)
      inverse *= 2 - x * inverse;
    return inverse;
  }
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_PRIMEFIELD_H
