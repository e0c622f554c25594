//===- SymbolicSizesTest.cpp --------------------------------------*- C++
//-*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Sizes/SymbolicSizes.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Kind = tp::SizeAssumption::Kind;

namespace {
tp::SizeAssumption parse(llvm::StringRef text) {
  llvm::Expected<tp::SizeAssumption> result = tp::parseSizeAssumption(text);
  if (result)
    return *result;
  ADD_FAILURE() << llvm::toString(result.takeError());
  return {};
}

class SymbolicSizesTest : public testing::Test {
protected:
  SymbolicSizesTest() : module(ModuleOp::create(UnknownLoc::get(&context))) {
    context.loadDialect<tp::TPDialect>();
    for (llvm::StringRef name : {"s0", "s1"})
      names.push_back(StringAttr::get(&context, name));
    s0 = getAffineSymbolExpr(0, &context);
    s1 = getAffineSymbolExpr(1, &context);
  }

  llvm::Expected<SymbolicSizes> resolve(ArrayRef<StringRef> assumptions) {
    Builder builder(&context);
    (*module)->setAttr(tp::TPDialect::assumptionsAttrName,
                       builder.getStrArrayAttr(assumptions));
    return SymbolicSizes::resolve(*module);
  }
  Divisibility ask(ArrayRef<StringRef> assumptions, const tp::Size &size,
                   int64_t divisor) {
    llvm::Expected<SymbolicSizes> sizes = resolve(assumptions);
    if (sizes)
      return sizes->isDivisible(size, names, divisor);
    ADD_FAILURE() << llvm::toString(sizes.takeError());
    return {};
  }
  int64_t getExample(ArrayRef<StringRef> assumptions, int64_t atCapture) {
    Builder builder(&context);
    (*module)->setAttr(tp::TPDialect::symbolHintsAttrName,
                       builder.getDictionaryAttr(builder.getNamedAttr(
                           "s0", builder.getI64IntegerAttr(atCapture))));
    llvm::Expected<SymbolicSizes> sizes = resolve(assumptions);
    if (sizes)
      return sizes->getExample("s0");
    ADD_FAILURE() << llvm::toString(sizes.takeError());
    return 0;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  SmallVector<StringAttr> names;
  AffineExpr s0, s1;
};
} // namespace

TEST(SizeAssumption, Forms) {
  tp::SizeAssumption multiple = parse(" s1*s0 % 8 == 0 ");
  EXPECT_EQ(multiple.kind, Kind::MultipleOf);
  EXPECT_THAT(multiple.symbols, ElementsAre("s0", "s1"));
  EXPECT_EQ(multiple.number, 8);
  EXPECT_EQ(multiple.text, "s1*s0 % 8 == 0");
  EXPECT_EQ(parse("s0 == 4096").kind, Kind::Equal);
  EXPECT_EQ(parse("s0 == 4096").number, 4096);
  EXPECT_EQ(parse("s0>=16").kind, Kind::AtLeast);
  EXPECT_EQ(parse("s0>16").number, 17);
  EXPECT_EQ(parse("s0 <= 16").kind, Kind::AtMost);
  EXPECT_EQ(parse("s0 < 16").number, 15);
}

TEST(SizeAssumption, WhatIsNone) {
  for (llvm::StringRef text : {"",
                               "s0",
                               "s0 = 8",
                               "== 8",
                               "s0 ==",
                               "s0 === 8",
                               "s0 % 8 == 1",
                               "s0 % 0 == 0",
                               "s0 % s1 == 0",
                               "s0 % 8 >= 0",
                               "8 == s0",
                               "s0 == s1",
                               "s0 + 1 == 8",
                               "s0 * s1 == 8",
                               "s0 >= -1",
                               "s0 < 0",
                               "s0 ! 8",
                               "s0 == 99999999999999999999",
                               "s0 == 562949953421312",
                               "0x8 == 8",
                               "s0 % 8 == 0; s1 == 1",
                               "s0 % 8 == 0 == 0",
                               "* % 8 == 0",
                               "s0 <> 8"}) {
    llvm::Expected<tp::SizeAssumption> result = tp::parseSizeAssumption(text);
    ASSERT_FALSE(bool(result)) << text.str();
    EXPECT_THAT(llvm::toString(result.takeError()),
                HasSubstr("is not an assumption about sizes; expected"));
  }
}

TEST_F(SymbolicSizesTest, WhatNeedsNoAssumption) {
  EXPECT_EQ(ask({}, s0 * 8, 4).answer, Divisibility::Proved);
  EXPECT_EQ(ask({}, s0 * 8 + 12, 4).answer, Divisibility::Proved);
  EXPECT_EQ(ask({}, (s0 * 16).floorDiv(4), 4).answer, Divisibility::Proved);
  EXPECT_EQ(ask({}, tp::multiply(s0 * 2, s1 * 2), 4).answer,
            Divisibility::Proved);
  EXPECT_EQ(ask({}, 8, 4).answer, Divisibility::Proved);
  EXPECT_EQ(ask({}, 6, 4).answer, Divisibility::Refuted);
  EXPECT_EQ(ask({}, s0, 1).answer, Divisibility::Proved);
  EXPECT_EQ(ask({}, s0, 2).answer, Divisibility::Unknown);
  EXPECT_EQ(ask({}, s0 * 8 + 2, 4).answer, Divisibility::Unknown);
  EXPECT_EQ(ask({}, (s0 * 6).floorDiv(4), 2).answer, Divisibility::Unknown);
  EXPECT_EQ(ask({}, {}, 2).answer, Divisibility::Unknown);
}

TEST_F(SymbolicSizesTest, AssumptionsThatAreNeededAreNamed) {
  Divisibility one = ask({"s1 % 4 == 0", "s0 % 8 == 0", "s0 >= 16"}, s0, 4);
  EXPECT_EQ(one.answer, Divisibility::Assumed);
  EXPECT_THAT(one.assumptions, ElementsAre("s0 % 8 == 0"));
  Divisibility both =
      ask({"s1 % 4 == 0", "s0 % 2 == 0"}, tp::multiply(s0, s1), 8);
  EXPECT_TRUE(both.holds());
  EXPECT_THAT(both.assumptions, ElementsAre("s1 % 4 == 0", "s0 % 2 == 0"));
  Divisibility proved = ask({"s0 % 8 == 0"}, s0 * 8, 8);
  EXPECT_EQ(proved.answer, Divisibility::Proved);
  EXPECT_THAT(proved.assumptions, IsEmpty());
  EXPECT_EQ(ask({"s0 % 4 == 0", "s0 % 6 == 0"}, s0, 12).assumptions.size(), 2u);
  EXPECT_EQ(ask({"s0 == 24"}, s0 + 8, 8).answer, Divisibility::Assumed);
  // Of a product nothing follows for its factors.
  EXPECT_TRUE(ask({"s0 * s1 % 8 == 0"}, tp::multiply(s0, s1), 8).holds());
  EXPECT_FALSE(ask({"s0 * s1 % 8 == 0"}, s0, 2).holds());
  EXPECT_FALSE(
      ask({"s0 * s1 % 8 == 0", "s0 % 2 == 0"}, tp::multiply(s0, s1), 16)
          .holds());
  // Bounds say nothing of divisors.
  EXPECT_FALSE(ask({"s0 >= 8"}, s0, 2).holds());
}

TEST_F(SymbolicSizesTest, ExamplesFulfilAssumptions) {
  EXPECT_EQ(getExample({}, 7), 7);
  EXPECT_EQ(getExample({"s0 % 8 == 0"}, 7), 8);
  EXPECT_EQ(getExample({"s0 % 4 == 0", "s0 % 6 == 0"}, 13), 24);
  EXPECT_EQ(getExample({"s0 >= 16"}, 7), 16);
  EXPECT_EQ(getExample({"s0 < 6", "s0 % 2 == 0"}, 7), 2);
  EXPECT_EQ(getExample({"s0 == 5"}, 7), 5);
}

TEST_F(SymbolicSizesTest, ContradictionsAreRefused) {
  for (const std::vector<StringRef> &assumptions :
       {std::vector<StringRef>{"s0 == 5", "s0 % 2 == 0"},
        {"s0 == 5", "s0 == 6"},
        {"s0 >= 5", "s0 < 5"},
        {"s0 > 8", "s0 < 16", "s0 % 8 == 0"}}) {
    llvm::Expected<SymbolicSizes> sizes = resolve(assumptions);
    ASSERT_FALSE(bool(sizes));
    EXPECT_THAT(llvm::toString(sizes.takeError()),
                HasSubstr("no value of s0 satisfies all assumptions about it"));
  }
  llvm::Expected<SymbolicSizes> illFormed = resolve({"s0"});
  ASSERT_FALSE(bool(illFormed));
  EXPECT_THAT(llvm::toString(illFormed.takeError()), HasSubstr("; expected "));
}
