//===- ProgramInputsTest.cpp - what the ranks are given -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SingleRank.h"

#include "commute/Runtime/ProgramInputs.h"

#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::runtime;
using namespace commute::test;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class ProgramInputsTest : public testing::Test {
protected:
  ProgramInputsTest() {
    context.loadDialect<tp::TPDialect, mlir::func::FuncDialect>();
  }
  /// An op that reads an input: what nobody reads is not made.
  static std::string read(llvm::StringRef name, llvm::StringRef type) {
    return (name + "_read = tp.map neg(" + name + ") : (" + type + ") -> " +
            type + "\n")
        .str();
  }
  llvm::Expected<ProgramInputs> create(llvm::StringRef arguments,
                                       uint64_t seed = 0,
                                       llvm::StringRef body = "") {
    std::string source =
        ("module attributes {tp.groups = [#tp.group<\"0\", [0, 1]>], "
         "tp.symbol_hints = {s0 = 4}} { func.func @main(" +
         arguments + ") { " + body + " return } }")
            .str();
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    InputSources sources;
    sources.seed = seed;
    return ProgramInputs::create(*module->getOps<mlir::func::FuncOp>().begin(),
                                 std::move(sources));
  }
  std::vector<float> get(const ProgramInputs &inputs, unsigned argument,
                         int64_t rank) {
    llvm::Expected<TensorValue> value = inputs.get(argument, rank);
    EXPECT_TRUE(bool(value)) << llvm::toString(value.takeError());
    return getElements<float>(**value);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
};
} // namespace

TEST_F(ProgramInputsTest, RandomInputsRespectPlacements) {
  auto inputs = llvm::cantFail(create(
      R"(
    %a: tensor<8xf32> {tp.name = "a", tp.placements = {"0" = #tp.placement<replicated>}},
    %b: tensor<8xf32> {tp.name = "b", tp.placements = {"0" = #tp.placement<varying>}})",
      /*seed=*/0, read("%a", "tensor<8xf32>") + read("%b", "tensor<8xf32>")));
  EXPECT_EQ(get(inputs, 0, 0), get(inputs, 0, 1));
  EXPECT_NE(get(inputs, 1, 0), get(inputs, 1, 1));
  EXPECT_NE(get(inputs, 0, 0), get(inputs, 1, 0));
  EXPECT_THAT(inputs.getWorld(), ElementsAre(0, 1));
}

TEST_F(ProgramInputsTest, SeedDecidesTheValues) {
  constexpr llvm::StringLiteral argument =
      "%a: tensor<8xf32> {tp.name = \"a\"}";
  std::string body = read("%a", "tensor<8xf32>");
  auto first = llvm::cantFail(create(argument, 1, body));
  std::vector<float> values = get(first, 0, 0);
  EXPECT_EQ(get(llvm::cantFail(create(argument, 1, body)), 0, 0), values);
  EXPECT_NE(get(llvm::cantFail(create(argument, 2, body)), 0, 0), values);
}

TEST_F(ProgramInputsTest, UnplacedInputsAreAssumedAndSaidToBe) {
  auto inputs = llvm::cantFail(create("%a: tensor<8xf32> {tp.name = \"a\"}",
                                      /*seed=*/0, read("%a", "tensor<8xf32>")));
  ASSERT_EQ(inputs.getAssumptions().size(), 1u);
  EXPECT_THAT(inputs.getAssumptions()[0], HasSubstr("'a'"));
}

TEST_F(ProgramInputsTest, SymbolsHaveTheirValuesAtCapture) {
  auto inputs = llvm::cantFail(
      create("%a: tensor<?xf32, #tp.layout<[s0] sizes "
             "= [s0 * 2]>> {tp.name = \"a\"}",
             /*seed=*/0,
             read("%a", "tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 2]>>")));
  EXPECT_EQ(inputs.getSymbols().at("s0"), 4);
  EXPECT_EQ(get(inputs, 0, 0).size(), 8u);
}

TEST_F(ProgramInputsTest, IndicesLieWithinTheirTable) {
  auto inputs = llvm::cantFail(create(
      R"(%t: tensor<3x2xf32> {tp.name = "t"}, %i: tensor<200xi64> {tp.name = "i"})",
      /*seed=*/0,
      "%r = tp.take %t, %i dim 0 : (tensor<3x2xf32>, tensor<200xi64>) -> "
      "tensor<200x2xf32>"));
  TensorValue indices = llvm::cantFail(inputs.get(1, 0));
  std::vector<int64_t> values = getElements<int64_t>(*indices);
  EXPECT_THAT(values, Each(testing::AllOf(testing::Ge(0), testing::Lt(3))));
  // All of them occur.
  EXPECT_THAT(values, testing::Contains(2));
}

TEST_F(ProgramInputsTest, WhatIsNoTensorOrIsNotReadIsNull) {
  auto inputs = llvm::cantFail(create(
      R"(%n: index {tp.name = "n"}, %u: tensor<2xf32> {tp.name = "u"})"));
  EXPECT_EQ(llvm::cantFail(inputs.get(1, 0)), nullptr);
  EXPECT_EQ(llvm::cantFail(inputs.get(0, 0)), nullptr);
}
