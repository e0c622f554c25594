//===- PriceModelTest.cpp - tests of prices of ops ------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Target/PriceModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace commute;
using namespace commute::target;

namespace {
/// A machine of round numbers: 1 TFLOP/s, 1 GB/s of memory and links, 1 ms for
/// a kernel, 1 s for a collective.
Target makeTarget() {
  Target target;
  target.devices = {4, ""};
  target.memoryBytesPerSecond = {2e9, ""};
  target.memoryEfficiency = {0.5, ""};
  target.kernelOverheadSeconds = {1e-3, ""};
  target.transferOverheadSeconds = {1e-2, ""};
  target.vectorFlopsPerSecond = {1e9, ""};
  target.matmulFlopsPerSecond["f32"] = {2e12, ""};
  target.matmulEfficiency.points = {{1e-6, 0.5}};
  for (auto kind :
       {tp::CommunicationKind::AllReduce, tp::CommunicationKind::AllGather,
        tp::CommunicationKind::ReduceScatter})
    for (int64_t size : {2, 4})
      target.collectives.add(kind, {size, 1, 1e9, {}, ""});
  return target;
}

class PriceModelTest : public testing::Test {
protected:
  PriceModelTest() { context.loadDialect<tp::TPDialect, func::FuncDialect>(); }
  /// The first op of a function.
  Operation *parse(StringRef text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return &cast<func::FuncOp>(module->getBody()->front()).front().front();
  }
  double getSeconds(StringRef text) {
    return model.getSeconds(parse(text)).value_or(-1);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Target target = makeTarget();
  PriceModel model{target, {{"s0", 1000}}};
};
} // namespace

TEST_F(PriceModelTest, TheLongerOfArithmeticAndMemory) {
  // 12 MB moved, 1 M additions.
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.map add(%a, %a) : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>
    return })"),
              12e-3 + 1e-3, 1e-9);
  // 8 MB moved, 8 M operations count as 8 ms: the same; at 16 M it is compute.
  target.vectorFlopsPerSecond.value = 5e8;
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.map exp(%a) : (tensor<1000000xf32>) -> tensor<1000000xf32>
    return })"),
              16e-3 + 1e-3, 1e-9);
}

TEST_F(PriceModelTest, CompiledChainsReadAndWriteOnce) {
  target.vectorFlopsPerSecond.value = 1e15;
  target.fusesElementwise = true;
  double seconds = 0;
  parse(
      R"(func.func @f(%a: tensor<1000000xf32>, %b: tensor<1000000xf32>) -> tensor<1000000xf32> {
    %0 = tp.map exp(%a) : (tensor<1000000xf32>) -> tensor<1000000xf32>
    %1 = tp.map mul(%0, %a) : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>
    %2 = tp.reshape %1 : tensor<1000000xf32> -> tensor<1000x1000xf32>
    %3 = tp.reshape %2 : tensor<1000x1000xf32> -> tensor<1000000xf32>
    %4 = tp.map add(%3, %b) : (tensor<1000000xf32>, tensor<1000000xf32>) -> tensor<1000000xf32>
    return %4 : tensor<1000000xf32> })");
  module->walk([&](Operation *op) {
    if (isa<tp::WorkOpInterface>(op))
      seconds += model.getSeconds(op).value_or(-1);
  });
  // a and b are read, the sum is written, by one kernel.
  EXPECT_NEAR(seconds, 12e-3 + 1e-3, 1e-6);
}

TEST_F(PriceModelTest, CompiledChainsWriteWhatOthersRead) {
  target.vectorFlopsPerSecond.value = 1e15;
  target.fusesElementwise = true;
  // The product is also returned.
  Operation *op = parse(
      R"(func.func @f(%a: tensor<1000000xf32>) -> (tensor<1000000xf32>, tensor<1000000xf32>) {
    %0 = tp.map exp(%a) : (tensor<1000000xf32>) -> tensor<1000000xf32>
    %1 = tp.map neg(%0) : (tensor<1000000xf32>) -> tensor<1000000xf32>
    return %0, %1 : tensor<1000000xf32>, tensor<1000000xf32> })");
  EXPECT_NEAR(model.getSeconds(op).value_or(-1), 8e-3 + 1e-3, 1e-6);
  EXPECT_NEAR(model.getSeconds(op->getNextNode()).value_or(-1), 4e-3 + 1e-3,
              1e-6);
}

TEST_F(PriceModelTest, MatmulAtItsRate) {
  // 2e9 flops at 1e12, 12 MB at 1e9.
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000x1000xf32>) {
    %0 = tp.matmul %a, %a : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return })"),
              12e-3 + 1e-3, 1e-9);
  target.matmulFlopsPerSecond["f32"].value = 1e11;
  Operation *op = parse(R"(func.func @f(%a: tensor<1000x1000xf32>) {
    %0 = tp.matmul %a, %a : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return })");
  OpPrice price = *model.getPrice(op);
  EXPECT_NEAR(price.getSeconds(), 40e-3 + 1e-3, 1e-9);
  EXPECT_EQ(price.bound, Bound::Compute);
}

TEST_F(PriceModelTest, AMatrixThatAProductIsAddedToIsCopiedFirst) {
  target.matmulFlopsPerSecond["f32"].value = 1e11;
  // 2e9 flops at 5e10 and 1 M additions at 1e9 hide 16 MB; the copy of 4 MB,
  // which reads and writes, is a kernel of its own.
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000x1000xf32>) {
    %0 = tp.matmul %a, %a bias %a : (tensor<1000x1000xf32>, tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return })"),
              41e-3 + 1e-3 + 8e-3 + 1e-3, 1e-8);
  // A vector is added by the product's kernel.
  EXPECT_NEAR(
      getSeconds(
          R"(func.func @f(%a: tensor<1000x1000xf32>, %b: tensor<1000xf32>) {
    %0 = tp.matmul %a, %a bias %b : (tensor<1000x1000xf32>, tensor<1000x1000xf32>, tensor<1000xf32>) -> tensor<1000x1000xf32>
    return })"),
      41e-3 + 1e-3, 1e-8);
}

TEST_F(PriceModelTest, ViewsTakeNothing) {
  EXPECT_EQ(getSeconds(R"(func.func @f(%a: tensor<4x8xf32>) {
    %0 = tp.reshape %a : tensor<4x8xf32> -> tensor<32xf32>
    return })"),
            0);
  EXPECT_EQ(
      getSeconds(
          R"(func.func @f(%a: tensor<4x8xf32, #tp.layout<strides = [1, 4]>>) {
    %0 = tp.permute %a [1, 0] : tensor<4x8xf32, #tp.layout<strides = [1, 4]>> -> tensor<8x4xf32>
    return })"),
      0);
  EXPECT_EQ(getSeconds(R"(func.func @f(%a: tensor<8x4xf32>) {
    %0 = tp.rank_slice %a slice_axis 0 group <"0", [0, 1]> : tensor<8x4xf32> -> tensor<4x4xf32>
    return })"),
            0);
}

TEST_F(PriceModelTest, AReshapeOfAStridedTensorIsACopy) {
  EXPECT_NEAR(
      getSeconds(
          R"(func.func @f(%a: tensor<500x500xf32, #tp.layout<strides = [1, 500]>>) {
    %0 = tp.reshape %a : tensor<500x500xf32, #tp.layout<strides = [1, 500]>> -> tensor<250000xf32>
    return })"),
      2e-3 + 1e-3, 1e-9);
}

TEST_F(PriceModelTest, SymbolicSizesHaveValues) {
  StringRef text =
      R"(func.func @f(%a: tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 1000]>>) {
    %0 = tp.map neg(%a) : (tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 1000]>>) -> tensor<?xf32, #tp.layout<[s0] sizes = [s0 * 1000]>>
    return })";
  EXPECT_NEAR(getSeconds(text), 8e-3 + 1e-3, 1e-9);
  PriceModel without(target, {});
  EXPECT_EQ(without.getSeconds(parse(text)), std::nullopt);
}

TEST_F(PriceModelTest, StatedSizesAreHintsAndEqualities) {
  module = parseSourceString<ModuleOp>(R"(module attributes {
    tp.symbol_hints = {s0 = 5 : i64, s1 = 6 : i64, s2 = 7 : i64},
    tp.assumptions = ["s1 == 60", "s0 % 5 == 0", "s3 >= 2"]} {})",
                                       &context);
  EXPECT_EQ(getStatedSizes(*module),
            (SizeTable{{"s0", 5}, {"s1", 60}, {"s2", 7}}));
}

TEST_F(PriceModelTest, ShardsCutWhatRunsAlongTheFactor) {
  // Rows cut: lhs and result by 4, the weight whole.
  Operation *op = parse(
      R"(func.func @f(%a: tensor<1000x1000xf32>, %w: tensor<1000x1000xf32>) {
    %0 = tp.matmul %a, %w : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return })");
  auto rule = cast<tp::DimensionRuleOpInterface>(op).getDimensionRule();
  unsigned rows = *tp::DimensionRule::getMajorFactor(rule.results[0], 0);
  EXPECT_NEAR(*model.getShardSeconds(op, rule, rows, 4),
              (1 + 4 + 1) * 1e-3 + 1e-3, 1e-9);
  EXPECT_NEAR(*model.getShardSeconds(op, rule, rows, 1), *model.getSeconds(op),
              1e-12);
  // A norm's weight is not cut either.
  op = parse(R"(func.func @f(%a: tensor<1000x1000xf32>, %w: tensor<1000xf32>) {
    %0 = tp.rms_norm %a weight %w epsilon 1.0e-05 dims 1 : (tensor<1000x1000xf32>, tensor<1000xf32>) -> tensor<1000x1000xf32>
    return })");
  rule = cast<tp::DimensionRuleOpInterface>(op).getDimensionRule();
  rows = *tp::DimensionRule::getMajorFactor(rule.results[0], 0);
  EXPECT_NEAR(*model.getShardSeconds(op, rule, rows, 4), 2.004e-3 + 1e-3, 1e-9);
}

TEST_F(PriceModelTest, CollectivesOverTheirWholeTensor) {
  // 4 MB at 1 GB/s.
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<250000x1xf32>) {
    %0 = tp.all_gather %a gather_axis 0 group <"0", [0, 1, 2, 3]> : tensor<250000x1xf32> -> tensor<1000000x1xf32>
    return })"),
              1.004, 1e-9);
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.reduce_scatter sum %a scatter_axis 0 group <"0", [0, 1, 2, 3]> : tensor<1000000xf32> -> tensor<250000xf32>
    return })"),
              1.004, 1e-9);
}

TEST_F(PriceModelTest, OtherDimsThanTheFirstAreCopiedIntoOrder) {
  Operation *op = parse(R"(func.func @f(%a: tensor<1x250000xf32>) {
    %0 = tp.all_gather %a gather_axis 1 group <"0", [0, 1, 2, 3]> : tensor<1x250000xf32> -> tensor<1x1000000xf32>
    return })");
  OpPrice price = *model.getPrice(op);
  EXPECT_NEAR(price.unpackSeconds, 8e-3 + 1e-3, 1e-9);
  EXPECT_EQ(price.packSeconds, 0);
  EXPECT_NEAR(price.getSeconds(), 1.004 + 9e-3, 1e-9);
  op = parse(R"(func.func @f(%a: tensor<1x1000000xf32>) {
    %0 = tp.reduce_scatter sum %a scatter_axis 1 group <"0", [0, 1, 2, 3]> : tensor<1x1000000xf32> -> tensor<1x250000xf32>
    return })");
  price = *model.getPrice(op);
  EXPECT_NEAR(price.packSeconds, 8e-3 + 1e-3, 1e-9);
  EXPECT_EQ(price.unpackSeconds, 0);
}

TEST_F(PriceModelTest, GroupsAcrossMachinesUseTheNetwork) {
  StringRef text = R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.all_reduce sum %a group <"0", [0, 1, 4, 5]> : tensor<1000000xf32> -> tensor<1000000xf32>
    return })";
  EXPECT_NEAR(getSeconds(text), 1.004, 1e-9);
  target.network = {{0.25, ""}, {1e8, ""}};
  // Inside two devices of each machine, and two steps between the machines, in
  // which each device carries a quarter.
  EXPECT_NEAR(getSeconds(text), 1.004 + 2 * (0.25 + 0.01), 1e-9);
}

TEST_F(PriceModelTest, FusedOpsArePipelines) {
  // Four chunks of 4 MB shards: 16 MB of communication and four transfers;
  // each chunk reads its shard and the weight, and writes its rows.
  Operation *op = parse(
      R"(func.func @f(%a: tensor<1000x1000xf32>, %w: tensor<1000x1000xf32>) {
    %0 = tp.all_gather_matmul %a, rhs(%w) gather_axis 0 group <"0", [0, 1, 2, 3]> : (tensor<1000x1000xf32>, tensor<1000x1000xf32>) -> tensor<4000x1000xf32>
    return })");
  double chunk = 12e-3 + 1e-3;
  double communication = 16e-3, overhead = 4 * 1e-2;
  OpPrice price = *model.getPrice(op);
  EXPECT_NEAR(price.computeSeconds, 4 * chunk, 1e-9);
  EXPECT_NEAR(price.communicationSeconds, communication, 1e-9);
  EXPECT_NEAR(price.getSeconds(), 4 * chunk + communication / 4 + overhead,
              1e-9);
  EXPECT_EQ(price.bound, Bound::Compute);
  // Fast products: then the product of the last chunk shows.
  target.matmulFlopsPerSecond["f32"].value *= 1e3;
  target.memoryBytesPerSecond.value *= 1e3;
  target.kernelOverheadSeconds.value = 0;
  price = *model.getPrice(op);
  EXPECT_NEAR(price.getSeconds(), communication + 12e-6 + overhead, 1e-9);
  EXPECT_EQ(price.bound, Bound::Communication);
}

TEST_F(PriceModelTest, FusedReduceScatterIsAPipelineToo) {
  Operation *op = parse(
      R"(func.func @f(%a: tensor<4000x1000xf32>, %w: tensor<1000x1000xf32>) {
    %0 = tp.matmul_reduce_scatter sum %a, %w scatter_axis 0 group <"0", [0, 1, 2, 3]> : (tensor<4000x1000xf32>, tensor<1000x1000xf32>) -> tensor<1000x1000xf32>
    return })");
  OpPrice price = *model.getPrice(op);
  EXPECT_NEAR(price.computeSeconds, 4 * 13e-3, 1e-9);
  EXPECT_NEAR(price.communicationSeconds, 16e-3, 1e-9);
  EXPECT_NEAR(price.getSeconds(), 52e-3 + 16e-3 / 4 + 4e-2, 1e-9);
}

TEST_F(PriceModelTest, OpaqueCallsCountTheirTensors) {
  EXPECT_NEAR(getSeconds(R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.call "my.op"(%a) arguments "[]" : (tensor<1000000xf32>) -> tensor<1000000xf32>
    return })"),
              8e-3 + 1e-3, 1e-9);
  // What asks for a size runs no kernel.
  EXPECT_EQ(getSeconds(R"(func.func @f(%a: tensor<1000000xf32>) {
    %0 = tp.call "sym_size"(%a) arguments "[]" : (tensor<1000000xf32>) -> index
    return })"),
            0);
}
