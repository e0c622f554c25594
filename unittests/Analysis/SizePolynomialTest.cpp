//===- SizePolynomialTest.cpp - arithmetic on symbolic sizes --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Sizes/SizePolynomial.h"

#include "mlir/IR/MLIRContext.h"

#include "gtest/gtest.h"

using namespace mlir;
using commute::analysis::SizePolynomial;
using commute::tp::Size;

namespace {
class SizePolynomialTest : public ::testing::Test {
protected:
  MLIRContext context;
  AffineExpr s0 = getAffineSymbolExpr(0, &context);
  AffineExpr s1 = getAffineSymbolExpr(1, &context);
  SizePolynomial s = SizePolynomial::get(s0);
  SizePolynomial t = SizePolynomial::get(s1);
};
} // namespace

TEST_F(SizePolynomialTest, SpellingsAreEqual) {
  EXPECT_EQ(SizePolynomial::get((s0 + s1) * 2 - s0), s + t * 2);
  EXPECT_EQ((s + 1) * (s - 1), s * s - 1);
  EXPECT_NE(s, t);
  EXPECT_EQ(s - s, SizePolynomial(0));
  EXPECT_TRUE((s - s).isConstant(0));
  EXPECT_FALSE(s.getConstant());
}

TEST_F(SizePolynomialTest, ExactDivision) {
  EXPECT_EQ((s * t * 6).divideExactly(t * 2), s * 3);
  EXPECT_EQ((s * s + s * 3 + 2).divideExactly(s + 1), s + 2);
  EXPECT_EQ(SizePolynomial(12).divideExactly(4), SizePolynomial(3));
  EXPECT_EQ(SizePolynomial(0).divideExactly(s), SizePolynomial(0));
  EXPECT_FALSE((s * 3).divideExactly(2).isKnown());
  EXPECT_FALSE(s.divideExactly(t).isKnown());
  EXPECT_FALSE((s * s + 1).divideExactly(s + 1).isKnown());
  EXPECT_FALSE(s.divideExactly(0).isKnown());
}

TEST_F(SizePolynomialTest, Signs) {
  EXPECT_TRUE((s * t + 3).isNonNegative());
  EXPECT_TRUE(SizePolynomial(0).isNonNegative());
  EXPECT_FALSE((s - 1).isNonNegative());
  EXPECT_FALSE((t - s).isNonNegative());
}

TEST_F(SizePolynomialTest, QuotientsAreSymbols) {
  SizePolynomial half = SizePolynomial::get(s0.floorDiv(2));
  EXPECT_EQ((half * 4).divideExactly(half), SizePolynomial(4));
  EXPECT_NE(half * 2, s);
}

TEST_F(SizePolynomialTest, WhatCannotBeCountedIsNotKnown) {
  SizePolynomial large = SizePolynomial(INT64_MAX);
  EXPECT_FALSE((large + 1).isKnown());
  EXPECT_FALSE((large * 2).isKnown());
  EXPECT_FALSE((s * large * 2).isKnown());
  EXPECT_NE(large + 1, large + 1);
  EXPECT_FALSE(SizePolynomial::get(Size()).isKnown());
}

/// (a0 + b0) * (a1 + b1) * ... has 2^n terms.
TEST_F(SizePolynomialTest, ProductsOfManySumsAreSymbols) {
  AffineExpr product = getAffineConstantExpr(1, &context);
  for (unsigned index = 0; index < 40; ++index)
    product = product * (getAffineSymbolExpr(2 * index, &context) +
                         getAffineSymbolExpr(2 * index + 1, &context));
  SizePolynomial size = SizePolynomial::get(product);
  EXPECT_TRUE(size.isKnown());
  EXPECT_EQ((size * 2).divideExactly(size), SizePolynomial(2));
  EXPECT_EQ(SizePolynomial::get(product * 2), size * 2);
  EXPECT_NE(size, size + 1);
}

TEST_F(SizePolynomialTest, BackToSizes) {
  EXPECT_EQ((s * 2 + 1).getSize(), s0 * 2 + 1);
  EXPECT_EQ(SizePolynomial(7).getSize(), Size(7));
  EXPECT_EQ(SizePolynomial::get((s * t * 3 + t).getSize()), s * t * 3 + t);
}
