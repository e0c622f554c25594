//===- FloatAlgebraTest.cpp - the primitives, and how they fail -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SingleRank.h"

#include "commute/Runtime/FloatAlgebra.h"

#include "mlir/IR/Builders.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::runtime;
using namespace commute::test;
using mlir::failed;
using testing::ElementsAre;
using testing::HasSubstr;
using tp::AlgebraValue;

namespace {
class FloatAlgebraTest : public testing::Test {
protected:
  AlgebraValue floats(llvm::ArrayRef<int64_t> sizes,
                      llvm::ArrayRef<float> elements) {
    return makeTensor(sizes, f32, elements);
  }
  AlgebraValue integers(llvm::ArrayRef<int64_t> sizes,
                        llvm::ArrayRef<int64_t> elements) {
    return makeTensor(sizes, i64, elements);
  }
  static std::vector<float> get(const AlgebraValue &value) {
    return getElements<float>(asTensor(value));
  }
  std::string takeFailure() { return llvm::toString(algebra.takeFailure()); }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::Builder builder{&context};
  mlir::Type f32 = builder.getF32Type(), i64 = builder.getI64Type();
  SingleRank transport;
  SymbolTable symbols{{"s0", 3}};
  LocationPrinter describe = [](mlir::Location) { return "here"; };
  FloatAlgebra algebra{transport, symbols, describe};
};
} // namespace

TEST_F(FloatAlgebraTest, SizesFollowTheSymbols) {
  context.loadDialect<tp::TPDialect>();
  tp::SymbolSpace space(&context);
  mlir::AffineExpr s0 = space.getSymbol(builder.getStringAttr("s0")),
                   s1 = space.getSymbol(builder.getStringAttr("s1"));
  auto known = algebra.getSizes(space.getType(f32, {s0 * 2}, std::nullopt));
  ASSERT_FALSE(failed(known));
  EXPECT_THAT(*known, ElementsAre(6));
  EXPECT_TRUE(failed(algebra.getSizes(space.getType(f32, {s1}, std::nullopt))));
}

TEST_F(FloatAlgebraTest, ConstantsOfTruthAreOne) {
  AlgebraValue one =
      algebra.constant(builder.getBoolAttr(true), {2}, builder.getI64Type());
  EXPECT_THAT(getElements<int64_t>(asTensor(one)), ElementsAre(1, 1));
}

TEST_F(FloatAlgebraTest, IotaCountsInWholeNumbers) {
  AlgebraValue range = algebra.iota(builder.getI64IntegerAttr(-2),
                                    builder.getI64IntegerAttr(3), 3, f32);
  EXPECT_THAT(get(range), ElementsAre(-2, 1, 4));
}

TEST_F(FloatAlgebraTest, PositionsAreMoved) {
  AlgebraValue x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(get(algebra.permute(x, {1, 0})), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(get(algebra.slice(x, 1, 0, 2, 2)), ElementsAre(0, 2, 3, 5));
  EXPECT_THAT(get(algebra.broadcast(algebra.slice(x, 0, 1, 1, 1), {2, 3})),
              ElementsAre(3, 4, 5, 3, 4, 5));
  EXPECT_THAT(get(algebra.take(x, integers({1}, {-1}), 1,
                               /*wrapsNegative=*/true)),
              ElementsAre(2, 5));
  EXPECT_EQ(takeFailure(), "");
}

// Sizes depend on the inputs: what does not fit is an error and no crash.
TEST_F(FloatAlgebraTest, WhatDoesNotFitIsSaidOnce) {
  AlgebraValue x = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  algebra.slice(x, 1, 2, 1, 2);
  EXPECT_THAT(takeFailure(), HasSubstr("is out of range: dim 1"));
  EXPECT_EQ(takeFailure(), "");
  algebra.slice(x, 0, 1, std::numeric_limits<int64_t>::max(), 2);
  EXPECT_THAT(takeFailure(), HasSubstr("is out of range: dim 0"));
  algebra.reshape(x, {4});
  EXPECT_THAT(takeFailure(), HasSubstr("cannot be reshaped to"));
  algebra.broadcast(x, {2, 4});
  EXPECT_THAT(takeFailure(), HasSubstr("cannot be broadcast to [2, 4]"));
  algebra.map(tp::MapFunction::Add, {x, floats({2}, {1, 2})}, f32);
  EXPECT_THAT(takeFailure(), HasSubstr("do not match"));
  algebra.matmul(x, x, f32);
  EXPECT_THAT(takeFailure(), HasSubstr("cannot be multiplied"));
  algebra.concat({x, floats({2}, {1, 2})}, 0);
  EXPECT_THAT(takeFailure(), HasSubstr("cannot be concatenated"));
  algebra.take(x, integers({1}, {2}), 0, /*wrapsNegative=*/false);
  EXPECT_THAT(takeFailure(), HasSubstr("index 2 is out of range"));
  // The first of several.
  algebra.reshape(x, {4});
  algebra.broadcast(x, {2, 4});
  EXPECT_THAT(takeFailure(), HasSubstr("cannot be reshaped to"));
}

TEST_F(FloatAlgebraTest, UnchangedTypeIsTheSameTensor) {
  AlgebraValue x = floats({2}, {1, 2});
  EXPECT_EQ(algebra.cast(x, f32), x);
  EXPECT_NE(algebra.cast(x, i64), x);
}
