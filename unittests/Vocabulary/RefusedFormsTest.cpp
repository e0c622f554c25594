//===- RefusedFormsTest.cpp - known operators that stay opaque ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;

namespace {
class RefusedFormsTest : public testing::Test {
protected:
  Translator translator;
  Imported module;
};
} // namespace

TEST_F(RefusedFormsTest, FormsOfLossesAndScattersThatAreNotModelledAreOpaque) {
  auto build = [](const std::string &target,
                  const std::vector<std::string> &arguments,
                  const Tensor &result) {
    return ProgramBuilder()
        .input({"x", {4, 6}})
        .input({"w", {6}})
        .input({"t", {4}, i64})
        .input({"i", {4, 6}, i64})
        .node(target, arguments, {result})
        .output(result.name);
  };
  auto isOpaque = [&](const ProgramBuilder &builder) {
    module = translator.import(builder);
    return llvm::isa_and_present<tp::CallOp>(module.getOp("z"));
  };
  auto loss = [&](const std::vector<std::string> &more) {
    std::vector<std::string> arguments = {tensor("self", "x"),
                                          tensor("target", "t")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return build("aten.cross_entropy_loss.default", arguments, {"z", {}});
  };
  EXPECT_FALSE(isOpaque(loss({})));
  EXPECT_FALSE(isOpaque(loss({none("weight"), integer("reduction", 2)})));
  EXPECT_TRUE(isOpaque(loss({tensor("weight", "w")})));
  EXPECT_TRUE(isOpaque(loss({number("label_smoothing", "0.1")})));
  EXPECT_TRUE(isOpaque(loss({integer("reduction", 3)})));
  auto scatter = [&](const char *reduction) {
    return build("aten.scatter_reduce.two",
                 {tensor("self", "x"), integer("dim", 1), tensor("index", "i"),
                  tensor("src", "x"), text("reduce", reduction)},
                 {"z", {4, 6}});
  };
  EXPECT_FALSE(isOpaque(scatter("mean")));
  EXPECT_TRUE(isOpaque(scatter("amax")));
  EXPECT_TRUE(isOpaque(scatter("prod")));
}

TEST_F(RefusedFormsTest, StatedRanksThatDoNotFitAreOpaque) {
  auto isOpaque = [&](const std::string &target,
                      const std::vector<std::string> &arguments,
                      const std::vector<Size> &sizes) {
    module = translator.import(ProgramBuilder()
                                   .input({"x", {4, 6}})
                                   .input({"v", {6}})
                                   .input({"p", {4, 6}, boolean})
                                   .node(target, arguments, {{"z", sizes}})
                                   .output("z"));
    return llvm::isa_and_present<tp::CallOp>(module.getOp("z"));
  };
  std::vector<std::string> self = {tensor("self", "x")};
  EXPECT_FALSE(isOpaque("aten.glu.default", self, {4, 3}));
  EXPECT_TRUE(isOpaque("aten.glu.default", self, {1, 4, 3}));
  EXPECT_TRUE(isOpaque("aten.diagonal.default", self, {}));
  EXPECT_TRUE(isOpaque("aten.diag_embed.default", self, {4, 6}));
  EXPECT_TRUE(isOpaque("aten.diag_embed.default", self, {4, 7, 7}));
  EXPECT_TRUE(isOpaque("aten.reflection_pad1d.default",
                       {tensor("self", "x"), integers("padding", {1, 1})},
                       {8}));
  EXPECT_TRUE(isOpaque(
      "aten.masked_scatter.default",
      {tensor("self", "v"), tensor("mask", "p"), tensor("source", "v")}, {6}));
  EXPECT_TRUE(isOpaque("aten.matmul.default",
                       {tensor("self", "v"), tensor("other", "x")}, {}));
}
