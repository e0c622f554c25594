//===- ChainedCollectivesTest.cpp - random chains over two axes -----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random meshes of ranks, with two collectives over their axes one behind the
// other and rearrangements around them. Whether what comes out is one
// collective over the group that the program has is told by following every
// element on every rank; normalize-collectives has to find it then, whatever it
// finds has to be proven, and the same ops have to come back.
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
using Members = std::vector<std::vector<int64_t>>;

/// Which element of which rank, of the values of the ranks that are combined.
using Element = std::vector<std::pair<int64_t, int64_t>>;

struct RankTensor {
  Shape shape;
  std::vector<Element> elements;
};

} // namespace

static int64_t getCount(const Shape &shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                         std::multiplies<>());
}

static std::string join(const std::vector<int64_t> &numbers,
                        StringRef between) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : between.str()) + std::to_string(number);
  return text;
}

static Shape getStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

static std::string getType(const Shape &shape, const Shape &strides) {
  std::string layout;
  if (strides != getStrides(shape))
    layout = ", #tp.layout<strides = [" + join(strides, ", ") + "]>";
  return "tensor<" + join(shape, "x") + "xf32" + layout + ">";
}

static std::string getType(const Shape &shape) {
  return getType(shape, getStrides(shape));
}

static std::string getGroup(StringRef name, const Members &groups) {
  std::string text;
  for (const std::vector<int64_t> &members : groups)
    text += (text.empty() ? "[" : ", [") + join(members, ", ") + "]";
  return "<\"" + name.str() + "\", " +
         (groups.size() == 1 ? text : "[" + text + "]") + ">";
}

static const std::vector<int64_t> &getGroupOf(const Members &groups,
                                              int64_t rank) {
  return *llvm::find_if(groups, [&](const std::vector<int64_t> &members) {
    return llvm::is_contained(members, rank);
  });
}

/// Calls `visit` with every index of a shape, in row-major order.
static void forEachIndex(const Shape &shape,
                         llvm::function_ref<void(const Shape &)> visit) {
  Shape index(shape.size(), 0);
  for (int64_t count = getCount(shape); count > 0; --count) {
    visit(index);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++index[dim] < shape[dim])
        break;
      index[dim] = 0;
    }
  }
}

static const Element &getElement(const RankTensor &tensor, const Shape &index) {
  int64_t position = 0;
  for (size_t dim = 0; dim < index.size(); ++dim)
    position = position * tensor.shape[dim] + index[dim];
  return tensor.elements[position];
}

namespace {

/// The values of all ranks, and the program that computes them.
class MeshProgram {
public:
  MeshProgram(std::mt19937_64 &random, const Shape &shape, int64_t numRanks)
      : random(random) {
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      RankTensor &tensor = ranks.emplace_back();
      tensor.shape = shape;
      for (int64_t index = 0; index < getCount(shape); ++index)
        tensor.elements.push_back({{rank, index}});
    }
    start = ranks;
    value = "%x";
  }

  int64_t pick(int64_t limit) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  }
  const Shape &getShape() const { return ranks.front().shape; }
  void gather(size_t axis, StringRef name, const Members &groups);
  void scatter(size_t axis, StringRef name, const Members &groups);
  /// Cuts a dim into blocks and moves these to another one, or to another
  /// place.
  void rearrange(int64_t count);
  /// Whether the ranks have the all_gather of the input, or the reduce_scatter
  /// of it, along `axis`.
  bool isGather(size_t axis, const Members &groups) const;
  bool isScatter(size_t axis, const Members &groups) const;
  std::string getText(const Members &known) const;

private:
  std::string addOp(const std::string &op, const std::string &type) {
    std::string before = value;
    value = "%v" + std::to_string(nextName++);
    body += "  " + value + " = tp." + op + " : " + type + "\n";
    return before;
  }
  void addCollective(const std::string &op, const Shape &before, bool isAsync);

  std::mt19937_64 &random;
  std::vector<RankTensor> start, ranks;
  std::string body, value;
  unsigned nextName = 0;
};

} // namespace

void MeshProgram::addCollective(const std::string &op, const Shape &before,
                                bool isAsync) {
  std::string type = getType(getShape());
  addOp(op + (isAsync ? " async" : ""), getType(before) + " -> " + type);
  if (isAsync)
    addOp("wait " + value, type + " -> " + type);
}

static RankTensor concatenate(ArrayRef<const RankTensor *> parts, size_t axis) {
  RankTensor whole;
  whole.shape = parts.front()->shape;
  int64_t size = whole.shape[axis];
  whole.shape[axis] *= static_cast<int64_t>(parts.size());
  forEachIndex(whole.shape, [&](const Shape &index) {
    Shape inside = index;
    inside[axis] %= size;
    whole.elements.push_back(getElement(*parts[index[axis] / size], inside));
  });
  return whole;
}

/// Block `position` of `count` along `axis` of the sum.
static RankTensor sumBlock(ArrayRef<const RankTensor *> parts, size_t axis,
                           int64_t position, int64_t count) {
  RankTensor block;
  block.shape = parts.front()->shape;
  block.shape[axis] /= count;
  forEachIndex(block.shape, [&](const Shape &index) {
    Shape outside = index;
    outside[axis] += position * block.shape[axis];
    Element &sum = block.elements.emplace_back();
    for (const RankTensor *part : parts)
      llvm::append_range(sum, getElement(*part, outside));
    llvm::sort(sum);
  });
  return block;
}

static std::vector<RankTensor> gatherAll(const std::vector<RankTensor> &ranks,
                                         size_t axis, const Members &groups) {
  std::vector<RankTensor> result;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<const RankTensor *> parts;
    for (int64_t member : getGroupOf(groups, rank))
      parts.push_back(&ranks[member]);
    result.push_back(concatenate(parts, axis));
  }
  return result;
}

static std::vector<RankTensor> scatterAll(const std::vector<RankTensor> &ranks,
                                          size_t axis, const Members &groups) {
  std::vector<RankTensor> result;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<int64_t> &members = getGroupOf(groups, rank);
    std::vector<const RankTensor *> parts;
    for (int64_t member : members)
      parts.push_back(&ranks[member]);
    auto position = llvm::find(members, int64_t(rank)) - members.begin();
    result.push_back(sumBlock(parts, axis, position, members.size()));
  }
  return result;
}

void MeshProgram::gather(size_t axis, StringRef name, const Members &groups) {
  Shape before = getShape();
  ranks = gatherAll(ranks, axis, groups);
  addCollective("all_gather " + value + " gather_axis " + std::to_string(axis) +
                    " group " + getGroup(name, groups),
                before, pick(2));
}

void MeshProgram::scatter(size_t axis, StringRef name, const Members &groups) {
  Shape before = getShape();
  ranks = scatterAll(ranks, axis, groups);
  addCollective("reduce_scatter sum " + value + " scatter_axis " +
                    std::to_string(axis) + " group " + getGroup(name, groups),
                before, pick(2));
}

void MeshProgram::rearrange(int64_t count) {
  Shape shape = getShape();
  std::vector<size_t> fitting;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    if (shape[dim] % count == 0)
      fitting.push_back(dim);
  if (fitting.empty())
    return;
  size_t from = fitting[pick(fitting.size())], to = pick(shape.size());
  // [.., count, rest, ..]: either is moved in front of dim `to`.
  Shape split = shape;
  split[from] /= count;
  split.insert(split.begin() + from, count);
  size_t moved = from + (to == from ? 1 : 0);
  std::vector<int64_t> permutation(split.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  permutation.erase(permutation.begin() + moved);
  permutation.insert(permutation.begin() + to, moved);
  Shape permuted, strides, splitStrides = getStrides(split);
  for (int64_t dim : permutation) {
    permuted.push_back(split[dim]);
    strides.push_back(splitStrides[dim]);
  }
  Shape merged = permuted;
  size_t last = std::min(to, merged.size() - 2);
  merged[last] *= merged[last + 1];
  merged.erase(merged.begin() + last + 1);
  for (RankTensor &tensor : ranks) {
    RankTensor next;
    next.shape = merged;
    forEachIndex(permuted, [&](const Shape &index) {
      int64_t position = 0;
      for (size_t dim = 0; dim < index.size(); ++dim)
        position += index[dim] * strides[dim];
      next.elements.push_back(tensor.elements[position]);
    });
    tensor = std::move(next);
  }
  std::string view = getType(permuted, strides);
  addOp("reshape " + value, getType(shape) + " -> " + getType(split));
  addOp("permute " + value + " [" + join(permutation, ", ") + "]",
        getType(split) + " -> " + view);
  addOp("copy " + value, view + " -> " + getType(permuted));
  addOp("reshape " + value, getType(permuted) + " -> " + getType(merged));
}

static bool areSame(const std::vector<RankTensor> &a,
                    const std::vector<RankTensor> &b) {
  for (auto [x, y] : llvm::zip_equal(a, b))
    if (x.shape != y.shape || x.elements != y.elements)
      return false;
  return true;
}

bool MeshProgram::isGather(size_t axis, const Members &groups) const {
  return areSame(ranks, gatherAll(start, axis, groups));
}

bool MeshProgram::isScatter(size_t axis, const Members &groups) const {
  return start.front().shape[axis] % int64_t(groups.front().size()) == 0 &&
         areSame(ranks, scatterAll(start, axis, groups));
}

std::string MeshProgram::getText(const Members &known) const {
  std::string type = getType(getShape());
  return "module attributes {tp.groups = [#tp.group" +
         getGroup("known", known) +
         "]} {\nfunc.func @main(%x: " + getType(start.front().shape) + ") -> " +
         type + " {\n" + body + "  %r = tp.map relu(" + value + ") : (" + type +
         ") -> " + type + "\n  return %r : " + type + "\n}\n}\n";
}

//===----------------------------------------------------------------------===//
// The test
//===----------------------------------------------------------------------===//

static void testChains(bool isGather) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numChains = getNumber("COMMUTE_RANDOM_CHAINS", 600);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  unsigned numExpected = 0, numJoined = 0, numRestored = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numChains; ++seed) {
    std::mt19937_64 random(seed);
    constexpr std::pair<int64_t, int64_t> meshes[] = {
        {2, 2}, {2, 3}, {3, 2}, {2, 4}, {4, 2}};
    auto [numRows, numColumns] = meshes[random() % 5];
    int64_t numRanks = numRows * numColumns;
    std::vector<int64_t> mesh(numRanks);
    std::iota(mesh.begin(), mesh.end(), 0);
    if (random() % 3 == 0)
      std::shuffle(mesh.begin(), mesh.end(), random);
    Members rows(numRows), columns(numColumns), known(1);
    for (int64_t index = 0; index < numRanks; ++index) {
      rows[index / numColumns].push_back(mesh[index]);
      columns[index % numColumns].push_back(mesh[index]);
    }
    // One order or the other, or any.
    for (const std::vector<int64_t> &members : random() % 2 ? rows : columns)
      llvm::append_range(known[0], members);
    if (random() % 4 == 0)
      std::shuffle(known[0].begin(), known[0].end(), random);
    bool rowsFirst = random() % 2;
    const Members &first = rowsFirst ? rows : columns;
    const Members &second = rowsFirst ? columns : rows;

    Shape shape;
    for (int64_t rank = 1 + int64_t(random() % 2); rank > 0; --rank)
      shape.push_back(1 + int64_t(random() % 3));
    if (!isGather)
      shape[random() % shape.size()] *= numRanks;
    MeshProgram program(random, shape, numRanks);
    auto add = [&](StringRef name, const Members &groups) {
      auto size = int64_t(groups.front().size());
      if (isGather)
        return program.gather(program.pick(shape.size()), name, groups);
      for (size_t axis = 0; axis < program.getShape().size(); ++axis)
        if (program.getShape()[axis] % size == 0)
          return program.scatter(axis, name, groups);
    };
    if (!isGather && program.pick(2))
      program.rearrange(program.pick(2) ? numRows : numColumns);
    add("first", first);
    if (program.pick(3) == 0)
      program.rearrange(first.front().size());
    add("second", second);
    if (isGather && program.pick(2))
      program.rearrange(program.pick(2) ? numRows : numColumns);
    std::string text = program.getText(known);
    bool isOne = false;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      isOne |= isGather ? program.isGather(axis, known)
                        : program.isScatter(axis, known);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);

    OwningOpRef<ModuleOp> before = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(before);
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runPass(*after, createNormalizeCollectives())));
    ASSERT_TRUE(succeeded(verify(*after))) << print(*after);
    unsigned numKnown = 0, numOthers = 0;
    after->walk([&](tp::CollectiveOpInterface op) {
      ++(op.getCollectiveGroup().getName() == "known" ? numKnown : numOthers);
    });
    ASSERT_TRUE(!isOne || (numKnown == 1 && numOthers == 0)) << print(*after);
    numExpected += isOne;
    numJoined += numKnown;
    if (isSame(*before, *after))
      continue;
    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    ASSERT_TRUE(isFixedPoint(*after, [](ModuleOp module) {
      return runPass(module, createNormalizeCollectives());
    }));
    // Where nobody used it, the chain comes back: as it is lowered by itself,
    // but where dims of size 1 leave several spellings.
    OwningOpRef<ModuleOp> lowered = after->clone();
    ASSERT_TRUE(succeeded(runPass(*lowered, createLowerCollectives())));
    OwningOpRef<ModuleOp> expected = before->clone();
    ASSERT_TRUE(succeeded(runPass(*expected, createLowerCollectives())));
    numRestored += numKnown > 0 && isSame(*expected, *lowered);
    lowered->walk([&](tp::CollectiveOpInterface op) {
      EXPECT_NE(op.getCollectiveGroup().getName(), "known") << print(*lowered);
    });
    ASSERT_TRUE(isProvenEquivalent(*before, *lowered));
  }
  // Both are there: chains that are one collective, and others.
  EXPECT_GT(numExpected * 20, numChains);
  EXPECT_LT(numJoined * 2, numChains);
  EXPECT_GT(numRestored * 10, numJoined * 9);
}

TEST(ChainedCollectives, RandomGathers) { testChains(/*isGather=*/true); }

TEST(ChainedCollectives, RandomScatters) { testChains(/*isGather=*/false); }
