//===- PrimeFieldTest.cpp - arithmetic modulo a prime ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/PrimeField.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>
#include <set>
#include <vector>

using F = commute::equivalence::PrimeField;
using Wide = unsigned __int128;

namespace {

const uint64_t p = F::getPrime();

/// Elements at the edges, and some random ones.
std::vector<uint64_t> getElements() {
  std::vector<uint64_t> elements = {
      0,           1,           2,
      3,           p - 1,       p - 2,
      (p - 1) / 2, (p + 1) / 2, F::reduce(uint64_t(1) << 60)};
  for (uint64_t index = 0; index < 8; ++index)
    elements.push_back(F::mix(index, 7));
  return elements;
}

/// The remainder by division, which reduction by shifts must equal.
uint64_t getRemainder(Wide value) { return static_cast<uint64_t>(value % p); }

TEST(PrimeFieldTest, UnscrambleInvertsScramble) {
  uint64_t value = 1;
  for (int step = 0; step < 1000; ++step) {
    EXPECT_EQ(F::unscramble(F::scramble(value)), value);
    value = value * 6364136223846793005 + 1442695040888963407;
  }
  EXPECT_EQ(F::unscramble(F::scramble(0)), 0u);
}

TEST(PrimeFieldTest, ReducesAnyNumber) {
  for (uint64_t value : {uint64_t(0), p - 1, p, p + 1, 2 * p - 1, 2 * p,
                         2 * p + 1, 7 * p, 8 * p, ~uint64_t(0)})
    EXPECT_EQ(F::reduce(value), value % p) << value;
}

TEST(PrimeFieldTest, ReducesAnyWideNumber) {
  Wide one = 1;
  Wide square = static_cast<Wide>(p) * p;
  std::vector<Wide> values = {0,
                              p - 1,
                              p,
                              p + 1,
                              one << 61,
                              (one << 61) + 1,
                              one << 64,
                              one << 122,
                              (one << 122) - 1,
                              (one << 127) - 1,
                              one << 127,
                              ~Wide(0),
                              ~Wide(0) - 1,
                              square,
                              square - 1,
                              square + p,
                              static_cast<Wide>(p - 1) * (p - 1),
                              static_cast<Wide>(p - 1) * (p - 1) * 32,
                              ~Wide(0) / p * p,
                              ~Wide(0) / p * p - 1};
  // Around every multiple of p that the folds may produce.
  for (int shift = 0; shift < 67; ++shift)
    for (int offset = -2; offset <= 2; ++offset)
      values.push_back(static_cast<Wide>(p) * (one << shift) + offset);
  for (Wide value : values)
    EXPECT_EQ(F::reduceWide(value), getRemainder(value))
        << static_cast<uint64_t>(value >> 64) << " "
        << static_cast<uint64_t>(value);
}

TEST(PrimeFieldTest, IsARing) {
  for (uint64_t a : getElements())
    for (uint64_t b : getElements()) {
      EXPECT_EQ(F::add(a, b), getRemainder(static_cast<Wide>(a) + b));
      EXPECT_EQ(F::multiply(a, b), getRemainder(static_cast<Wide>(a) * b));
      EXPECT_EQ(F::add(F::subtract(a, b), b), a);
      EXPECT_EQ(F::multiply(F::negate(a), b), F::negate(F::multiply(a, b)));
      for (uint64_t c : getElements())
        EXPECT_EQ(F::multiply(a, F::add(b, c)),
                  F::add(F::multiply(a, b), F::multiply(a, c)));
    }
}

TEST(PrimeFieldTest, InvertsAllButZero) {
  for (uint64_t a : getElements())
    EXPECT_EQ(F::multiply(a, F::invert(a)), a == 0 ? 0u : 1u) << a;
  EXPECT_EQ(F::invert(0), 0u);
}

TEST(PrimeFieldTest, HasPowers) {
  EXPECT_EQ(F::power(0, 0), 1u);
  EXPECT_EQ(F::power(3, 5), 243u);
  EXPECT_EQ(F::power(2, 61), F::getExcess());
  for (uint64_t a : getElements())
    EXPECT_EQ(F::power(a, p), a) << "Fermat's little theorem, " << a;
}

TEST(PrimeFieldTest, HasOneModulusOfSeveralAtATime) {
  std::set<uint64_t> moduli;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    F::Modulus modulus(seed);
    uint64_t prime = F::getPrime();
    if (!moduli.insert(prime).second)
      continue;
    EXPECT_EQ(prime + F::getExcess(), uint64_t(1) << 61);
    // Fermat's test, to bases for which none of these numbers passes by chance.
    for (uint64_t base : {2, 3, 5, 7, 11, 13})
      EXPECT_EQ(F::power(base, prime - 1), 1u) << prime;
    for (uint64_t divisor : {3, 5, 7, 11, 13, 17, 19, 23})
      EXPECT_NE(prime % divisor, 0u) << prime;
    // Elements of one modulus are none of another.
    uint64_t half = F::invert(2), scaled = F::power(2, 61);
    uint64_t pi = F::fromDouble(3.14159265358979312);
    F::Modulus other(seed + 1);
    if (F::getPrime() != prime) {
      EXPECT_NE(F::invert(2), half);
      EXPECT_NE(F::power(2, 61), scaled);
      EXPECT_NE(F::fromDouble(3.14159265358979312), pi);
    }
  }
  EXPECT_EQ(moduli.size(), std::size(F::excesses));
  EXPECT_EQ(F::getPrime(), p) << "the modulus before the first seed";
}

TEST(PrimeFieldTest, MapsIntegers) {
  EXPECT_EQ(F::fromInteger(0), 0u);
  EXPECT_EQ(F::fromInteger(5), 5u);
  EXPECT_EQ(F::fromInteger(-1), p - 1);
  for (int64_t value : {std::numeric_limits<int64_t>::max(),
                        std::numeric_limits<int64_t>::min(), int64_t(-7)}) {
    __int128 remainder = static_cast<__int128>(value) % p;
    EXPECT_EQ(F::fromInteger(value),
              static_cast<uint64_t>(remainder < 0 ? remainder + p : remainder));
  }
}

TEST(PrimeFieldTest, MapsSmallFractionsExactly) {
  EXPECT_EQ(F::fromDouble(0.0), 0u);
  EXPECT_EQ(F::fromDouble(-0.0), 0u);
  EXPECT_EQ(F::fromDouble(1.0), 1u);
  EXPECT_EQ(F::fromDouble(-1.0), p - 1);
  EXPECT_EQ(F::fromDouble(4096.0), 4096u);
  EXPECT_EQ(F::fromDouble(0.5), F::invert(2));
  EXPECT_EQ(F::fromDouble(-0.375), F::negate(F::multiply(3, F::invert(8))));
  // The double nearest to a fraction stands for it.
  EXPECT_EQ(F::fromDouble(0.1), F::invert(10));
  EXPECT_EQ(F::fromDouble(1.0 / 768), F::invert(768));
  EXPECT_EQ(F::fromDouble(-2.0 / 3), F::negate(F::multiply(2, F::invert(3))));
  EXPECT_EQ(F::fromDouble(0x1p26), uint64_t(1) << 26);
}

TEST(PrimeFieldTest, FindsSmallFractions) {
  for (double value : {0.0, 1.0, -1.0, 0.1, -1e-5, -1.0 / 768, 2.0 / 3, -4095.0,
                       1048576.0, 1 / 1048576.0})
    EXPECT_EQ(F::toFraction(F::fromDouble(value)), value) << value;
  // Sums of constants, which are no constants themselves.
  EXPECT_EQ(F::toFraction(F::subtract(F::fromDouble(0.1), F::fromDouble(0.6))),
            -0.5);
  for (double value : {3.141592653589793, 1e30, -1e-9})
    EXPECT_FALSE(F::toFraction(F::fromDouble(value))) << value;
  for (uint64_t element = 0; element < 1000; ++element)
    EXPECT_FALSE(F::toFraction(F::mix(element, 1))) << element;
}

TEST(PrimeFieldTest, SumsFractionsAsIfWithoutRounding) {
  EXPECT_EQ(F::add(F::fromDouble(0.1), F::fromDouble(0.2)), F::fromDouble(0.3));
  EXPECT_EQ(F::add(F::fromDouble(0.25), F::fromDouble(0.5)),
            F::fromDouble(0.75));
  EXPECT_EQ(F::multiply(F::fromDouble(1.5), F::fromDouble(-2.5)),
            F::fromDouble(-3.75));
}

TEST(PrimeFieldTest, TakesDecimalsForWhatTheySay) {
  auto getPower = [](uint64_t exponent) { return F::power(10, exponent); };
  EXPECT_EQ(F::fromDouble(5e-7), F::multiply(5, F::invert(getPower(7))));
  EXPECT_EQ(F::add(F::fromDouble(5e-7), F::fromDouble(5e-7)),
            F::fromDouble(1e-6));
  EXPECT_EQ(F::fromDouble(1.23456789e-12),
            F::multiply(123456789, F::invert(getPower(20))));
  EXPECT_EQ(F::fromDouble(-1e9), F::negate(getPower(9)));
  EXPECT_EQ(F::multiply(F::fromDouble(1e-30), F::fromDouble(1e30)), 1u);
  EXPECT_EQ(F::fromDouble(1 / 3e9), F::invert(3 * getPower(9)));
  EXPECT_EQ(F::fromDouble(9007199254740991), 9007199254740991u);
  EXPECT_EQ(F::fromDouble(0x1p-40), F::invert(uint64_t(1) << 40));
  // Neighbours are other numbers.
  double neighbour = std::nextafter(5e-7, 1);
  EXPECT_NE(F::fromDouble(neighbour), F::fromDouble(5e-7));
}

TEST(PrimeFieldTest, OtherDoublesAreUnknowns) {
  double infinity = std::numeric_limits<double>::infinity();
  // Powers of two are 1, and (2^61 - 1) is 0, modulo the Mersenne prime.
  std::vector<double> values = {0x1p61,
                                0x1p-61,
                                0x1p61 - 256,
                                0x1p27,
                                3.14159265358979312,
                                -3.4e38,
                                1e300,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::denorm_min(),
                                infinity,
                                std::numeric_limits<double>::quiet_NaN()};
  std::set<uint64_t> images = {0, 1, p - 1, F::getExcess()};
  for (double value : values)
    EXPECT_TRUE(images.insert(F::fromDouble(value)).second) << value;
  for (double value : {0x1p61, 3.14159265358979312, infinity})
    EXPECT_EQ(F::fromDouble(-value), F::negate(F::fromDouble(value)));
}

TEST(PrimeFieldTest, MixesByValueAndKey) {
  std::set<uint64_t> images;
  for (uint64_t key = 0; key < 32; ++key)
    for (uint64_t value = 0; value < 32; ++value) {
      uint64_t image = F::mix(value, key);
      EXPECT_LT(image, p);
      EXPECT_EQ(image, F::mix(value, key));
      images.insert(image);
    }
  EXPECT_EQ(images.size(), 32u * 32u);
}

TEST(PrimeFieldTest, InversesOfRootsAreRootsOfInverses) {
  for (double number : {2.0, 3.0, 8.0, 80.0, 96.0, 7.0, 5.0 / 3, 61.0}) {
    uint64_t root = F::fromDouble(std::sqrt(number));
    // The quotient is rounded.
    EXPECT_EQ(F::invert(root), F::fromDouble(1 / std::sqrt(number))) << number;
    EXPECT_EQ(F::negate(root), F::fromDouble(-std::sqrt(number))) << number;
  }
  EXPECT_EQ(F::fromDouble(std::sqrt(8.0)),
            F::multiply(2, F::fromDouble(std::sqrt(2.0))));
}

TEST(PrimeFieldTest, NumbersBesideRootsAreUnknown) {
  for (double root : {std::sqrt(2.0), 1 / std::sqrt(8.0), std::sqrt(61.0)})
    for (double factor : {1 + 1e-14, 1 - 1e-12, 1 + 1e-7})
      EXPECT_NE(F::fromDouble(root * factor), F::fromDouble(root))
          << root << " * " << factor;
}

} // namespace
