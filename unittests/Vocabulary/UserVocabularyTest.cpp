//===- UserVocabularyTest.cpp - operators that users state ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramBuilder.h"

#include "commute/Dialect/TPDialect.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::test;
using testing::HasSubstr;

static constexpr llvm::StringLiteral rmsNorm =
    R"({"version": 1, "operators": {"torch.ops.mylib.norm.default": {)"
    R"("same_as": "torch.ops.tensor_cast.rms_norm.default", )"
    R"("arguments": {"x": "input", "weight": "gamma"}}}})";

/// A program of one norm of x with the weight w, written as users do.
static ProgramBuilder getNorm(const std::vector<std::string> &arguments) {
  return ProgramBuilder()
      .input({"x", {4, 8}})
      .parameter({"w", {8}}, "norm.w")
      .node("mylib.norm.default", arguments, {{"y", {4, 8}}})
      .output("y");
}

TEST(UserVocabulary, OperatorIsReadLikeTheKnownOne) {
  Translator translator;
  llvm::Error error =
      translator.vocabulary.addUserVocabulary(rmsNorm, "v.json");
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  // eps has the same name in both.
  Imported imported = translator.import(getNorm(
      {tensor("input", "x"), tensor("gamma", "w"), number("eps", "1e-06")}));
  auto norm = llvm::dyn_cast_if_present<tp::RmsNormOp>(imported.getOp("y"));
  ASSERT_TRUE(norm);
  EXPECT_EQ(norm.getEpsilon()->convertToDouble(), 1e-6);
  auto edits = translator.exportEdits(imported);
  ASSERT_TRUE(bool(edits)) << llvm::toString(edits.takeError());
  EXPECT_TRUE(edits->changesNothing(*imported.program));
}

TEST(UserVocabulary, FormsThatDoNotFitStayOpaque) {
  Translator translator;
  cantFail(translator.vocabulary.addUserVocabulary(rmsNorm, "v.json"));
  Imported imported = translator.import(
      ProgramBuilder()
          .input({"x", {4, 8}})
          .node("mylib.norm.default", {tensor("input", "x")}, {{"y", {4, 8}}})
          .output("y"));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(imported.getOp("y")));
}

TEST(UserVocabulary, ArgumentsThatTheKnownOperatorDoesNotHaveStayOpaque) {
  Translator translator;
  cantFail(translator.vocabulary.addUserVocabulary(rmsNorm, "v.json"));
  Imported imported = translator.import(
      getNorm({tensor("input", "x"), tensor("gamma", "w"),
               number("eps", "1e-06"), truth("centers", true)}));
  EXPECT_TRUE(llvm::isa_and_present<tp::CallOp>(imported.getOp("y")));
}

namespace {
/// What a changed op is written as: the last node but for its metadata.
archive::Node writeChanged(llvm::StringRef vocabulary,
                           const ProgramBuilder &builder,
                           llvm::function_ref<void(mlir::Operation *)> change,
                           std::unique_ptr<archive::Program> &again) {
  Translator translator;
  cantFail(translator.vocabulary.addUserVocabulary(vocabulary, "v.json"));
  Imported imported = translator.import(builder);
  change(imported.getOp("y"));
  again = cantFail(archive::parseProgram(translator.exportText(imported), "t"));
  return again->graph.nodes.back();
}
} // namespace

static void changeEpsilon(mlir::Operation *op) {
  llvm::cast<tp::RmsNormOp>(op).setEpsilon(llvm::APFloat(1e-3));
}

TEST(UserVocabulary, ChangedOperatorIsWrittenInItsOwnSpelling) {
  // Its schema takes the weight first.
  std::unique_ptr<archive::Program> again;
  archive::Node node =
      writeChanged(rmsNorm,
                   getNorm({tensor("gamma", "w"), tensor("input", "x"),
                            number("eps", "1e-06")}),
                   changeEpsilon, again);
  EXPECT_EQ(node.target, "torch.ops.mylib.norm.default");
  ASSERT_EQ(node.inputs.size(), 3u);
  EXPECT_EQ(node.inputs[0].name, "gamma");
  EXPECT_EQ(node.inputs[0].value.text, "w");
  EXPECT_EQ(node.inputs[1].name, "input");
  EXPECT_EQ(node.inputs[1].value.text, "x");
  EXPECT_EQ(node.inputs[2].name, "eps");
  EXPECT_EQ(node.inputs[2].value.real, 1e-3);
}

TEST(UserVocabulary, ArgumentThatIsNoneStaysNone) {
  // None is passed again: the schema need not have it as the default.
  std::unique_ptr<archive::Program> again;
  archive::Node node =
      writeChanged(rmsNorm,
                   getNorm({tensor("input", "x"), none("residual"),
                            tensor("gamma", "w"), number("eps", "1e-06")}),
                   changeEpsilon, again);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(node.inputs[1].name, "residual");
  EXPECT_EQ(node.inputs[1].value.tag, archive::ArgumentTag::None);
  EXPECT_EQ(node.inputs[2].name, "gamma");
  EXPECT_EQ(node.inputs[2].kind, archive::ArgumentKind::Positional);
}

TEST(UserVocabulary, OtherKnownOperatorsAreWrittenInTheUsersSpellingToo) {
  std::unique_ptr<archive::Program> again;
  archive::Node node = writeChanged(
      R"({"version": 1, "operators": {"torch.ops.mylib.times.Tensor": {)"
      R"("same_as": "torch.ops.aten.mul.Tensor", )"
      R"("arguments": {"self": "a", "other": "b"}}}})",
      ProgramBuilder()
          .input({"x", {4, 8}})
          .input({"z", {4, 8}})
          .node("mylib.times.Tensor", {tensor("a", "x"), tensor("b", "x")},
                {{"y", {4, 8}}})
          .output("y"),
      [](mlir::Operation *op) {
        op->setAttr("tp.changed", mlir::UnitAttr::get(op->getContext()));
        op->setOperand(1, op->getBlock()->getArgument(1));
      },
      again);
  EXPECT_EQ(node.target, "torch.ops.mylib.times.Tensor");
  EXPECT_EQ(node.inputs[0].name, "a");
  EXPECT_EQ(node.inputs[1].name, "b");
  EXPECT_EQ(node.inputs[1].value.text, "z");
}

TEST(UserVocabulary, Errors) {
  auto getError = [](llvm::StringRef text) {
    vocabulary::Vocabulary vocabulary;
    llvm::Error error = vocabulary.addUserVocabulary(text, "v.json");
    EXPECT_TRUE(bool(error)) << "is accepted: " << text.str();
    std::string message = llvm::toString(std::move(error));
    EXPECT_THAT(message, testing::StartsWith("v.json: "));
    return message;
  };
  EXPECT_THAT(getError("{"), HasSubstr("line 1"));
  EXPECT_THAT(getError("[]"), HasSubstr("a vocabulary file must be an object"));
  EXPECT_THAT(getError("{}"), HasSubstr("\"version\" is missing or not 1"));
  EXPECT_THAT(getError(R"({"version": 3})"), HasSubstr("not 1"));
  EXPECT_THAT(getError(R"({"version": 1})"),
              HasSubstr("\"operators\" is missing or not an object"));
  EXPECT_THAT(getError(R"({"version": 1, "operators": []})"),
              HasSubstr("\"operators\" is missing or not an object"));
  auto getOperatorError = [&](llvm::StringRef target, llvm::StringRef entry) {
    return getError(
        (R"({"version": 1, "operators": {")" + target + R"(": )" + entry + "}}")
            .str());
  };
  EXPECT_THAT(
      getOperatorError("torch.ops.m.f.default", "1"),
      HasSubstr("operator \"torch.ops.m.f.default\" must be an object"));
  EXPECT_THAT(getOperatorError("torch.ops.m.f.default", "{}"),
              HasSubstr("lacks \"same_as\""));
  EXPECT_THAT(
      getOperatorError("torch.ops.m.f.default", R"({"same_as": "aten.add"})"),
      HasSubstr("which no built-in vocabulary contains"));
  EXPECT_THAT(getOperatorError("torch.ops.aten.relu.default",
                               R"({"same_as": "torch.ops.aten.neg.default"})"),
              HasSubstr("is built in and cannot be redefined"));
  EXPECT_THAT(getOperatorError("torch.ops.m.f.default",
                               R"({"same_as": "torch.ops.aten.neg.default", )"
                               R"("arguments": []})"),
              HasSubstr("\"arguments\" must be an object"));
  EXPECT_THAT(getOperatorError("torch.ops.m.f.default",
                               R"({"same_as": "torch.ops.aten.neg.default", )"
                               R"("arguments": {"self": 1}})"),
              HasSubstr("argument \"self\" must be a string"));
}
