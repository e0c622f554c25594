//===- NormalizeCollectivesTest.cpp - random reassembly around collectives ===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random chains of reindexing ops behind an all_gather or in front of a
// reduce_scatter. Whether the collective is one along another dim is told by
// following every element; the pass has to find exactly that, prove equivalent,
// change nothing the second time, and give the same ops back when lowered.
// COMMUTE_RANDOM_CHAINS says how many, COMMUTE_RANDOM_SEED where they begin.
//
//===----------------------------------------------------------------------===//

#include "PassTesting.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;
using commute::test::isSame;
using commute::test::print;
using commute::test::runPass;

namespace {

using Shape = std::vector<int64_t>;

/// A value of the chain.
struct Step {
  std::string name;
  Shape shape;
  /// For each element, which one of the value before it is.
  std::vector<int64_t> elements;
  /// With the strides where it is no dense tensor.
  std::string type;
  /// Whether elements are moved for it, and whether a concatenation does that.
  bool moves = false, concatenates = false;
  bool isDense = true;
};

} // namespace

static int64_t getCount(ArrayRef<int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

static Shape getStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

static std::string getType(const Shape &shape, const Shape &strides) {
  std::string type = "tensor<";
  for (int64_t size : shape)
    type += std::to_string(size) + "x";
  type += "f32";
  if (strides != getStrides(shape)) {
    type += ", #tp.layout<strides = [";
    for (size_t dim = 0; dim < strides.size(); ++dim)
      type += (dim ? ", " : "") + std::to_string(strides[dim]);
    type += "]>";
  }
  return type + ">";
}

/// The elements at all indices of a strided region of a dense tensor.
static std::vector<int64_t> select(const std::vector<int64_t> &elements,
                                   int64_t offset, const Shape &shape,
                                   const Shape &strides) {
  std::vector<int64_t> positions{offset};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<int64_t> next;
    for (int64_t position : positions)
      for (int64_t index = 0; index < shape[dim]; ++index)
        next.push_back(position + index * strides[dim]);
    positions = std::move(next);
  }
  for (int64_t &position : positions)
    position = elements[position];
  return positions;
}

/// The blocks of `count` ranks along `axis` of a dense tensor, in order.
static std::vector<int64_t> getBlocks(const Shape &shape,
                                      const std::vector<int64_t> &elements,
                                      size_t axis, int64_t count) {
  Shape strides = getStrides(shape), block = shape;
  block[axis] /= count;
  std::vector<int64_t> all;
  for (int64_t rank = 0; rank < count; ++rank) {
    std::vector<int64_t> part =
        select(elements, rank * block[axis] * strides[axis], block, strides);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

namespace {

/// Writes a chain of ops, each reading the one before. All values are dense but
/// for views that are copied at once.
class ChainWriter {
public:
  ChainWriter(std::mt19937_64 &random, int64_t numRanks)
      : random(random), numRanks(numRanks) {}

  int64_t pick(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  void start(std::string name, Shape shape) {
    std::string type = getType(shape, getStrides(shape));
    steps.push_back({std::move(name), std::move(shape), {}, type});
  }
  /// One to four more steps.
  void add();

  std::string body;
  std::vector<Step> steps;

private:
  const Step &last() { return steps.back(); }
  Step makeView(const std::string &op, const Step &input, Shape shape,
                int64_t offset, const Shape &strides);
  Step slice(size_t dim, int64_t first, int64_t size);
  void reshape(Shape shape);
  void permute(const std::vector<int64_t> &permutation);
  void reassemble();

  std::mt19937_64 &random;
  int64_t numRanks;
  unsigned nextName = 0;
};

} // namespace

static std::vector<int64_t> getIota(int64_t count) {
  std::vector<int64_t> elements(count);
  std::iota(elements.begin(), elements.end(), 0);
  return elements;
}

/// `strides` and `offset` count in the elements of the input.
Step ChainWriter::makeView(const std::string &op, const Step &input,
                           Shape shape, int64_t offset, const Shape &strides) {
  Step step;
  step.name = "%v" + std::to_string(nextName++);
  step.shape = std::move(shape);
  step.elements =
      select(getIota(getCount(input.shape)), offset, step.shape, strides);
  step.type = getType(step.shape, strides);
  // Strides of dims of size 1 are never used.
  Shape dense = getStrides(step.shape);
  for (size_t dim = 0; dim < strides.size(); ++dim)
    step.isDense &= step.shape[dim] == 1 || strides[dim] == dense[dim];
  body += "  " + step.name + " = " + op + " : " + input.type + " -> " +
          step.type + "\n";
  return step;
}

Step ChainWriter::slice(size_t dim, int64_t first, int64_t size) {
  Shape strides = getStrides(last().shape), shape = last().shape;
  shape[dim] = size;
  return makeView("tp.slice " + last().name + " dim " + std::to_string(dim) +
                      " start " + std::to_string(first) + " step 1",
                  last(), shape, first * strides[dim], strides);
}

void ChainWriter::reshape(Shape shape) {
  Shape strides = getStrides(shape);
  steps.push_back(makeView("tp.reshape " + last().name, last(),
                           std::move(shape), 0, strides));
}

/// With the copy that makes it dense.
void ChainWriter::permute(const std::vector<int64_t> &permutation) {
  Shape strides = getStrides(last().shape), shape, moved;
  std::string list;
  for (int64_t dim : permutation) {
    shape.push_back(last().shape[dim]);
    moved.push_back(strides[dim]);
    list += (list.empty() ? "" : ", ") + std::to_string(dim);
  }
  steps.push_back(makeView("tp.permute " + last().name + " [" + list + "]",
                           last(), shape, 0, moved));
  steps.push_back(
      makeView("tp.copy " + last().name, last(), shape, 0, getStrides(shape)));
  steps.back().moves = true;
}

void ChainWriter::reassemble() {
  const Step input = last();
  size_t rank = input.shape.size(), dim = pick(3) ? 0 : pick(rank);
  size_t target = pick(rank);
  int64_t available = input.shape[dim];
  // The blocks of the ranks, or pieces that are finer, coarser, or no blocks.
  std::vector<int64_t> starts;
  int64_t size = std::max<int64_t>(available / numRanks, 1);
  switch (pick(8)) {
  case 0:
    size = 1 + pick(available);
    break;
  case 1:
    size = std::max<int64_t>(size / 2, 1);
    break;
  case 2:
    size = std::min(size * 2, available);
    break;
  default:
    break;
  }
  for (int64_t first = 0; first + size <= available && starts.size() < 8;
       first += size)
    starts.push_back(first);
  switch (pick(12)) {
  case 0:
    std::shuffle(starts.begin(), starts.end(), random);
    break;
  case 1:
    starts[pick(starts.size())] = starts[pick(starts.size())];
    break;
  case 2:
    starts[pick(starts.size())] = pick(available - size + 1);
    break;
  case 3:
    if (starts.size() > 1)
      starts.pop_back();
    break;
  default:
    break;
  }
  std::vector<Step> parts;
  std::string names, types;
  for (int64_t first : starts) {
    parts.push_back(slice(dim, first, size));
    names += (names.empty() ? "" : ", ") + parts.back().name;
    types += (types.empty() ? "" : ", ") + parts.back().type;
  }
  // A single slice is a value that everything behind it is made from.
  bool isSingle = parts.size() == 1;
  if (isSingle)
    steps.push_back(parts[0]);
  Step joined;
  joined.name = "%v" + std::to_string(nextName++);
  joined.shape = parts[0].shape;
  joined.shape[target] *= static_cast<int64_t>(parts.size());
  joined.moves = joined.concatenates = true;
  int64_t outer = 1;
  for (size_t other = 0; other < target; ++other)
    outer *= joined.shape[other];
  int64_t length = getCount(parts[0].shape) / outer;
  for (int64_t row = 0; row < outer; ++row)
    for (const Step &part : parts)
      joined.elements.insert(joined.elements.end(),
                             part.elements.begin() + row * length,
                             part.elements.begin() + (row + 1) * length);
  if (isSingle)
    joined.elements = getIota(getCount(joined.shape));
  joined.type = getType(joined.shape, getStrides(joined.shape));
  body += "  " + joined.name + " = tp.concat " + names + " dim " +
          std::to_string(target) + " : (" + types + ") -> " + joined.type +
          "\n";
  steps.push_back(std::move(joined));
}

void ChainWriter::add() {
  const Shape shape = last().shape;
  switch (pick(6)) {
  case 0: {
    std::vector<int64_t> permutation = getIota(shape.size());
    std::shuffle(permutation.begin(), permutation.end(), random);
    return permute(permutation);
  }
  case 1: {
    // A dim for the ranks, or one less.
    Shape split = shape;
    size_t dim = pick(shape.size());
    if (shape.size() < 4 && shape[dim] % numRanks == 0) {
      split[dim] /= numRanks;
      split.insert(split.begin() + dim, numRanks);
    } else if (shape.size() > 1) {
      dim = pick(shape.size() - 1);
      split[dim] *= split[dim + 1];
      split.erase(split.begin() + dim + 1);
    }
    return reshape(split);
  }
  case 2: {
    // The spelling of symbolic sizes as a whole.
    if (shape.size() > 2 || shape[0] % numRanks != 0)
      return reassemble();
    Shape split = shape, merged = shape;
    split[0] /= numRanks;
    split.insert(split.begin(), numRanks);
    std::vector<int64_t> permutation = getIota(split.size());
    std::swap(permutation[0], permutation[1]);
    merged[0] /= numRanks;
    merged.back() *= numRanks;
    reshape(split);
    permute(permutation);
    return reshape(merged);
  }
  default:
    return reassemble();
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

static std::string getGroup(int64_t numRanks) {
  std::string group = "group <\"0\", [";
  for (int64_t rank = 0; rank < numRanks; ++rank)
    group += (rank ? ", " : "") + std::to_string(rank);
  return group + "]>";
}

namespace {
/// A program, and whether its collective is one along another dim.
struct Program {
  std::string text;
  bool isReindexed = false;
};
} // namespace

/// Whether `holds` for an axis that the ranks can share.
static bool anyAxis(const Shape &shape, int64_t numRanks,
                    llvm::function_ref<bool(size_t)> holds) {
  for (size_t axis = 0; axis < shape.size(); ++axis)
    if (shape[axis] % numRanks == 0 && holds(axis))
      return true;
  return false;
}

static Shape getBlock(Shape shape, size_t axis, int64_t numRanks) {
  shape[axis] /= numRanks;
  return shape;
}

/// What `step` is of `inputs`, by what it is of the value before.
static std::vector<int64_t> compose(const std::vector<int64_t> &inputs,
                                    const Step &step) {
  std::vector<int64_t> elements = step.elements;
  for (int64_t &element : elements)
    element = inputs[element];
  return elements;
}

static Program makeGather(std::mt19937_64 &random, int64_t numRanks) {
  ChainWriter writer(random, numRanks);
  Shape shard;
  for (int64_t rank = 1 + writer.pick(3); rank > 0; --rank)
    shard.push_back(1 + writer.pick(4));
  std::string input = getType(shard, getStrides(shard));
  Shape whole = shard;
  whole[0] *= numRanks;
  bool isAsync = writer.pick(2);
  std::string type = getType(whole, getStrides(whole));
  writer.body = "  %g = tp.all_gather %x gather_axis 0 " + getGroup(numRanks) +
                (isAsync ? " async : " : " : ") + input + " -> " + type + "\n";
  if (isAsync)
    writer.body += "  %w = tp.wait %g : " + type + " -> " + type + "\n";
  writer.start(isAsync ? "%w" : "%g", whole);
  for (int64_t count = 1 + writer.pick(3); count > 0; --count)
    if (getCount(writer.steps.back().shape) <= 512)
      writer.add();

  Program program;
  const std::vector<int64_t> gathered = getIota(getCount(whole));
  std::vector<int64_t> elements = gathered;
  bool hasMoved = false;
  for (const Step &step : ArrayRef(writer.steps).drop_front()) {
    elements = compose(elements, step);
    hasMoved |= step.moves;
    // What only puts together what was gathered is taken away, and what led
    // there.
    if (step.concatenates && elements == gathered && step.shape == whole)
      hasMoved = program.isReindexed = false;
    program.isReindexed |= anyAxis(step.shape, numRanks, [&](size_t axis) {
      return axis != 0 &&
             (getBlock(step.shape, axis, numRanks) == shard || hasMoved) &&
             getBlocks(step.shape, elements, axis, numRanks) == gathered;
    });
  }
  const Step &last = writer.steps.back();
  program.text = "module {\nfunc.func @main(%x: " + input + ") -> (" +
                 last.type + ") {\n" + writer.body + "  %r = tp.map relu(" +
                 last.name + ") : (" + last.type + ") -> " + last.type +
                 "\n  return %r : " + last.type + "\n}\n}\n";
  return program;
}

static Program makeScatter(std::mt19937_64 &random, int64_t numRanks) {
  ChainWriter writer(random, numRanks);
  // Until there is something that the ranks can share.
  while (true) {
    writer.body.clear();
    writer.steps.clear();
    Shape whole;
    for (int64_t rank = 1 + writer.pick(3); rank > 0; --rank)
      whole.push_back(1 + writer.pick(4));
    whole[writer.pick(whole.size())] *= numRanks;
    writer.start("%x", whole);
    for (int64_t count = 1 + writer.pick(3); count > 0; --count)
      if (writer.steps.size() < 5)
        writer.add();
    const Shape &shape = writer.steps.back().shape;
    if (shape[0] % numRanks == 0 && getCount(shape) <= 512)
      break;
  }
  Program program;
  const Step &last = writer.steps.back();
  Shape block = getBlock(last.shape, 0, numRanks);
  std::vector<int64_t> elements = getIota(getCount(last.shape));
  bool hasMoved = false, hasConcat = false;
  for (size_t index = writer.steps.size() - 1; index > 0; --index) {
    const Step &step = writer.steps[index], &source = writer.steps[index - 1];
    // The operand by the elements of the source.
    for (int64_t &element : elements)
      element = step.elements[element];
    hasMoved |= step.moves;
    hasConcat |= step.concatenates;
    // Collectives need dense inputs.
    if (!source.isDense)
      continue;
    program.isReindexed |= anyAxis(source.shape, numRanks, [&](size_t axis) {
      bool isExact = getBlock(source.shape, axis, numRanks) == block;
      return (isExact ? axis != 0 || hasConcat : hasMoved) &&
             getBlocks(source.shape, getIota(getCount(source.shape)), axis,
                       numRanks) == elements;
    });
  }
  std::string result = getType(block, getStrides(block));
  program.text = "module {\nfunc.func @main(%x: " + writer.steps[0].type +
                 ") -> (" + result + ") {\n" + writer.body +
                 "  %s = tp.reduce_scatter sum " + last.name +
                 " scatter_axis 0 " + getGroup(numRanks) + " : " + last.type +
                 " -> " + result + "\n  return %s : " + result + "\n}\n}\n";
  return program;
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

static void testChains(MLIRContext &context, bool isGather) {
  uint64_t numChains = getNumber("COMMUTE_RANDOM_CHAINS", 1500);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  unsigned numReindexed = 0, numRestored = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numChains; ++seed) {
    std::mt19937_64 random(seed);
    constexpr int64_t groupSizes[] = {2, 3, 4, 8};
    int64_t numRanks = groupSizes[random() % 4];
    Program program =
        isGather ? makeGather(random, numRanks) : makeScatter(random, numRanks);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + program.text);
    OwningOpRef<ModuleOp> before =
        parseSourceString<ModuleOp>(program.text, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runPass(*after, createNormalizeCollectives())));
    ASSERT_TRUE(succeeded(verify(*after))) << print(*after);
    bool isReindexed = false;
    after->walk(
        [&](Operation *op) { isReindexed |= op->hasAttr("tp.spelling"); });
    ASSERT_EQ(isReindexed, program.isReindexed) << print(*after);
    numReindexed += isReindexed;
    if (isSame(*before, *after))
      continue;
    ASSERT_TRUE(isProvenEquivalent(*before, *after));

    ASSERT_TRUE(isFixedPoint(*after, [](ModuleOp module) {
      return runPass(module, createNormalizeCollectives());
    }));

    // Lowered, it is what it was, but for the concatenations taken away: then
    // all that was made of it comes back.
    OwningOpRef<ModuleOp> lowered = after->clone();
    ASSERT_TRUE(succeeded(runPass(*lowered, createLowerCollectives())));
    numRestored += isSame(*before, *lowered);
    OwningOpRef<ModuleOp> renewed = lowered->clone();
    ASSERT_TRUE(succeeded(runPass(*renewed, createNormalizeCollectives())));
    ASSERT_TRUE(isSame(*after, *renewed)) << print(*after) << print(*lowered);
  }
  EXPECT_GT(numRestored * 5, numReindexed * 4);
  EXPECT_GT(numReindexed * 20, numChains);
  EXPECT_LT(numReindexed, numChains);
}

TEST(NormalizeCollectives, RandomGathers) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  testChains(context, /*isGather=*/true);
}

TEST(NormalizeCollectives, RandomScatters) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  testChains(context, /*isGather=*/false);
}
