//===- SymbolicSizeTest.cpp - tests of sizes as expressions ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/SymbolicSize.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <limits>

using namespace mlir;
using namespace commute::tp;
using testing::ElementsAre;

namespace {

constexpr int64_t largest = std::numeric_limits<int64_t>::max();

class SymbolicSizeTest : public testing::Test {
protected:
  SymbolicSizeTest() { context.loadDialect<TPDialect>(); }

  static Size number(int64_t value) { return value; }
  StringAttr name(StringRef text) { return StringAttr::get(&context, text); }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  AffineExpr s0 = getAffineSymbolExpr(0, &context);
  AffineExpr s1 = getAffineSymbolExpr(1, &context);
};

TEST_F(SymbolicSizeTest, MultiplyKeepsWhatIsNotKnown) {
  EXPECT_EQ(multiply(number(3), number(4)), number(12));
  EXPECT_EQ(multiply(s0, number(1)), s0);
  EXPECT_FALSE(multiply(s0, Size()));
  EXPECT_FALSE(multiply(Size(), number(0)));
  EXPECT_FALSE(multiply(number(largest), number(2)));
}

TEST_F(SymbolicSizeTest, AddKeepsWhatIsNotKnown) {
  EXPECT_EQ(add(number(3), number(4)), number(7));
  EXPECT_EQ(add(s0, number(0)), s0);
  EXPECT_EQ(add(number(1), s0), s0 + 1);
  EXPECT_FALSE(add(s0, Size()));
  EXPECT_FALSE(add(number(largest), number(1)));
}

TEST_F(SymbolicSizeTest, ConstantExpressionsAreNumbers) {
  EXPECT_EQ(Size(getAffineConstantExpr(7, &context)), number(7));
  EXPECT_EQ(number(7).getExpression(&context),
            getAffineConstantExpr(7, &context));
  EXPECT_FALSE(number(7).getSymbolic());
  EXPECT_EQ(Size(s0).getSymbolic(), s0);
  EXPECT_FALSE(Size(AffineExpr()));
  EXPECT_FALSE(Size().getExpression(&context));
}

TEST_F(SymbolicSizeTest, ConstantsAreToldFromSymbols) {
  EXPECT_EQ(getConstant(number(7)), 7);
  EXPECT_EQ(getConstant(s0), std::nullopt);
  EXPECT_EQ(getConstant(Size()), std::nullopt);
  EXPECT_TRUE(isConstant(s0 - s0, 0));
  EXPECT_FALSE(isConstant(Size(), 0));
}

TEST_F(SymbolicSizeTest, MonomialsAreProducts) {
  std::optional<Monomial> product = getMonomial(multiply(s1 * 6, s0));
  ASSERT_TRUE(product);
  EXPECT_EQ(product->coefficient, 6);
  EXPECT_THAT(product->symbols, ElementsAre(0u, 1u));
  std::optional<Monomial> square = getMonomial(multiply(s0, s0));
  ASSERT_TRUE(square);
  EXPECT_THAT(square->symbols, ElementsAre(0u, 0u));
  EXPECT_FALSE(getMonomial(s0 + 1));
  EXPECT_FALSE(getMonomial(s0 % 2));
  EXPECT_FALSE(getMonomial(Size()));
}

TEST_F(SymbolicSizeTest, DivideExactlyLeavesNoRemainder) {
  EXPECT_EQ(divideExactly(number(12), number(4)), number(3));
  EXPECT_EQ(divideExactly(s0 * 8, number(4)), s0 * 2);
  EXPECT_EQ(divideExactly(s0 * 8, s0), number(8));
  EXPECT_EQ(divideExactly(multiply(s0 * 8, s1), s1 * 2), s0 * 4);
  EXPECT_EQ(divideExactly(s0 + 1, s0 + 1), number(1));
  EXPECT_EQ(divideExactly(multiply(s0, s0), s0), s0);
}

TEST_F(SymbolicSizeTest, DivideExactlyRefusesWhatItCannotProve) {
  EXPECT_FALSE(divideExactly(number(12), number(5)));
  EXPECT_FALSE(divideExactly(s0 * 6, number(4)));
  EXPECT_FALSE(divideExactly(s0, s1));
  EXPECT_FALSE(divideExactly(s0, multiply(s0, s0)));
  EXPECT_FALSE(divideExactly(number(4), number(0)));
  // Divisible, but no product.
  EXPECT_FALSE(divideExactly(s0 * 2 + 2, number(2)));
  EXPECT_FALSE(divideExactly(Size(), number(2)));
}

TEST_F(SymbolicSizeTest, DifferentMeansCertainly) {
  EXPECT_TRUE(areDifferent(number(3), number(4)));
  EXPECT_FALSE(areDifferent(number(3), number(3)));
  EXPECT_TRUE(areDifferent(s0, s0 + 1));
  EXPECT_TRUE(areDifferent(s0 + 1, s0));
  EXPECT_TRUE(areDifferent(s0 * 2 + 2, s0 + s0));
  EXPECT_TRUE(areDifferent(multiply(s0, s1), add(multiply(s1, s0), 1)));
  EXPECT_FALSE(areDifferent(s0, s1));
  EXPECT_FALSE(areDifferent(s0, number(4)));
  EXPECT_FALSE(areDifferent(Size(), number(4)));
}

TEST_F(SymbolicSizeTest, EvaluatesAtTheValuesOfSymbols) {
  SmallVector<StringAttr> names{name("a"), name("b")};
  auto symbols = [](StringRef name) -> std::optional<int64_t> {
    return name == "a" ? std::optional<int64_t>(7) : std::nullopt;
  };
  EXPECT_EQ(evaluate(s0 * 2 + 1, names, symbols), 15);
  EXPECT_EQ(evaluate(s0.floorDiv(2), names, symbols), 3);
  EXPECT_EQ(evaluate(s0.ceilDiv(2), names, symbols), 4);
  EXPECT_EQ(evaluate(s0 % 4, names, symbols), 3);
  EXPECT_EQ(evaluate(s1, names, symbols), std::nullopt);
  EXPECT_EQ(evaluate(s0 + s1, names, symbols), std::nullopt);
  EXPECT_EQ(evaluate(s0, {}, symbols), std::nullopt);
  EXPECT_EQ(evaluate(Size(), names, symbols), std::nullopt);
}

TEST_F(SymbolicSizeTest, EvaluatingNeverWrapsAround) {
  SmallVector<StringAttr> names{name("big"), name("zero")};
  auto symbols = [](StringRef name) -> std::optional<int64_t> {
    return name == "big" ? largest : 0;
  };
  EXPECT_EQ(evaluate(s0 + 1, names, symbols), std::nullopt);
  EXPECT_EQ(evaluate(s0 * 2, names, symbols), std::nullopt);
  EXPECT_EQ(evaluate(s0.floorDiv(s1), names, symbols), std::nullopt);
  EXPECT_EQ(evaluate(s0 % s1, names, symbols), std::nullopt);
}

TEST_F(SymbolicSizeTest, PrintsWithTheNamesOfSymbols) {
  SmallVector<StringAttr> names{name("batch"), name("length")};
  auto print = [&](const Size &size) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printSize(os, size, names);
    return text;
  };
  EXPECT_EQ(print(multiply(s0, s1)), "batch * length");
  EXPECT_EQ(print((s0 + 1) * 2), "(batch + 1) * 2");
  EXPECT_EQ(print(s0 * 2 + 1), "batch * 2 + 1");
  EXPECT_EQ(print((s0 + 3).floorDiv(2)), "(batch + 3) floordiv 2");
  EXPECT_EQ(print(getAffineSymbolExpr(5, &context)), "s5");
  EXPECT_EQ(print(Size()), "?");
}

TEST_F(SymbolicSizeTest, SpaceGivesEqualNamesEqualSymbols) {
  SymbolSpace space(&context);
  EXPECT_EQ(space.getSymbol(name("x")), s0);
  EXPECT_EQ(space.getSymbol(name("y")), s1);
  EXPECT_EQ(space.getSymbol(name("x")), s0);
  EXPECT_THAT(space.getNames(), ElementsAre(name("x"), name("y")));
}

/// Tensor types of one element type through the spaces of sizes and strides.
class TypeTest : public SymbolicSizeTest {
protected:
  RankedTensorType getType(ArrayRef<Size> sizes, const Strides &strides) {
    return space.getType(builder.getF32Type(), sizes, strides);
  }
  static LayoutAttr getLayout(RankedTensorType type) {
    return dyn_cast_if_present<LayoutAttr>(type.getEncoding());
  }

  SymbolSpace space{&context};
  Builder builder{&context};
};

TEST_F(TypeTest, StaticDenseTensorHasNoEncoding) {
  RankedTensorType type =
      getType({number(2), number(4)}, Strides{{number(4), number(1)}});
  EXPECT_THAT(type.getShape(), ElementsAre(2, 4));
  EXPECT_FALSE(type.getEncoding());
}

TEST_F(TypeTest, StridesThatAreNotDenseAreKept) {
  Strides strides{{number(1), number(2)}};
  RankedTensorType type = getType({number(2), number(4)}, strides);
  LayoutAttr layout = getLayout(type);
  ASSERT_TRUE(layout);
  EXPECT_TRUE(layout.getSizes().empty());
  EXPECT_EQ(space.getStrides(type), strides);
}

TEST_F(TypeTest, UnknownStridesStayUnknown) {
  RankedTensorType type = getType({number(2), number(4)}, std::nullopt);
  ASSERT_TRUE(getLayout(type));
  EXPECT_FALSE(getLayout(type).getKnowsStrides());
  EXPECT_EQ(space.getStrides(type), std::nullopt);
}

TEST_F(TypeTest, SymbolsAreNumberedByFirstAppearance) {
  AffineExpr x = space.getSymbol(name("x"));
  AffineExpr y = space.getSymbol(name("y"));
  RankedTensorType type = getType({y * 2, x}, Strides{{x, number(1)}});
  EXPECT_THAT(type.getShape(),
              ElementsAre(ShapedType::kDynamic, ShapedType::kDynamic));
  LayoutAttr layout = getLayout(type);
  ASSERT_TRUE(layout);
  EXPECT_THAT(layout.getSymbols(), ElementsAre(name("y"), name("x")));
  // Dense strides are left out; both come back in the space's numbering.
  EXPECT_TRUE(layout.getStrides().empty());
  EXPECT_THAT(space.getSizes(type), ElementsAre(y * 2, x));
  EXPECT_EQ(space.getStrides(type), (Strides{{x, number(1)}}));
}

TEST_F(TypeTest, NothingIsSaidOfATensorOfUnknownSize) {
  RankedTensorType type =
      getType({Size(), number(4)}, Strides{{number(1), number(1)}});
  EXPECT_THAT(type.getShape(), ElementsAre(ShapedType::kDynamic, 4));
  EXPECT_FALSE(type.getEncoding());
  EXPECT_EQ(space.getStrides(type), std::nullopt);
}

TEST_F(TypeTest, OneElementIsCertain) {
  AffineExpr x = space.getSymbol(name("x"));
  EXPECT_TRUE(hasOneElement(getType({}, std::nullopt)));
  EXPECT_TRUE(hasOneElement(getType({number(1), number(1)}, std::nullopt)));
  EXPECT_FALSE(hasOneElement(getType({number(1), number(2)}, std::nullopt)));
  EXPECT_FALSE(hasOneElement(getType({number(0)}, std::nullopt)));
  EXPECT_FALSE(hasOneElement(getType({x, number(1)}, std::nullopt)));
  EXPECT_FALSE(hasOneElement(getType({Size(), number(1)}, std::nullopt)));
}

TEST_F(TypeTest, CountsElements) {
  AffineExpr x = space.getSymbol(name("x"));
  RankedTensorType type = getType({x * 2, number(8)}, std::nullopt);
  auto five = [](StringRef) -> std::optional<int64_t> { return 5; };
  auto nothing = [](StringRef) -> std::optional<int64_t> {
    return std::nullopt;
  };
  auto huge = [](StringRef) -> std::optional<int64_t> { return largest / 4; };
  EXPECT_EQ(evaluateSize(type, 0, five), 10);
  EXPECT_EQ(evaluateSize(type, 1, nothing), 8);
  EXPECT_EQ(evaluateNumElements(type, five), 80);
  EXPECT_EQ(evaluateNumElements(type, nothing), std::nullopt);
  EXPECT_EQ(evaluateNumElements(type, huge), std::nullopt);
  EXPECT_EQ(
      evaluateNumElements(getType({}, Strides{Strides::value_type()}), nothing),
      1);
}

} // namespace
