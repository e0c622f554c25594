//===- FusedCollectivesTest.cpp - collectives pipelined with products -----===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "SingleRank.h"

#include "BlockedRows.h"
#include "commute/Runtime/Interpreter.h"

#include "mlir/Parser/Parser.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <random>

using namespace commute;
using namespace commute::runtime;
using namespace commute::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {
/// Rank 0 of three, of whom the others send what the test says, when it says.
class ScriptedRank : public Transport {
public:
  std::vector<Transfer::Arrival> arrivals;
  std::string failure;
  /// The positions that were sent to, in order.
  std::vector<size_t> sentTo;
  /// What is moved, as the op announced it and as it was sent.
  mlir::Type announced;
  std::vector<mlir::Type> sent;

  int64_t getRank() const override { return 0; }
  llvm::Error checkPeers() override { return llvm::Error::success(); }
  llvm::Expected<std::unique_ptr<Transfer>> start(const CollectiveCall &,
                                                  mlir::Type type, size_t,
                                                  bool overlaps) override {
    EXPECT_TRUE(overlaps);
    announced = type;
    return std::make_unique<ScriptedTransfer>(*this);
  }

private:
  class ScriptedTransfer : public Transfer {
  public:
    explicit ScriptedTransfer(ScriptedRank &rank) : rank(rank) {}
    llvm::Error send(size_t position, TensorValue tensor) override {
      rank.sentTo.push_back(position);
      rank.sent.push_back(tensor->getElementType());
      return llvm::Error::success();
    }
    llvm::Expected<Arrival> receive() override {
      if (next == rank.arrivals.size())
        return llvm::createStringError(rank.failure);
      return rank.arrivals[next++];
    }
    llvm::Error finish() override { return llvm::Error::success(); }

  private:
    ScriptedRank &rank;
    size_t next = 0;
  };
};

class FusedCollectivesTest : public testing::Test {
protected:
  FusedCollectivesTest() {
    context.loadDialect<tp::TPDialect, mlir::func::FuncDialect>();
  }
  TensorValue random(llvm::ArrayRef<int64_t> sizes) {
    std::shared_ptr<Tensor> tensor =
        Tensor::allocate(sizes, mlir::Float32Type::get(&context));
    std::normal_distribution<float> normal;
    for (int64_t index = 0; index < tensor->getNumElements(); ++index)
      tensor->getMutableDataAs<float>()[index] = normal(generator);
    return tensor;
  }
  llvm::Expected<std::vector<TensorValue>>
  run(llvm::StringRef source, std::vector<TensorValue> inputs) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    llvm::Expected<RunnableProgram> program = RunnableProgram::create(
        *module->getOps<mlir::func::FuncOp>().begin(),
        [](mlir::Location) { return std::string("somewhere"); });
    if (!program)
      return program.takeError();
    return program->run(std::move(inputs), {}, transport);
  }
  std::string getError(llvm::StringRef source,
                       std::vector<TensorValue> inputs) {
    auto outputs = run(source, std::move(inputs));
    return outputs ? "" : llvm::toString(outputs.takeError());
  }

  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ScriptedRank transport;
  std::mt19937 generator{1};
};
} // namespace

static constexpr llvm::StringLiteral gatherContraction = R"(
  func.func @main(%a: tensor<5x7xf32>, %b: tensor<21x3xf32>) -> tensor<5x3xf32> {
    %0 = tp.all_gather_matmul %a, rhs(%b) gather_axis 1 group <"0", [0, 1, 2]>
      : (tensor<5x7xf32>, tensor<21x3xf32>) -> tensor<5x3xf32>
    return %0 : tensor<5x3xf32>
  })";
static constexpr llvm::StringLiteral scatter = R"(
  func.func @main(%a: tensor<6x7xf32>, %b: tensor<7x3xf32>) -> tensor<2x3xf32> {
    %0 = tp.matmul_reduce_scatter sum %a, %b scatter_axis 0 group <"0", [0, 1, 2]>
      : (tensor<6x7xf32>, tensor<7x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  })";

TEST_F(FusedCollectivesTest, BitsDoNotDependOnTheOrderOfArrival) {
  struct Case {
    llvm::StringRef source;
    std::vector<TensorValue> inputs;
    TensorValue first, second;
  };
  for (const Case &test : {Case{gatherContraction,
                                {random({5, 7}), random({21, 3})},
                                random({5, 7}),
                                random({5, 7})},
                           Case{scatter,
                                {random({6, 7}), random({7, 3})},
                                random({2, 3}),
                                random({2, 3})}}) {
    transport.arrivals = {{1, test.first}, {2, test.second}};
    auto inOrder = run(test.source, test.inputs);
    std::swap(transport.arrivals[0], transport.arrivals[1]);
    auto swapped = run(test.source, test.inputs);
    ASSERT_TRUE(bool(inOrder));
    ASSERT_TRUE(bool(swapped));
    EXPECT_EQ(getElements<float>(*inOrder->front()),
              getElements<float>(*swapped->front()));
  }
}

TEST_F(FusedCollectivesTest, ReduceScatterMovesTheTypeOfItsResult) {
  mlir::Type bf16 = mlir::BFloat16Type::get(&context);
  auto zeros = [&](llvm::ArrayRef<int64_t> sizes) {
    std::shared_ptr<Tensor> tensor = Tensor::allocate(sizes, bf16);
    std::fill_n(tensor->getMutableDataAs<uint16_t>(), tensor->getNumElements(),
                uint16_t(0));
    return tensor;
  };
  transport.arrivals = {{1, zeros({2, 3})}, {2, zeros({2, 3})}};
  std::string source = scatter.str();
  for (size_t at; (at = source.find("f32")) != std::string::npos;)
    source.replace(at, 3, "bf16");
  auto outputs = run(source, {zeros({6, 7}), zeros({7, 3})});
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  EXPECT_EQ(transport.announced, bf16);
  EXPECT_THAT(transport.sent, ElementsAre(bf16, bf16));
}

TEST_F(FusedCollectivesTest, OtherRanksAreServedFirstAndInTurns) {
  transport.arrivals = {{1, random({2, 3})}, {2, random({2, 3})}};
  ASSERT_TRUE(bool(run(scatter, {random({6, 7}), random({7, 3})})));
  EXPECT_THAT(transport.sentTo, ElementsAre(1, 2));
}

TEST_F(FusedCollectivesTest, WhatArrivesIsChecked) {
  transport.arrivals = {{2, random({4, 7})}};
  EXPECT_THAT(getError(gatherContraction, {random({5, 7}), random({21, 3})}),
              HasSubstr("the shard at position 2 of the group has rows of "
                        "sizes [4, 7], unlike this rank's"));
  transport.arrivals = {{1, random({2, 4})}};
  EXPECT_THAT(getError(scatter, {random({6, 7}), random({7, 3})}),
              HasSubstr("the rank at position 1 of the group sent rows of "
                        "sizes [2, 4], unlike this rank's"));
}

TEST_F(FusedCollectivesTest, ErrorsOfTheTransportAreThoseOfTheOp) {
  transport.failure = "the line is dead";
  EXPECT_THAT(getError(scatter, {random({6, 7}), random({7, 3})}),
              HasSubstr("tp.matmul_reduce_scatter at somewhere: the line is "
                        "dead"));
  EXPECT_THAT(getError(gatherContraction, {random({5, 7}), random({21, 3})}),
              HasSubstr("the line is dead"));
}

TEST(BlockedRowsTest, RowsAreFoundInTheWhole) {
  // [2, members, 4, 5]: rows of two runs.
  BlockedRows rows({2, 4, 5}, 1, 3);
  EXPECT_EQ(rows.getNumRows(), 8);
  std::vector<std::array<int64_t, 3>> runs;
  rows.forEachRun(1, 2, 7, [&](int64_t row, int64_t place, int64_t count) {
    runs.push_back({row, place, count});
  });
  EXPECT_THAT(runs, ElementsAre(std::array<int64_t, 3>{2, 6, 2},
                                std::array<int64_t, 3>{4, 16, 3}));
  // Along the last dim, each row is a run.
  BlockedRows columns({6, 5}, 1, 3);
  EXPECT_EQ(columns.getNumRows(), 6);
  EXPECT_TRUE(columns.isOneRun(2, 3));
  EXPECT_FALSE(columns.isOneRun(2, 4));
}

TEST(BlockedRowsTest, PiecesAreTheWhole) {
  for (int64_t rows : {0, 1, 63, 128, 1000, 100000})
    for (int64_t numMembers : {1, 2, 6, 100})
      for (auto small : {Pieces::Small::First, Pieces::Small::Last}) {
        Pieces pieces(rows, 4096, numMembers, small);
        int64_t sum = 0;
        for (int64_t index = 0; index < pieces.getCount(); ++index) {
          EXPECT_EQ(pieces.getBegin(index), sum);
          sum += pieces.getSize(index);
        }
        EXPECT_EQ(sum, rows);
        EXPECT_GE(pieces.getCount(), 1);
        EXPECT_LE(pieces.getCount(), 11);
      }
}

TEST(BlockedRowsTest, PiecesAreSmallWhereNothingOverlaps) {
  auto getSizes = [](int64_t rows, int64_t rowBytes, int64_t numMembers,
                     Pieces::Small small) {
    Pieces pieces(rows, rowBytes, numMembers, small);
    std::vector<int64_t> sizes;
    for (int64_t index = 0; index < pieces.getCount(); ++index)
      sizes.push_back(pieces.getSize(index));
    return sizes;
  };
  EXPECT_THAT(getSizes(2048, 4096, 2, Pieces::Small::First),
              ElementsAre(64, 64, 128, 256, 512, 512, 512));
  EXPECT_THAT(getSizes(1024, 4096, 6, Pieces::Small::Last),
              ElementsAre(170, 171, 171, 170, 171, 86, 85));
  // Rows of few bytes.
  EXPECT_THAT(getSizes(1024, 256, 2, Pieces::Small::Last),
              ElementsAre(256, 256, 256, 256));
  EXPECT_THAT(getSizes(127, 4096, 2, Pieces::Small::First), ElementsAre(127));
}
