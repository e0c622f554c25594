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

  /// The numbers e of the moduli: primes at random places between 2^61 - 2^20
  /// and 2^61 - 2^19, each one above a multiple of four, so that -1 has a root
  /// (ComplexParts).
  static constexpr uint32_t excesses[] = {
      527863, 543955, 584035, 630003, 635995,  646455,  671031,  675115,
      710839, 734955, 751591, 771615, 776319,  776703,  820455,  835555,
      838443, 856023, 856051, 886903, 887319,  895131,  909711,  936759,
      982939, 984759, 987211, 989791, 1014943, 1017451, 1022671, 1041303};

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
    // The part above 61 bits has 67, then 26, then at most 1 bit.
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

  static uint64_t fromInteger(int64_t value) {
    return value >= 0 ? reduce(static_cast<uint64_t>(value))
                      : negate(reduce(~static_cast<uint64_t>(value) + 1));
  }
  /// A double is the number that a program means by it, so that sums and
  /// products of constants are exact: itself, if it is an integer up to 2^53 or
  /// has at most 26 bits between 2^60 and 2^-60; the decimal number of at most
  /// nine digits that it is nearest to, such as 5e-7; or the fraction that it
  /// is nearest to with a numerator up to 2^26 and a denominator up to 2^20, or
  /// both with a product up to 2^40, such as 1/768. The square root of a small
  /// fraction, but for the rounding of the root and of a quotient, is a
  /// rational multiple of an unknown for the root of a square-free number;
  /// below one, it is the inverse of such a multiple, so that a division by
  /// sqrt(d) is a multiplication by 1 / sqrt(d). Every other double
  /// (-3.4028235e38, 2^61, pi) is an unknown keyed by its value: its products
  /// equal no number that occurs elsewhere.
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
