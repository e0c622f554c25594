//===- SplitLinearTest.cpp - products of parts in random programs ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Random programs of concatenations, slices, products, views and gathers go
// through split-linear; are proven equivalent on two ranks; and go through it
// once more, which must change nothing. Where rewrites have to pay, no program
// may get more expensive. COMMUTE_RANDOM_GRAPHS says how many,
// COMMUTE_RANDOM_SEED where they begin; `make fuzz` runs many.
//
//===----------------------------------------------------------------------===//

#include "OpDraft.h"
#include "PassPrices.h"
#include "PassTesting.h"

#include "commute/Transforms/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace commute;
using commute::test::getNumber;
using commute::test::isFixedPoint;
using commute::test::isProvenEquivalent;
using commute::test::isSame;
using commute::test::print;

namespace {

class Generator {
public:
  Generator(MLIRContext &context, uint64_t seed)
      : random(seed), builder(&context), location(builder.getUnknownLoc()),
        draft(&context) {}

  OwningOpRef<ModuleOp> run();

private:
  int64_t pick(int64_t limit) { return int64_t(random() % uint64_t(limit)); }
  static RankedTensorType getTensor(Value value) {
    return cast<RankedTensorType>(value.getType());
  }
  static SmallVector<int64_t> getShape(Value value) {
    return SmallVector<int64_t>(getTensor(value).getShape());
  }
  RankedTensorType getType(ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  }
  /// Late values more often than early ones: chains grow.
  Value pickValue() {
    return values[std::max(pick(values.size()), pick(values.size()))];
  }
  Value addInput(ArrayRef<int64_t> shape);
  /// A value of this shape: an input, one that is there, or, for a part, zeros.
  Value getValue(ArrayRef<int64_t> shape, bool isPart = false);
  /// Repeated rows, or a constant. Only weights are multiplied with them: a sum
  /// over a dim that nothing but constants and repeated values has would say
  /// how long it is, and no proof that makes sizes smaller could follow it.
  Value getSpecialPart(ArrayRef<int64_t> shape);
  void addConcat();
  void addSlice();
  void addProduct();
  void addProductOfParts();
  void addView();
  void addGather();

  std::mt19937_64 random;
  OpBuilder builder;
  Location location;
  OpDraft draft;
  func::FuncOp function;
  SmallVector<Value> values;
};

} // namespace

Value Generator::addInput(ArrayRef<int64_t> shape) {
  Block &block = function.getBody().front();
  Value input = block.addArgument(getType(shape), location);
  function.setType(builder.getFunctionType(block.getArgumentTypes(), {}));
  if (pick(2)) {
    auto replicated = tp::PlacementAttr::getReplicated(builder.getContext());
    function.setArgAttr(
        block.getNumArguments() - 1, tp::TPDialect::placementsAttrName,
        builder.getDictionaryAttr(builder.getNamedAttr("0", replicated)));
  }
  return input;
}

Value Generator::getValue(ArrayRef<int64_t> shape, bool isPart) {
  SmallVector<Value> alike;
  for (Value value : values)
    if (ArrayRef(getShape(value)) == shape)
      alike.push_back(value);
  switch (pick(6)) {
  case 0:
    if (isPart)
      return draft.add<tp::ConstantOp>(location, getType(shape),
                                       builder.getF32FloatAttr(0));
    return addInput(shape);
  case 1:
  case 2:
    return addInput(shape);
  default:
    return alike.empty() ? addInput(shape) : alike[pick(alike.size())];
  }
}

Value Generator::getSpecialPart(ArrayRef<int64_t> shape) {
  if (pick(2))
    return draft.add<tp::ConstantOp>(location, getType(shape),
                                     builder.getF32FloatAttr(double(pick(3))));
  SmallVector<int64_t> once(shape);
  for (int64_t &size : MutableArrayRef(once).drop_back())
    size = pick(2) ? 1 : size;
  return draft.add<tp::BroadcastOp>(location, getType(shape), addInput(once));
}

void Generator::addProductOfParts() {
  Value first = pickValue();
  SmallVector<int64_t> shape = getShape(first);
  SmallVector<Value> parts = {first};
  for (int64_t count = 1 + pick(3); count > 0; --count) {
    SmallVector<int64_t> part = shape;
    part.back() = pick(2) ? shape.back() : 1 + pick(4);
    parts.push_back(pick(2) ? getSpecialPart(part) : getValue(part));
  }
  std::swap(parts.front(), parts[pick(parts.size())]);
  shape.back() = 0;
  for (Value part : parts)
    shape.back() += getShape(part).back();
  Value joined = draft.add<tp::ConcatOp>(location, getType(shape), parts,
                                         int64_t(shape.size()) - 1);
  if (shape.size() == 3 && pick(3) == 0) {
    shape = {shape[0] * shape[1], shape[2]};
    joined = draft.add<tp::ReshapeOp>(location, getType(shape), joined);
  }
  int64_t columns = 1 + pick(6);
  Value weight = addInput({columns, shape.back()});
  shape.back() = columns;
  Value bias = pick(2) ? addInput({columns}) : Value();
  values.push_back(draft.add<tp::MatmulOp>(
      location, getType(shape), joined, weight, bias, /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), /*transpose_lhs=*/false, /*transpose_rhs=*/true));
}

void Generator::addConcat() {
  Value first = pickValue();
  SmallVector<int64_t> shape = getShape(first);
  int64_t dim = pick(shape.size());
  SmallVector<Value> parts = {first};
  for (int64_t count = 1 + pick(3); count > 0; --count) {
    SmallVector<int64_t> part = shape;
    if (pick(2))
      part[dim] = 1 + pick(4);
    parts.push_back(getValue(part, /*isPart=*/true));
  }
  if (pick(2))
    std::swap(parts.front(), parts.back());
  shape[dim] = 0;
  for (Value part : parts)
    shape[dim] += getShape(part)[dim];
  if (shape[dim] > 24)
    return;
  values.push_back(
      draft.add<tp::ConcatOp>(location, getType(shape), parts, dim));
}

void Generator::addSlice() {
  Value value = pickValue();
  SmallVector<int64_t> shape = getShape(value);
  int64_t dim = pick(shape.size());
  int64_t start = pick(shape[dim]);
  int64_t step = 1 + (pick(4) == 0);
  int64_t most = (shape[dim] - start + step - 1) / step;
  shape[dim] = 1 + pick(most);
  values.push_back(draft.add<tp::SliceOp>(location, getType(shape), value, dim,
                                          start, step, /*blocks=*/false));
}

void Generator::addProduct() {
  Value lhs = pickValue();
  SmallVector<int64_t> shape = getShape(lhs);
  bool isLeftTurned = shape.size() == 2 && pick(4) == 0;
  bool isRightTurned = pick(2);
  int64_t inner = shape[shape.size() - (isLeftTurned ? 2 : 1)];
  int64_t columns = 1 + pick(6);
  SmallVector<int64_t> right = {inner, columns};
  if (isRightTurned)
    std::swap(right[0], right[1]);
  if (shape.size() == 3 && pick(3) == 0)
    right.insert(right.begin(), shape.front());
  Value rhs = getValue(right);
  SmallVector<int64_t> result = shape;
  if (isLeftTurned)
    result[0] = shape[1];
  result.back() = columns;
  Value bias;
  switch (pick(4)) {
  case 0:
    bias = getValue({columns});
    break;
  case 1:
    bias = getValue(result);
    break;
  default:
    break;
  }
  values.push_back(draft.add<tp::MatmulOp>(
      location, getType(result), lhs, rhs, bias, /*lhs_scale=*/Value(),
      /*rhs_scale=*/Value(), isLeftTurned, isRightTurned));
}

void Generator::addView() {
  Value value = pickValue();
  SmallVector<int64_t> shape = getShape(value);
  switch (pick(4)) {
  case 0: {
    SmallVector<int64_t> merged = {shape[0] * shape[1]};
    merged.append(shape.begin() + 2, shape.end());
    if (merged.size() < 2)
      return;
    values.push_back(
        draft.add<tp::ReshapeOp>(location, getType(merged), value));
    return;
  }
  case 1: {
    if (shape[0] % 2 != 0 || shape.size() > 2)
      return;
    shape.insert(shape.begin(), 2);
    shape[1] /= 2;
    values.push_back(draft.add<tp::ReshapeOp>(location, getType(shape), value));
    return;
  }
  case 2: {
    auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
    std::swap(permutation[pick(shape.size())], permutation[0]);
    SmallVector<int64_t> permuted;
    for (int64_t dim : permutation)
      permuted.push_back(shape[dim]);
    values.push_back(draft.add<tp::PermuteOp>(location, getType(permuted),
                                              value, permutation));
    return;
  }
  default:
    values.push_back(draft.add<tp::MapOp>(
        location, getType(shape), tp::MapFunction::Silu, ValueRange{value}));
  }
}

void Generator::addGather() {
  Value value = pickValue();
  SmallVector<int64_t> shape = getShape(value);
  if (shape.back() > 8)
    return;
  Value dense = draft.add<tp::CopyOp>(location, getType(shape), value,
                                      /*preserve_strides=*/false);
  int64_t dim = pick(3) ? shape.size() - 1 : 0;
  shape[dim] *= 2;
  auto group = tp::GroupAttr::get(builder.getContext(), "0", 2, {0, 1});
  values.push_back(draft.add<tp::AllGatherOp>(location, getType(shape), dense,
                                              dim, group, /*async=*/false));
}

OwningOpRef<ModuleOp> Generator::run() {
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  if (pick(2)) {
    (*module)->setAttr(tp::TPDialect::rankSpecificAttrName,
                       builder.getUnitAttr());
    (*module)->setAttr(tp::TPDialect::rankAttrName,
                       builder.getI64IntegerAttr(0));
  }
  builder.setInsertionPointToStart(module->getBody());
  function = func::FuncOp::create(builder, location, "main",
                                  builder.getFunctionType({}, {}));
  Block *block = function.addEntryBlock();
  values.push_back(addInput({2 + pick(3), 2 + pick(5)}));
  values.push_back(addInput({2 + pick(2), 2 + pick(3), 2 + pick(5)}));
  addGather();
  for (int64_t count = 4 + pick(14); count > 0; --count) {
    switch (pick(12)) {
    case 0:
    case 1:
    case 2:
      addConcat();
      break;
    case 10:
    case 11:
      addProductOfParts();
      break;
    case 3:
    case 4:
      addSlice();
      break;
    case 5:
    case 6:
    case 7:
      addProduct();
      break;
    case 8:
      addView();
      break;
    default:
      addGather();
    }
  }
  SmallVector<Value> outputs = {values.back()};
  for (Value value : values)
    if (value.getDefiningOp() && pick(8) == 0)
      outputs.push_back(value);
  builder.setInsertionPointToEnd(block);
  auto end = func::ReturnOp::create(builder, location, outputs);
  draft.insertBefore(end);
  function.setType(builder.getFunctionType(block->getArgumentTypes(),
                                           ValueRange(outputs).getTypes()));
  return module;
}

static LogicalResult runSplitLinear(ModuleOp module, Policy policy,
                                    bool exactRounding) {
  PassManager manager(module.getContext());
  SplitLinearOptions options;
  options.policy = policy;
  options.exactRounding = exactRounding;
  manager.addNestedPass<func::FuncOp>(createSplitLinear(options));
  return manager.run(module);
}

static double getSeconds(ModuleOp module) {
  auto function = *module.getOps<func::FuncOp>().begin();
  llvm::Expected<std::unique_ptr<PassPrices>> prices =
      PassPrices::load("h100x8", function);
  double seconds = 0;
  if (!prices) {
    ADD_FAILURE() << llvm::toString(prices.takeError());
    return seconds;
  }
  function.walk([&](Operation *op) {
    seconds += (*prices)->getModel().getSeconds(op).value_or(0);
  });
  return seconds;
}

TEST(SplitLinear, RandomProgramsStayEquivalent) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  uint64_t numGraphs = getNumber("COMMUTE_RANDOM_GRAPHS", 1000);
  uint64_t firstSeed = getNumber("COMMUTE_RANDOM_SEED", 1);
  unsigned numChanged = 0, numSums = 0;
  for (uint64_t seed = firstSeed; seed < firstSeed + numGraphs; ++seed) {
    OwningOpRef<ModuleOp> before = Generator(context, seed).run();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(*before));
    ASSERT_TRUE(succeeded(mlir::verify(*before)));
    bool isAlways = seed % 4 != 0;
    Policy policy = isAlways ? Policy::Always : Policy::Profitable;
    bool exactRounding = seed % 8 == 5;
    OwningOpRef<ModuleOp> after = before->clone();
    ASSERT_TRUE(succeeded(runSplitLinear(*after, policy, exactRounding)));
    if (isSame(*before, *after))
      continue;
    ++numChanged;
    after->walk([&](tp::AllReduceOp) { ++numSums; });

    ASSERT_TRUE(isProvenEquivalent(*before, *after));
    if (!isAlways) {
      EXPECT_LE(getSeconds(*after), getSeconds(*before)) << print(*after);
    }

    EXPECT_TRUE(isFixedPoint(*after, [&](ModuleOp module) {
      return runSplitLinear(module, policy, exactRounding);
    }));
  }
  // The programs exercise what they are for, where there are many.
  if (numGraphs < 100)
    return;
  EXPECT_GT(numChanged * 5, numGraphs);
  EXPECT_GT(numSums * 20, numGraphs);
}
