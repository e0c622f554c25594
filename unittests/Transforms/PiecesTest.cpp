//===- PiecesTest.cpp - shards put together at random -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A product of shards that are put together in any order, in part, or several
// times, and a scatter of blocks of a product in any order. Rows are fused
// whatever they are, a contraction where every part is there once; all of it is
// proven. COMMUTE_RANDOM_CHAINS says how many, COMMUTE_RANDOM_SEED where they
// begin.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/Passes.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isProvenEquivalent;
using commute::test::print;

namespace {

using Shape = std::vector<int64_t>;

struct TensorValue {
  std::string name;
  Shape shape;
  std::string type;
};

class ProgramWriter {
public:
  explicit ProgramWriter(std::mt19937_64 &random) : random(random) {}

  int64_t pick(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  TensorValue addInput(const Shape &shape);
  TensorValue add(const std::string &op, const std::string &operandTypes,
                  const Shape &shape, const Shape &strides = {});
  TensorValue slice(const TensorValue &value, size_t dim, int64_t begin,
                    int64_t end);
  TensorValue concat(const std::vector<TensorValue> &parts, size_t dim);
  TensorValue multiply(const TensorValue &lhs, const TensorValue &rhs);
  std::string getText(const TensorValue &result) const;

private:
  std::mt19937_64 &random;
  std::string inputs, body;
  unsigned nextName = 0;
};

/// A program, and whether the collective goes with its product.
struct Program {
  std::string text;
  bool isFusable = true;
};

} // namespace

static Shape getStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

static std::string join(const Shape &numbers, StringRef between) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : between.str()) + std::to_string(number);
  return text;
}

static std::string getType(const Shape &shape, const Shape &strides) {
  std::string layout;
  if (strides != getStrides(shape))
    layout = ", #tp.layout<strides = [" + join(strides, ", ") + "]>";
  return "tensor<" + join(shape, "x") + "xf32" + layout + ">";
}

TensorValue ProgramWriter::addInput(const Shape &shape) {
  std::string name = "%x" + std::to_string(nextName++);
  std::string type = getType(shape, getStrides(shape));
  inputs += (inputs.empty() ? "" : ", ") + name + ": " + type;
  return {name, shape, type};
}

TensorValue ProgramWriter::add(const std::string &op,
                               const std::string &operandTypes,
                               const Shape &shape, const Shape &strides) {
  std::string name = "%v" + std::to_string(nextName++);
  std::string type =
      getType(shape, strides.empty() ? getStrides(shape) : strides);
  body +=
      "  " + name + " = tp." + op + " : " + operandTypes + " -> " + type + "\n";
  return {name, shape, type};
}

TensorValue ProgramWriter::slice(const TensorValue &value, size_t dim,
                                 int64_t begin, int64_t end) {
  if (begin == 0 && end == value.shape[dim])
    return value;
  Shape shape = value.shape;
  shape[dim] = end - begin;
  return add("slice " + value.name + " dim " + std::to_string(dim) + " start " +
                 std::to_string(begin) + " step 1",
             value.type, shape, getStrides(value.shape));
}

TensorValue ProgramWriter::concat(const std::vector<TensorValue> &parts,
                                  size_t dim) {
  if (parts.size() == 1)
    return parts.front();
  std::string names, types;
  Shape shape = parts.front().shape;
  shape[dim] = 0;
  for (const TensorValue &part : parts) {
    names += (names.empty() ? "" : ", ") + part.name;
    types += (types.empty() ? "" : ", ") + part.type;
    shape[dim] += part.shape[dim];
  }
  return add("concat " + names + " dim " + std::to_string(dim),
             "(" + types + ")", shape);
}

TensorValue ProgramWriter::multiply(const TensorValue &lhs,
                                    const TensorValue &rhs) {
  Shape shape = lhs.shape;
  shape.back() = rhs.shape.back();
  return add("matmul " + lhs.name + ", " + rhs.name,
             "(" + lhs.type + ", " + rhs.type + ")", shape);
}

std::string ProgramWriter::getText(const TensorValue &result) const {
  return "module {\nfunc.func @main(" + inputs + ") -> " + result.type +
         " {\n" + body + "  return " + result.name + " : " + result.type +
         "\n}\n}\n";
}

static std::string getGroup(int64_t numRanks) {
  Shape ranks(numRanks);
  std::iota(ranks.begin(), ranks.end(), 0);
  return " group <\"0\", [" + join(ranks, ", ") + "]>";
}

static Program makeGather(std::mt19937_64 &random) {
  ProgramWriter writer(random);
  int64_t numRanks = 2 + writer.pick(3);
  Shape shape(2 + writer.pick(2));
  for (int64_t &size : shape)
    size = 2 + writer.pick(3);
  TensorValue shard = writer.addInput(shape);
  Shape whole = shape;
  whole[0] *= numRanks;
  TensorValue gathered = writer.add("all_gather " + shard.name +
                                        " gather_axis 0" + getGroup(numRanks),
                                    shard.type, whole);
  // Parts of shards, along one dim.
  size_t dim = writer.pick(shape.size());
  struct Part {
    int64_t rank, begin, end;
  };
  std::vector<Part> parts;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    int64_t cut = writer.pick(3) ? shape[dim] : 1;
    parts.push_back({rank, 0, cut});
    if (cut < shape[dim])
      parts.push_back({rank, cut, shape[dim]});
  }
  if (writer.pick(3))
    std::shuffle(parts.begin(), parts.end(), random);
  Program program;
  bool contracts = dim + 1 == shape.size();
  if (writer.pick(3) == 0) {
    program.isFusable = !contracts;
    if (writer.pick(2) || parts.size() < 2)
      parts.push_back(parts[writer.pick(parts.size())]);
    else
      parts.erase(parts.begin() + writer.pick(parts.size()));
  }
  // One whole shard is rows of all, whatever it is cut into.
  int64_t end = 0;
  bool isOneShard = llvm::all_of(parts, [&](const Part &part) {
    return part.rank == parts.front().rank &&
           part.begin == std::exchange(end, part.end);
  });
  program.isFusable |= isOneShard && end == shape[dim];
  std::vector<TensorValue> values;
  for (const Part &part : parts) {
    TensorValue block = gathered;
    if (dim != 0)
      block = writer.slice(block, 0, part.rank * shape[0],
                           (part.rank + 1) * shape[0]);
    int64_t offset = dim == 0 ? part.rank * shape[0] : 0;
    values.push_back(
        writer.slice(block, dim, offset + part.begin, offset + part.end));
  }
  TensorValue joined = writer.concat(values, dim);
  TensorValue matrix = writer.addInput({joined.shape.back(), 3});
  program.text = writer.getText(writer.multiply(joined, matrix));
  return program;
}

static Program makeScatter(std::mt19937_64 &random) {
  ProgramWriter writer(random);
  int64_t numRanks = 2 + writer.pick(3);
  size_t dim = writer.pick(2);
  Shape sizes{2 + writer.pick(3), 2 + writer.pick(3)};
  int64_t block = sizes[dim];
  sizes[dim] *= numRanks;
  TensorValue product = writer.multiply(writer.addInput({sizes[0], 5}),
                                        writer.addInput({5, sizes[1]}));
  // Which block each rank gets.
  Shape order(numRanks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  if (writer.pick(3) == 0)
    order[writer.pick(numRanks)] = order[0];
  std::vector<TensorValue> blocks;
  for (int64_t index : order)
    blocks.push_back(
        writer.slice(product, dim, index * block, (index + 1) * block));
  TensorValue joined = writer.concat(blocks, 0);
  Shape result = joined.shape;
  result[0] /= numRanks;
  Program program;
  program.text =
      writer.getText(writer.add("reduce_scatter sum " + joined.name +
                                    " scatter_axis 0" + getGroup(numRanks),
                                joined.type, result));
  return program;
}

static void
testPrograms(llvm::function_ref<Program(std::mt19937_64 &)> makeProgram) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numPrograms = getNumber("COMMUTE_RANDOM_CHAINS", 500);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  for (uint64_t seed = firstSeed; seed < firstSeed + numPrograms; ++seed) {
    std::mt19937_64 random(seed);
    Program program = makeProgram(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.text);
    OwningOpRef<ModuleOp> before =
        parseSourceString<ModuleOp>(program.text, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    PassManager manager(&context);
    MicroPipelineOptions options;
    options.policy = Policy::Always;
    manager.addNestedPass<func::FuncOp>(createMicroPipeline(options));
    ASSERT_TRUE(succeeded(manager.run(*after)));
    bool isFused = false;
    after->walk([&](Operation *op) {
      isFused |= isa<tp::AllGatherMatmulOp, tp::MatmulReduceScatterOp>(op);
    });
    ASSERT_EQ(isFused, program.isFusable) << print(*after);
    ASSERT_TRUE(isProvenEquivalent(*before, *after));
  }
}

TEST(Pieces, RandomGathers) { testPrograms(makeGather); }

TEST(Pieces, RandomScatters) { testPrograms(makeScatter); }
