//===- SharedValuesTest.cpp - what both programs compute alike ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Verify.h"

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {

class SharedValuesTest : public testing::Test {
protected:
  SharedValuesTest() : context(MLIRContext::Threading::DISABLED) {
    context.loadDialect<func::FuncDialect, tp::TPDialect>();
  }

  /// Compares functions of two inputs, of which all ranks have the first.
  VerifyResult compare(StringRef first, StringRef second,
                       bool evaluatesShared) {
    auto parse = [&](StringRef body) {
      std::string text = (R"mlir(
        !t = tensor<4x6xf32>
        module attributes {tp.groups = [#tp.group<"0", [0, 1]>]} {
        func.func @main(
            %x: !t {tp.placements = {"0" = #tp.placement<replicated>}},
            %y: !t {tp.placements = {"0" = #tp.placement<varying>}}
          ) -> (!t, !t) {
      )mlir" + body + "}}")
                             .str();
      OwningOpRef<ModuleOp> module =
          parseSourceString<ModuleOp>(text, &context);
      EXPECT_TRUE(module) << text;
      return module;
    };
    OwningOpRef<ModuleOp> a = parse(first), b = parse(second);
    VerifyOptions options;
    options.evaluatesShared = evaluatesShared;
    llvm::Expected<VerifyResult> result = verifyEquivalence(*a, *b, options);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return std::move(*result);
  }

  MLIRContext context;
};

/// A program that computes some values and then one of its own of them:
/// "add(%2, %2) : (!t, !t)".
std::string withOwn(StringRef computation) {
  auto [call, types] = computation.split(" : ");
  return (R"mlir(
    %0 = tp.map exp(%x) {tp.names = ["a"]} : (!t) -> !t
    %1 = tp.map sin(%0) {tp.names = ["b"]} : (!t) -> !t
    %2 = tp.map add(%1, %1) {tp.names = ["c"]} : (!t, !t) -> !t
    %two = tp.constant 2.0 : f64 -> tensor<f64>
    %3 = tp.map mul(%1, %two) {tp.names = ["d"]} : (!t, tensor<f64>) -> !t
    %4 = tp.map )mlir" +
          call + " {tp.names = [\"e\"]} : " + types + R"mlir( -> !t
    return %4, %3 : !t, !t
  )mlir")
      .str();
}

TEST_F(SharedValuesTest, ThatMayBeAnythingAreNotEvaluated) {
  std::string first = withOwn("add(%2, %2) : (!t, !t)");
  std::string second = withOwn("mul(%2, %two) : (!t, tensor<f64>)");
  VerifyResult all = compare(first, second, /*evaluatesShared=*/true);
  VerifyResult some = compare(first, second, /*evaluatesShared=*/false);
  EXPECT_TRUE(all.isEquivalent());
  EXPECT_TRUE(some.isEquivalent());
  EXPECT_LT(some.numEvaluatedOps, all.numEvaluatedOps);
}

TEST_F(SharedValuesTest, OnWhichTheProofDependsAreEvaluated) {
  // Twice a value is its sum with itself.
  std::string first = withOwn("add(%2, %2) : (!t, !t)");
  std::string second = withOwn("add(%2, %3) : (!t, !t)");
  EXPECT_TRUE(compare(first, second, true).isEquivalent());
  EXPECT_TRUE(compare(first, second, false).isEquivalent());
}

TEST_F(SharedValuesTest, DifferencesAreFound) {
  std::string first = withOwn("add(%2, %2) : (!t, !t)");
  std::string second = withOwn("add(%2, %1) : (!t, !t)");
  EXPECT_FALSE(compare(first, second, true).differences.empty());
  EXPECT_FALSE(compare(first, second, false).differences.empty());
}

/// A value that is cut and gathered again is the same if all ranks have it.
std::string gatherParts(StringRef value) {
  return ("%h = tp.rank_slice %" + value +
          R"mlir( slice_axis 0 group <"0", [0, 1]> : !t -> tensor<2x6xf32>
    %g = tp.all_gather %h gather_axis 0 group <"0", [0, 1]> : tensor<2x6xf32> -> !t
    return %g, %g : !t, !t
  )mlir")
      .str();
}

TEST_F(SharedValuesTest, RanksWithEqualOperandsHaveEqualValues) {
  std::string ofAll = R"mlir(
    %0 = tp.map exp(%x) {tp.names = ["a"]} : (!t) -> !t
    %1 = tp.map sin(%0) {tp.names = ["b"]} : (!t) -> !t
  )mlir";
  std::string whole = "return %1, %1 : !t, !t\n";
  VerifyResult same = compare(ofAll + whole, ofAll + gatherParts("1"), false);
  EXPECT_TRUE(same.isEquivalent());
  VerifyResult all = compare(ofAll + whole, ofAll + gatherParts("1"), true);
  EXPECT_LT(same.numEvaluatedOps, all.numEvaluatedOps);

  std::string ofEach = R"mlir(
    %0 = tp.map exp(%y) {tp.names = ["a"]} : (!t) -> !t
    %1 = tp.map mul(%0, %x) {tp.names = ["b"]} : (!t, !t) -> !t
  )mlir";
  VerifyResult other =
      compare(ofEach + whole, ofEach + gatherParts("1"), false);
  EXPECT_FALSE(other.differences.empty());
}

} // namespace
