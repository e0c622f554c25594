//===- PrimeField.h - arithmetic modulo a prime below 2^61 -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_PRIMEFIELD_H
#define COMMUTE_EQUIVALENCE_PRIMEFIELD_H

#include <cstdint>
#include <iterator>
#include <optional>

namespace commute::equivalence {

/// The field of integers modulo a prime p of the form 2^61 - e. Elements are
/// numbers in [0, p). Reduction modulo the Mersenne prime 2^61 - 1 would be
/// slightly faster, but 2^61 would then be 1, so a scale of 2^61, which occurs
/// in programs, would be lost.
///
/// A program that multiplies by 2^61 is equal, in the field, to one that
/// multiplies by e. So that no program is made for the prime, it is one of
/// several, which a seed draws; see `Modulus`.
struct PrimeField {
  /// While it lives, this thread computes modulo the prime of a seed; seeds
  /// that follow each other, such as those of rounds, have different ones.
  /// Elements of one modulus mean nothing to another.
  class Modulus {
  public:
    explicit Modulus(uint64_t seed) : before(excess) {
      excess = excesses[seed % std::size(excesses)];
    }
    ~Modulus() { excess = before; }
    Modulus(const Modulus &) = delete;
    Modulus &operator=(const Modulus &) = delete;

  private:
    uint32_t before;
  };

  /// The numbers e of the moduli, below 2^28: all primes up to 59 have square
  /// roots modulo these 2^61 - e, and minus one has none, so that the roots of
  /// products and quotients of small primes can be chosen to be products and
  /// quotients of roots.
  static constexpr uint32_t excesses[] = {
      636873,    10176081,  25265841,  34751601,  61708401,  62398881,
      64888401,  73017753,  105208953, 112622121, 120655161, 135368673,
      139666593, 151404753, 168560073, 170264721, 180636441, 183241113,
      197205201, 202738113, 208208193, 209766441, 227033433, 251679873};

  /// 2^61 in the field.
  static uint64_t getExcess() { return excess; }
  static uint64_t getPrime() { return (uint64_t(1) << 61) - excess; }

  /// Reduces any 64-bit number.
  static uint64_t reduce(uint64_t value) {
    value = (value & mask) + (value >> 61) * getExcess();
    return value >= getPrime() ? value - getPrime() : value;
  }
  /// Reduces any 128-bit number.
  static uint64_t reduceWide(unsigned __int128 value) {
    // The part above 61 bits has 67, then 34, then at most 2 bits.
    for (int fold = 0; fold < 2; ++fold)
      value = (value & mask) + (value >> 61) * getExcess();
    return reduce(static_cast<uint64_t>(value));
  }
  static uint64_t add(uint64_t a, uint64_t b) {
    uint64_t sum = a + b;
    return sum >= getPrime() ? sum - getPrime() : sum;
  }
  static uint64_t negate(uint64_t a) { return a ? getPrime() - a : 0; }
  static uint64_t subtract(uint64_t a, uint64_t b) { return add(a, negate(b)); }
  static uint64_t multiply(uint64_t a, uint64_t b) {
    return reduceWide(static_cast<unsigned __int128>(a) * b);
  }
  static uint64_t power(uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
      if (exponent & 1)
        result = multiply(result, base);
      base = multiply(base, base);
    }
    return result;
  }
  /// The inverse; 0 for 0, which a random value is with probability 1/p.
  static uint64_t invert(uint64_t a) { return power(a, getPrime() - 2); }

  /// The square root of a number that has one: of both, the one that has roots
  /// itself. The root of a product is the product of the roots. Roots are
  /// powers, because all moduli are 3 modulo 4.
  static uint64_t takeRoot(uint64_t a) {
    return power(a, (getPrime() + 1) / 4);
  }

  static uint64_t fromInteger(int64_t value) {
    return value >= 0 ? reduce(static_cast<uint64_t>(value))
                      : negate(reduce(~static_cast<uint64_t>(value) + 1));
  }
  /// A fraction of whole numbers up to 2^26 maps to itself, so that sums and
  /// products of such constants are exact. The double nearest to such a
  /// fraction with a denominator up to 2^20, such as 0.1, maps to that
  /// fraction. A double that is, but for the rounding of a root and a quotient,
  /// the square root or the fourth root of a fraction of products of primes up
  /// to 59, such as the scale 1 / sqrt(head_dim) of attention, maps to that
  /// root. Every other double (-3.4e38, 2^61, pi) is an unknown keyed by its
  /// value: its products equal no number that occurs elsewhere.
  static uint64_t fromDouble(double value);
  /// The fraction of whole numbers up to 2^20 that `element` is, if it is one.
  /// An unknown is taken for a fraction with probability 2^-20.
  static std::optional<double> toFraction(uint64_t element);

  /// A random function of `value` for each key: the finalizer of splitmix64,
  /// twice, on value and key.
  static uint64_t mix(uint64_t value, uint64_t key) {
    return reduce(scramble(scramble(value ^ scramble(key)) + key));
  }

  /// A fixed permutation of the 64-bit numbers without structure.
  static constexpr uint64_t scramble(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  /// The inverse of `scramble`.
  static constexpr uint64_t unscramble(uint64_t x) {
    x = unshift(x, 31) * invertOdd(0x94d049bb133111eb);
    x = unshift(x, 27) * invertOdd(0xbf58476d1ce4e5b9);
    return unshift(x, 30) - 0x9e3779b97f4a7c15;
  }

private:
  static constexpr uint64_t mask = (uint64_t(1) << 61) - 1;
  /// Of another type than elements, so that loops that write these need not
  /// read it again.
  static inline constinit thread_local uint32_t excess = excesses[0];

  /// The inverse of the function x ^ (x >> count).
  static constexpr uint64_t unshift(uint64_t x, unsigned count) {
    uint64_t result = x;
    for (unsigned done = count; done < 64; done += count)
      result = x ^ (result >> count);
    return result;
  }
  /// The inverse of an odd number modulo 2^64, by Newton's method.
  static constexpr uint64_t invertOdd(uint64_t x) {
    uint64_t inverse = x;
    for (int step = 0; step < 6; ++step)
      inverse *= 2 - x * inverse;
    return inverse;
  }
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_PRIMEFIELD_H
