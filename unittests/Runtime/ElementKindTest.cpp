//===- ElementKindTest.cpp - tests of conversions ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Runtime/ElementKind.h"

#include "llvm/ADT/APFloat.h"

#include "gtest/gtest.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

using namespace commute::runtime;

namespace {
struct NarrowFloat {
  ElementKind kind;
  const llvm::fltSemantics &semantics;
  unsigned width;
};

class NarrowFloatTest : public testing::TestWithParam<NarrowFloat> {
protected:
  float load(uint32_t bits) const {
    float value = 0;
    loadElements(GetParam().kind, &bits, 1, &value);
    return value;
  }
  uint32_t store(float value) const {
    uint32_t bits = 0;
    storeElements(GetParam().kind, &value, 1, &bits);
    return bits;
  }
  llvm::APFloat decode(uint32_t bits) const {
    return llvm::APFloat(GetParam().semantics,
                         llvm::APInt(GetParam().width, bits));
  }
  uint32_t encode(float value) const {
    llvm::APFloat number(value);
    bool losesInfo = false;
    number.convert(GetParam().semantics, llvm::APFloat::rmNearestTiesToEven,
                   &losesInfo);
    return number.bitcastToAPInt().getZExtValue();
  }
};
} // namespace

TEST_P(NarrowFloatTest, EveryValueIsReadAndWrittenBack) {
  for (uint32_t bits = 0; bits < 1u << GetParam().width; ++bits) {
    llvm::APFloat expected = decode(bits);
    float value = load(bits);
    if (expected.isNaN()) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(decode(store(value)).isNaN()) << bits;
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(value),
              std::bit_cast<uint32_t>(expected.convertToFloat()))
        << bits;
    EXPECT_EQ(store(value), bits);
  }
}

TEST_P(NarrowFloatTest, NumbersAreRoundedToNearestTiesToEven) {
  auto check = [&](float value) {
    if (!std::isnan(value)) {
      EXPECT_EQ(store(value), encode(value)) << value;
    }
  };
  // Every value, the middle between it and the next, and both sides of that.
  for (uint32_t bits = 0; bits + 1 < 1u << GetParam().width; ++bits) {
    float value = load(bits), next = load(bits + 1);
    if (!std::isfinite(value) || !std::isfinite(next))
      continue;
    float middle = value + (next - value) / 2;
    check(middle);
    check(std::nextafter(middle, value));
    check(std::nextafter(middle, next));
  }
  std::mt19937 random(1);
  for (int count = 0; count < 100000; ++count)
    check(std::bit_cast<float>(uint32_t(random())));
}

INSTANTIATE_TEST_SUITE_P(
    All, NarrowFloatTest,
    testing::Values(
        NarrowFloat{ElementKind::F16, llvm::APFloat::IEEEhalf(), 16},
        NarrowFloat{ElementKind::BF16, llvm::APFloat::BFloat(), 16},
        NarrowFloat{ElementKind::F8E4M3FN, llvm::APFloat::Float8E4M3FN(), 8},
        NarrowFloat{ElementKind::F8E5M2, llvm::APFloat::Float8E5M2(), 8},
        NarrowFloat{ElementKind::F8E4M3FNUZ, llvm::APFloat::Float8E4M3FNUZ(),
                    8},
        NarrowFloat{ElementKind::F8E5M2FNUZ, llvm::APFloat::Float8E5M2FNUZ(),
                    8}));

TEST(ElementKindTest, IntegersWrapAndTruthIsNotZero) {
  int64_t numbers[] = {300, -1, 0, 256};
  int8_t narrow[4];
  storeElements(ElementKind::I8, numbers, 4, narrow);
  EXPECT_EQ(narrow[0], 44);
  EXPECT_EQ(narrow[1], -1);
  uint8_t truths[4];
  storeElements(ElementKind::Bool, numbers, 4, truths);
  EXPECT_EQ(std::vector<uint8_t>(truths, truths + 4),
            (std::vector<uint8_t>{1, 1, 0, 1}));
}

TEST(ElementKindTest, FloatsThatNoIntegerIsAreDefined) {
  float numbers[] = {std::numeric_limits<float>::quiet_NaN(), 1e30f, -1e30f,
                     -2.9f};
  int64_t result[4];
  storeElements(ElementKind::I64, numbers, 4, result);
  EXPECT_EQ(result[0], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(result[1], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(result[2], std::numeric_limits<int64_t>::min());
  EXPECT_EQ(result[3], -2);
}

TEST(ElementKindTest, UnsignedNumbersHaveTheirWholeRange) {
  constexpr uint64_t half = uint64_t(1) << 63;
  uint64_t numbers[] = {half, ~uint64_t(0), half + 2048};
  double wide[3];
  loadElements(ElementKind::U64, numbers, 3, wide);
  EXPECT_EQ(wide[0], 0x1p63);
  EXPECT_EQ(wide[1], 0x1p64);
  EXPECT_EQ(wide[2], 0x1p63 + 2048);
  float narrow[3];
  storeElements(ElementKind::F32, numbers, 3, narrow);
  EXPECT_EQ(narrow[0], 0x1p63f);
  EXPECT_EQ(narrow[1], 0x1p64f);
}

TEST(ElementKindTest, FloatsBecomeUnsignedAsInPyTorch) {
  double numbers[] = {0x1p63, 1.8e19, -1,
                      3.5,    1e30,   std::numeric_limits<double>::quiet_NaN()};
  uint64_t result[6];
  storeElements(ElementKind::U64, numbers, 6, result);
  EXPECT_EQ(std::vector<uint64_t>(result, result + 6),
            (std::vector<uint64_t>{uint64_t(1) << 63, 18000000000000000000u,
                                   ~uint64_t(0), 3, 0, uint64_t(1) << 63}));
}
