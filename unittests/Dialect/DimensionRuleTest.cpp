//===- DimensionRuleTest.cpp - tests of dimension rules -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The rules of all ops are in test/Analysis; here is the rule itself.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/DimensionRule.h"

#include "commute/Dialect/TPDialect.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute::tp;

static std::string print(const DimensionRule &rule) {
  std::string text;
  llvm::raw_string_ostream os(text);
  rule.print(os);
  return text;
}

TEST(DimensionRuleTest, PrintsFactorsByLetters) {
  DimensionRule rule;
  rule.factors = {{Factor::Kind::Parallel, 8, {}},
                  {Factor::Kind::Parallel, ShapedType::kDynamic, {}},
                  {Factor::Kind::Reduction, 2, ReductionKind::Max},
                  {Factor::Kind::Whole, 3, {}}};
  rule.operands = {{{0}, {2}}, {{2}, {1}, {}}};
  rule.results = {{{0, 1}, {3}}};
  EXPECT_EQ(print(rule), "([i, k], [k, j, 1]) -> ([i.j, l]) "
                         "{i=8, j=?, k=2, l=3} reduction={k: max} whole={l}");
}

TEST(DimensionRuleTest, PrintsManyFactors) {
  DimensionRule rule;
  rule.results.emplace_back();
  for (unsigned index = 0; index < 20; ++index) {
    rule.factors.push_back({Factor::Kind::Parallel, 1, {}});
    rule.results[0].push_back({index});
  }
  EXPECT_NE(print(rule).find("y, z, f18, f19]"), std::string::npos)
      << print(rule);
}

TEST(DimensionRuleTest, PrintsTheEmptyRule) {
  EXPECT_EQ(print(DimensionRule()), "() -> () {}");
}

TEST(DimensionRuleTest, MajorFactorIsWhatAShardCuts) {
  DimensionRule::TensorFactors tensor = {{2, 1}, {}, {0}};
  EXPECT_EQ(DimensionRule::getMajorFactor(tensor, 0), 2u);
  EXPECT_EQ(DimensionRule::getMajorFactor(tensor, 1), std::nullopt);
  EXPECT_EQ(DimensionRule::getMajorFactor(tensor, 2), 0u);
  EXPECT_EQ(DimensionRule::getMajorFactor(tensor, 3), std::nullopt);
}

TEST(DimensionRuleTest, UnitIsTheGreatestCommonDivisor) {
  EXPECT_EQ(getUnitSize({8, 12, 20}), 4);
  EXPECT_EQ(getUnitSize({8, 0}), 8);
  EXPECT_EQ(getUnitSize({}), 0);
  EXPECT_EQ(getUnitSize({8, ShapedType::kDynamic}), ShapedType::kDynamic);
}
