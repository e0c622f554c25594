//===- StridesTest.cpp - tests of strides as PyTorch makes them -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Whole ops are compared with PyTorch in test/Analysis; here are the corners
// of the rules themselves. Expected strides of static cases are PyTorch's.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/SymbolicSize.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute::tp;

namespace {

class StridesTest : public testing::Test {
protected:
  static Size number(int64_t value) { return value; }
  Sizes sizes(ArrayRef<int64_t> values) {
    Sizes result;
    for (int64_t value : values)
      result.push_back(number(value));
    return result;
  }
  Strides strides(ArrayRef<int64_t> values) { return sizes(values); }
  StridedShape shape(ArrayRef<int64_t> sizeValues,
                     ArrayRef<int64_t> strideValues) {
    return {sizes(sizeValues), strides(strideValues)};
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  AffineExpr s0 = getAffineSymbolExpr(0, &context);
  AffineExpr s1 = getAffineSymbolExpr(1, &context);
};

TEST_F(StridesTest, ContiguousStrides) {
  EXPECT_EQ(getContiguousStrides(sizes({2, 3, 4})), strides({12, 4, 1}));
  EXPECT_EQ(getContiguousStrides({}), strides({}));
  // An empty dim counts as 1.
  EXPECT_EQ(getContiguousStrides(sizes({2, 0, 4})), strides({4, 4, 1}));
  EXPECT_EQ(getContiguousStrides({s0, s1, number(4)}),
            (Strides{{s1 * 4, number(4), number(1)}}));
  // Only the outermost size does not matter.
  EXPECT_EQ(getContiguousStrides({Size(), number(4)}), strides({4, 1}));
  EXPECT_EQ(getContiguousStrides({number(4), Size()}), std::nullopt);
  EXPECT_EQ(getContiguousStrides({Size()}), strides({1}));
  // Nor is anything told that cannot be counted.
  EXPECT_EQ(
      getContiguousStrides(sizes({1, int64_t(1) << 40, int64_t(1) << 40})),
      std::nullopt);
}

TEST_F(StridesTest, DensityOfStaticShapes) {
  EXPECT_EQ(getDensity(shape({2, 4}, {4, 1})), Density::Dense);
  EXPECT_EQ(getDensity(shape({2, 4}, {1, 2})), Density::Strided);
  EXPECT_EQ(getDensity(shape({2, 4}, {8, 1})), Density::Strided);
  EXPECT_EQ(getDensity(shape({2, 4}, {0, 1})), Density::Strided);
  EXPECT_EQ(getDensity({sizes({2, 4}), std::nullopt}), Density::Unknown);
}

TEST_F(StridesTest, DensityWhereStridesMeanNothing) {
  EXPECT_EQ(getDensity(shape({1, 4}, {77, 1})), Density::Dense);
  EXPECT_EQ(getDensity(shape({4, 1}, {1, 77})), Density::Dense);
  EXPECT_EQ(getDensity(shape({4, 0}, {3, 5})), Density::Dense);
  EXPECT_EQ(getDensity({sizes({4, 0}), std::nullopt}), Density::Dense);
  EXPECT_EQ(getDensity({{}, std::nullopt}), Density::Dense);
  EXPECT_EQ(getDensity(shape({1}, {0})), Density::Dense);
}

TEST_F(StridesTest, DensityOfSymbolicShapes) {
  EXPECT_EQ(getDensity({{s0, number(4)}, strides({4, 1})}), Density::Dense);
  EXPECT_EQ(getDensity({{s0, s1}, Strides{{s1, number(1)}}}), Density::Dense);
  // A symbolic size may be 1, so that no stride is certainly wrong.
  EXPECT_EQ(getDensity({{s0, number(4)}, strides({8, 1})}), Density::Unknown);
  EXPECT_EQ(getDensity({{s0, s1}, Strides{{number(1), s0}}}), Density::Unknown);
  EXPECT_EQ(getDensity({sizes({2, 4}), Strides{{s0, number(1)}}}),
            Density::Unknown);
}

TEST_F(StridesTest, DensityWithUnknownSizes) {
  EXPECT_EQ(getDensity({{Size(), number(4)}, strides({4, 1})}), Density::Dense);
  EXPECT_EQ(getDensity({{Size(), number(4)}, strides({8, 1})}),
            Density::Unknown);
  EXPECT_EQ(getDensity({{number(4), Size()}, strides({4, 1})}),
            Density::Unknown);
}

TEST_F(StridesTest, ElementwiseResultOfNoTensors) {
  EXPECT_EQ(getElementwiseStrides({}, sizes({2, 4})), strides({4, 1}));
  EXPECT_EQ(getElementwiseStrides({shape({}, {})}, sizes({2, 4})),
            strides({4, 1}));
  EXPECT_EQ(getElementwiseStrides({shape({}, {})}, {}), strides({}));
}

TEST_F(StridesTest, ElementwiseResultFollowsItsOperands) {
  EXPECT_EQ(getElementwiseStrides({shape({2, 4}, {1, 2})}, sizes({2, 4})),
            strides({1, 2}));
  EXPECT_EQ(getElementwiseStrides(
                {shape({2, 4}, {1, 2}), shape({2, 4}, {4, 1})}, sizes({2, 4})),
            strides({1, 2}));
  EXPECT_EQ(getElementwiseStrides(
                {shape({2, 4}, {4, 1}), shape({2, 4}, {1, 2})}, sizes({2, 4})),
            strides({4, 1}));
  // The operand that is repeated along a dim has no say about it.
  EXPECT_EQ(getElementwiseStrides({shape({4}, {1}), shape({2, 4}, {1, 2})},
                                  sizes({2, 4})),
            strides({1, 2}));
}

TEST_F(StridesTest, ElementwiseResultOfUnknownOperands) {
  StridedShape unknown{sizes({2, 4}), std::nullopt};
  EXPECT_EQ(getElementwiseStrides({unknown}, sizes({2, 4})), std::nullopt);
  EXPECT_EQ(
      getElementwiseStrides({shape({2, 4}, {4, 1}), unknown}, sizes({2, 4})),
      std::nullopt);
  EXPECT_EQ(getElementwiseStrides({shape({2, 4}, {4, 1})}, {number(2), Size()}),
            std::nullopt);
}

TEST_F(StridesTest, ElementwiseOrderThatSymbolsDecide) {
  Sizes symbolic{s0, s1};
  EXPECT_EQ(getElementwiseStrides({{symbolic, Strides{{s0, s1}}}}, symbolic),
            std::nullopt);
  // A product is at least as large as its factors.
  EXPECT_EQ(getElementwiseStrides(
                {{symbolic, Strides{{multiply(s0 * 2, s1), s1}}}}, symbolic),
            (Strides{{s1, number(1)}}));
}

TEST_F(StridesTest, PreservedStrides) {
  EXPECT_EQ(getPreservedStrides(shape({2, 4}, {1, 2})), strides({1, 2}));
  EXPECT_EQ(getPreservedStrides(shape({2, 3, 4}, {1, 8, 2})),
            strides({1, 8, 2}));
  // Gaps and overlaps go, the order of dims stays.
  EXPECT_EQ(getPreservedStrides(shape({4, 2}, {1, 8})), strides({1, 4}));
  EXPECT_EQ(getPreservedStrides(shape({4, 3}, {1, 0})), strides({3, 1}));
  EXPECT_EQ(getPreservedStrides({sizes({2, 4}), std::nullopt}), std::nullopt);
}

TEST_F(StridesTest, ReshapedStrides) {
  // A view that cuts, one that merges, and a copy.
  EXPECT_EQ(getReshapedStrides(shape({6, 4}, {1, 6}), sizes({2, 3, 4})),
            strides({3, 1, 6}));
  EXPECT_EQ(getReshapedStrides(shape({2, 3, 4}, {24, 8, 1}), sizes({6, 4})),
            strides({8, 1}));
  EXPECT_EQ(getReshapedStrides(shape({2, 4}, {1, 2}), sizes({8})),
            strides({1}));
  EXPECT_EQ(getReshapedStrides(shape({2, 4}, {1, 2}), sizes({2, 1, 4})),
            strides({1, 8, 2}));
  EXPECT_EQ(getReshapedStrides({sizes({2, 4}), std::nullopt}, sizes({8})),
            std::nullopt);
}

TEST_F(StridesTest, ReshapedSymbolicStrides) {
  StridedShape dense{{s0 * 8, number(4)}, strides({4, 1})};
  EXPECT_EQ(getReshapedStrides(dense, {s0, number(8), number(4)}),
            strides({32, 4, 1}));
  // View or copy: it cannot be told.
  StridedShape gaps{{s0 * 8, number(4)}, strides({8, 1})};
  EXPECT_EQ(getReshapedStrides(gaps, {s0 * 32}), std::nullopt);
  EXPECT_EQ(getReshapedStrides(gaps, {s0 * 8, number(2), number(2)}),
            strides({8, 2, 1}));
}

TEST_F(StridesTest, HugeSizesDoNotWrapAround) {
  // More elements than can be counted.
  int64_t huge = int64_t(1) << 40;
  EXPECT_EQ(getDensity(shape({huge, huge}, {1, huge})), Density::Strided);
  EXPECT_EQ(getPreservedStrides(shape({huge, huge}, {1, huge})),
            strides({1, huge}));
}

} // namespace
