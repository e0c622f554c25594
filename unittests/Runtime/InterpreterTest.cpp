//===- InterpreterTest.cpp - programs on one rank -------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SingleRank.h"

#include "commute/Runtime/Interpreter.h"

#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace commute;
using namespace commute::runtime;
using namespace commute::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<tp::TPDialect, mlir::func::FuncDialect>();
  }
  llvm::Expected<RunnableProgram> create(llvm::StringRef source) {
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    return RunnableProgram::create(
        *module->getOps<mlir::func::FuncOp>().begin(),
        [](mlir::Location location) {
          auto name = llvm::dyn_cast<mlir::NameLoc>(location);
          return name ? name.getName().str() : std::string("somewhere");
        });
  }
  std::string getCreationError(llvm::StringRef source) {
    llvm::Expected<RunnableProgram> program = create(source);
    return program ? "" : llvm::toString(program.takeError());
  }
  llvm::Expected<std::vector<TensorValue>>
  run(llvm::StringRef source, std::vector<TensorValue> inputs,
      const SymbolTable &symbols = {}) {
    llvm::Expected<RunnableProgram> program = create(source);
    if (!program)
      return program.takeError();
    return program->run(std::move(inputs), symbols, transport);
  }
  std::string getRunError(llvm::StringRef source,
                          std::vector<TensorValue> inputs,
                          const SymbolTable &symbols = {}) {
    auto outputs = run(source, std::move(inputs), symbols);
    return outputs ? "" : llvm::toString(outputs.takeError());
  }
  TensorValue floats(llvm::ArrayRef<int64_t> sizes,
                     llvm::ArrayRef<float> elements) {
    return makeTensor(sizes, mlir::Float32Type::get(&context), elements);
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  RankDiagnostics diagnostics{&context};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  SingleRank transport;
};
} // namespace

TEST_F(InterpreterTest, RunsOpsInOrder) {
  auto outputs = run(R"(
    func.func @main(%x: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
      %0 = tp.map neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = tp.map add(%0, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      return %1, %x : tensor<2xf32>, tensor<2xf32>
    })",
                     {floats({2}, {1, 2})});
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  EXPECT_THAT(getElements<float>(*(*outputs)[0]), ElementsAre(-2, -4));
  EXPECT_THAT(getElements<float>(*(*outputs)[1]), ElementsAre(1, 2));
}

TEST_F(InterpreterTest, CollectivesSayWhatTheyAre) {
  auto outputs = run(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tp.collective_broadcast %x root 0 group <"0", [0]> : tensor<2xf32> -> tensor<2xf32> loc("sent")
      return %0 : tensor<2xf32>
    })",
                     {floats({2}, {1, 2})});
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  EXPECT_EQ(transport.lastCall.operation,
            "tp.collective_broadcast from position 0");
  EXPECT_EQ(transport.lastCall.operand, "tensor<2xf32>");
  EXPECT_EQ(transport.lastCall.place, "sent");
}

TEST_F(InterpreterTest, OpaqueOperatorIsNamed) {
  EXPECT_THAT(getCreationError(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tp.call "torch.ops.lib.op.default"(%x) arguments "" : (tensor<2xf32>) -> tensor<2xf32> loc("y")
      return %0 : tensor<2xf32>
    })"),
              HasSubstr("y: operator torch.ops.lib.op.default is not modelled "
                        "and cannot be run"));
}

TEST_F(InterpreterTest, RecordedChecksAreSkipped) {
  EXPECT_EQ(getCreationError(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      tp.call "torch.ops.aten._assert_tensor_metadata.default"(%x) arguments "" : (tensor<2xf32>) -> ()
      %0 = tp.call "torch.ops.aten.sym_size.int"(%x) arguments "" : (tensor<2xf32>) -> index
      return %x : tensor<2xf32>
    })"),
            "");
}

TEST_F(InterpreterTest, ElementsThatItDoesNotComputeWithAreRefused) {
  EXPECT_THAT(getCreationError(R"(
    func.func @main(%x: tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>> {
      %0 = tp.map neg(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
      return %0 : tensor<2xcomplex<f32>>
    })"),
              HasSubstr("elements of type complex<f32>"));
}

TEST_F(InterpreterTest, FailureNamesTheOpAndItsPlace) {
  EXPECT_THAT(
      getRunError(R"(
    func.func @main(%x: tensor<2x3xf32>, %i: tensor<1xi64>) -> tensor<1x3xf32> {
      %0 = tp.take %x, %i dim 0 : (tensor<2x3xf32>, tensor<1xi64>) -> tensor<1x3xf32> loc("row")
      return %0 : tensor<1x3xf32>
    })",
                  {floats({2, 3}, {0, 1, 2, 3, 4, 5}),
                   makeTensor<int64_t>(
                       {1}, mlir::IntegerType::get(&context, 64), {7})}),
      HasSubstr("tp.take at row: index 7 is out of range"));
}

TEST_F(InterpreterTest, ResultIsOfTheStatedSizes) {
  constexpr llvm::StringLiteral source = R"(
    func.func @main(%x: tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>) -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>> {
      %0 = tp.map neg(%x) : (tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>) -> tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
      return %0 : tensor<?xf32, #tp.layout<[s0] sizes = [s0]>>
    })";
  EXPECT_EQ(getRunError(source, {floats({2}, {1, 2})}, {{"s0", 2}}), "");
  EXPECT_THAT(getRunError(source, {floats({2}, {1, 2})}, {{"s0", 3}}),
              HasSubstr("has sizes [2], but its type states [3]"));
  EXPECT_THAT(getRunError(source, {floats({2}, {1, 2})}),
              HasSubstr("the sizes of the result are unknown"));
  EXPECT_THAT(
      getRunError(source, {floats({2}, {1, 2})}, {{"s0", int64_t(1) << 60}}),
      HasSubstr("is larger than this machine's memory"));
}

TEST_F(InterpreterTest, EndsWhenAPeerHasFailed) {
  llvm::Expected<RunnableProgram> program = create(R"(
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tp.map neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    })");
  ASSERT_TRUE(bool(program));
  SingleRank failing(/*peerFails=*/true);
  auto outputs = program->run({floats({2}, {1, 2})}, {}, failing);
  ASSERT_FALSE(bool(outputs));
  llvm::Error error = outputs.takeError();
  EXPECT_TRUE(error.isA<PeerFailure>());
  llvm::consumeError(std::move(error));
}
