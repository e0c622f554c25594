//===- PiecewiseAffineTest.cpp - sequences against their elements ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PiecewiseAffine.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace commute::equivalence;
using commute::tp::MapFunction;

namespace {

using Numbers = std::vector<int64_t>;

Numbers getNumbers(const PiecewiseAffine &sequence) {
  Numbers numbers;
  for (int64_t index = 0; index < sequence.getSize(); ++index)
    numbers.push_back(sequence.at(index));
  return numbers;
}

/// Pieces of random lengths, some of one element, on random lines.
PiecewiseAffine makeRandom(std::mt19937 &random, int64_t size, bool isTruth) {
  auto draw = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  std::vector<PiecewiseAffine> parts;
  for (int64_t left = size; left > 0;) {
    int64_t length = std::min(left, draw(0, 2) == 0 ? 1 : draw(1, 7));
    parts.push_back(isTruth ? *PiecewiseAffine::get(length, draw(0, 1))
                            : *PiecewiseAffine::get(length, draw(-9, 9),
                                                    draw(0, 1) * draw(-3, 3)));
    left -= length;
  }
  return *PiecewiseAffine::concat(parts);
}

int64_t divideFloor(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t compute(MapFunction function, const Numbers &x) {
  int64_t a = x.front(), b = x.back();
  switch (function) {
  case MapFunction::Add:
    return a + b;
  case MapFunction::Sub:
    return a - b;
  case MapFunction::Mul:
    return a * b;
  case MapFunction::Neg:
    return -a;
  case MapFunction::Maximum:
    return std::max(a, b);
  case MapFunction::Minimum:
    return std::min(a, b);
  case MapFunction::Relu:
    return std::max<int64_t>(a, 0);
  case MapFunction::Abs:
    return std::abs(a);
  case MapFunction::Sign:
    return (a > 0) - (a < 0);
  case MapFunction::FloorDiv:
    return divideFloor(a, b);
  case MapFunction::Remainder:
    return a - b * divideFloor(a, b);
  case MapFunction::Select:
    return a ? x[1] : b;
  case MapFunction::Equal:
    return a == b;
  case MapFunction::NotEqual:
    return a != b;
  case MapFunction::Less:
    return a < b;
  case MapFunction::LessEqual:
    return a <= b;
  case MapFunction::Greater:
    return a > b;
  case MapFunction::GreaterEqual:
    return a >= b;
  case MapFunction::LogicalAnd:
  case MapFunction::BitwiseAnd:
    return a && b;
  case MapFunction::LogicalOr:
  case MapFunction::BitwiseOr:
    return a || b;
  case MapFunction::BitwiseXor:
    return a != b;
  case MapFunction::LogicalNot:
  case MapFunction::BitwiseNot:
    return !a;
  default:
    ADD_FAILURE() << "no such function in this test";
    return 0;
  }
}

} // namespace

TEST(PiecewiseAffineTest, NeighboursOnOneLineAreOnePiece) {
  // [-1, 0, 1, 2, ...], as the positions before each position are computed.
  auto before = PiecewiseAffine::concat(
      {*PiecewiseAffine::get(1, -1), *PiecewiseAffine::get(100, 0, 1)});
  ASSERT_TRUE(before);
  EXPECT_TRUE(before->isAffine());
  EXPECT_EQ(before->at(100), 99);
  // Not if another number comes first.
  auto other = PiecewiseAffine::concat(
      {*PiecewiseAffine::get(1, 5), *PiecewiseAffine::get(100, 0, 1)});
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->isAffine());
  EXPECT_EQ(other->at(0), 5);
  EXPECT_EQ(other->at(1), 0);
}

TEST(PiecewiseAffineTest, FunctionsAgreeWithThoseOfElements) {
  std::mt19937 random(1);
  const MapFunction ofNumbers[] = {
      MapFunction::Add,       MapFunction::Sub,     MapFunction::Mul,
      MapFunction::Neg,       MapFunction::Maximum, MapFunction::Minimum,
      MapFunction::Relu,      MapFunction::Abs,     MapFunction::Sign,
      MapFunction::FloorDiv,  MapFunction::Select,  MapFunction::Remainder,
      MapFunction::Equal,     MapFunction::Less,    MapFunction::NotEqual,
      MapFunction::LessEqual, MapFunction::Greater, MapFunction::GreaterEqual,
  };
  const MapFunction ofTruths[] = {
      MapFunction::LogicalAnd, MapFunction::BitwiseAnd, MapFunction::LogicalOr,
      MapFunction::BitwiseOr,  MapFunction::BitwiseXor, MapFunction::LogicalNot,
      MapFunction::BitwiseNot, MapFunction::Equal,      MapFunction::Less,
  };
  unsigned numKnown = 0;
  for (int round = 0; round < 4000; ++round) {
    bool areTruths = round % 3 == 0;
    MapFunction function = areTruths
                               ? ofTruths[random() % std::size(ofTruths)]
                               : ofNumbers[random() % std::size(ofNumbers)];
    int64_t size = 1 + random() % 24;
    std::vector<PiecewiseAffine> operands;
    for (unsigned index = 0; index < commute::tp::MapOp::getArity(function);
         ++index)
      operands.push_back(makeRandom(
          random, size,
          areTruths || (function == MapFunction::Select && index == 0)));
    if (function == MapFunction::FloorDiv || function == MapFunction::Remainder)
      operands[1] = *PiecewiseAffine::get(size, 1 + random() % 4);
    auto result = PiecewiseAffine::map(function, operands, areTruths);
    // Products of positions are squares.
    if (!result) {
      EXPECT_EQ(function, MapFunction::Mul);
      continue;
    }
    ++numKnown;
    Numbers expected;
    for (int64_t index = 0; index < size; ++index) {
      Numbers elements;
      for (const PiecewiseAffine &operand : operands)
        elements.push_back(operand.at(index));
      expected.push_back(compute(function, elements));
    }
    EXPECT_EQ(getNumbers(*result), expected)
        << "function " << static_cast<int>(function) << ", round " << round;
  }
  EXPECT_GT(numKnown, 3000u);
}

TEST(PiecewiseAffineTest, MovingAndAddingElements) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    int64_t size = 1 + random() % 24;
    PiecewiseAffine table = makeRandom(random, size, false);
    Numbers numbers = getNumbers(table);
    auto [low, high] = table.getRange();
    EXPECT_EQ(low, *std::min_element(numbers.begin(), numbers.end()));
    EXPECT_EQ(high, *std::max_element(numbers.begin(), numbers.end()));
    EXPECT_EQ(table.getSum(),
              std::accumulate(numbers.begin(), numbers.end(), int64_t(0)));
    auto sums = table.getPrefixSums();
    ASSERT_TRUE(sums);
    Numbers expected(numbers);
    std::partial_sum(numbers.begin(), numbers.end(), expected.begin());
    EXPECT_EQ(getNumbers(*sums), expected);

    int64_t step = 1 + random() % 3, start = random() % size;
    int64_t count = 1 + random() % ((size - start + step - 1) / step);
    auto part = table.slice(start, step, count);
    ASSERT_TRUE(part);
    expected.clear();
    for (int64_t index = 0; index < count; ++index)
      expected.push_back(numbers[start + index * step]);
    EXPECT_EQ(getNumbers(*part), expected);

    PiecewiseAffine indices = makeRandom(random, 1 + random() % 24, false);
    auto modulus = PiecewiseAffine::get(indices.getSize(), size);
    auto inside = PiecewiseAffine::map(MapFunction::Remainder,
                                       {indices, *modulus}, false);
    ASSERT_TRUE(inside);
    auto taken = table.take(*inside);
    ASSERT_TRUE(taken);
    expected.clear();
    for (int64_t index : getNumbers(*inside))
      expected.push_back(numbers[index]);
    EXPECT_EQ(getNumbers(*taken), expected);
  }
}

TEST(PiecewiseAffineTest, WhatIsNotKnown) {
  PiecewiseAffine positions = *PiecewiseAffine::get(1000, 0, 1);
  // Squares, and sums of positions.
  EXPECT_FALSE(
      PiecewiseAffine::map(MapFunction::Mul, {positions, positions}, false));
  EXPECT_FALSE(positions.getPrefixSums());
  EXPECT_EQ(positions.getSum(), 499500);
  // Indices outside.
  EXPECT_FALSE(positions.take(*PiecewiseAffine::get(3, 998, 1)));
  EXPECT_FALSE(positions.take(*PiecewiseAffine::get(3, -1, 1)));
  EXPECT_TRUE(positions.take(*PiecewiseAffine::get(3, 997, 1)));
  // Too many pieces.
  auto two = PiecewiseAffine::get(1000, 2);
  EXPECT_FALSE(
      PiecewiseAffine::map(MapFunction::Remainder, {positions, *two}, false));
  // Numbers that do not fit.
  EXPECT_FALSE(PiecewiseAffine::get(3, int64_t(1) << 62));
  auto large = PiecewiseAffine::get(1000, (int64_t(1) << 62) - 1);
  ASSERT_TRUE(large);
  EXPECT_FALSE(PiecewiseAffine::map(MapFunction::Add, {*large, *large}, false));
  EXPECT_FALSE(PiecewiseAffine::map(MapFunction::Mul, {*large, *large}, false));
  EXPECT_FALSE(large->getPrefixSums());
  EXPECT_FALSE(large->getSum());
}
