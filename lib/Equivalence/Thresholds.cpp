//===- Thresholds.cpp - where computed numbers change -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Thresholds.h"

#include "FieldFunctions.h"
#include "ThresholdNumbers.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// More numbers than these are not followed for one value.
static constexpr size_t maxThresholds = 24;
/// Longer dims are not evaluated whole because something is counted along them.
static constexpr int64_t maxCounted = 1024;
/// Larger numbers are not met by integers that are drawn.
static constexpr double maxThreshold = 1e15;

/// The integers on both sides of numbers.
static SmallVector<int64_t> getBorders(ArrayRef<double> numbers) {
  SmallVector<int64_t> borders;
  for (double number : numbers) {
    borders.push_back(static_cast<int64_t>(std::floor(number)));
    borders.push_back(static_cast<int64_t>(std::ceil(number)));
  }
  return borders;
}

static bool isTruth(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return !type || isTruthType(type.getElementType());
}

//===----------------------------------------------------------------------===//
// Which values
//===----------------------------------------------------------------------===//

/// Whether results are numbers that the prover knows if the operands are.
static bool computesExactly(Operation *op) {
  if (auto map = dyn_cast<tp::MapOp>(op))
    switch (map.getFunction()) {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  case MapFunction::Name:                                                      \
    return MapFunction::Name != MapFunction::Log &&                            \
           MapFunction::Name != MapFunction::Silu;
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:                                                      \
    return false;
#include "commute/Dialect/ScalarFunctions.def"
    }
  if (auto rowwise = dyn_cast<tp::RowwiseOp>(op))
    return rowwise.getFunction() == tp::RowFunction::CumulativeSum;
  return !isa<tp::CallOp, tp::EmptyOp, tp::AttentionOp,
              tp::AttentionBackwardOp>(op);
}

bool ThresholdFinder::isExact(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type &&
         (isa<IntegerType>(type.getElementType()) || exact.contains(value));
}

void ThresholdFinder::add(Value value, double number) {
  if (!isExact(value) || isTruth(value) || !std::isfinite(number) ||
      std::abs(number) > maxThreshold || getUniformNumber(value))
    return;
  // No element of a narrow type is on the other side.
  if (auto type = getNarrowType(value);
      type &&
      std::abs(number) > std::exp2(type.getWidth() - !type.isUnsigned()))
    return;
  Numbers &own = found[value];
  if (llvm::is_contained(own, number))
    return;
  if (own.size() < maxThresholds)
    own.push_back(number);
  else
    keepPositions(value);
}

void ThresholdFinder::addAll(Value value, ArrayRef<double> numbers) {
  for (double number : numbers)
    add(value, number);
}

void ThresholdFinder::meet(Value a, Value b) {
  // PositionFinder knows which integers meet.
  auto isFloat = [&](Value value) {
    return !PositionFinder::isFollowed(value);
  };
  if (!isExact(a) || !isExact(b) || (!isFloat(a) && !isFloat(b)))
    return;
  keepPositions(a);
  keepPositions(b);
}

void ThresholdFinder::keepPositions(Value value) {
  SmallVector<Value> pending = {value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!isExact(next) || !kept.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    if (PositionFinder::isFollowed(next))
      positions.keepVarying(next, positions.get(next));
    else if (isa_and_present<tp::IotaOp>(op))
      listener.onUnknownUse(next, 0);
    else if (op)
      llvm::append_range(pending, op->getOperands());
    // Positions that are not computed from a tp.iota.
    if (auto rowwise = dyn_cast_or_null<tp::RowwiseOp>(op))
      listener.onUnknownUse(next, static_cast<unsigned>(rowwise.getDim()));
    if (isa_and_present<tp::TriangularOp>(op)) {
      auto rank = static_cast<unsigned>(tp::getTensor(next).getRank());
      listener.onUnknownUse(next, rank - 1);
      listener.onUnknownUse(next, rank - 2);
    }
  }
}

void ThresholdFinder::keepCounted(Value summands, ArrayRef<int64_t> sumDims,
                                  ArrayRef<double> numbers) {
  // Zero and one are reached by a single index.
  if (llvm::all_of(numbers, [](double n) { return std::abs(n) <= 1; }) ||
      !isExact(summands) || getUniformNumber(summands))
    return;
  if (PositionFinder::isFollowed(summands)) {
    const PositionForm &form = positions.get(summands);
    if (!form.candidates.empty() && !form.hasUnknown && !form.hasDerived)
      return;
  }
  for (int64_t dim : sumDims)
    if (tp::getTensor(summands).getDimSize(dim) <= maxCounted)
      listener.onCounted(summands, static_cast<unsigned>(dim));
}

void ThresholdFinder::cut(Value value, unsigned dim, double start, double step,
                          ArrayRef<double> numbers) {
  if (step == 0)
    return;
  for (double number : numbers) {
    double root = std::floor((number - start) / step);
    if (std::abs(root) < maxThreshold)
      for (int64_t offset : {0, 1, 2})
        listener.onCut(value, dim, static_cast<int64_t>(root) + offset);
  }
}

void ThresholdFinder::report(ArrayRef<double> numbers) {
  for (int64_t border : getBorders(numbers))
    listener.onNumber(border);
}

//===----------------------------------------------------------------------===//
// From results to operands
//===----------------------------------------------------------------------===//

void ThresholdFinder::visitMap(tp::MapOp op, ArrayRef<double> numbers) {
  Value a = op.getOperands().front();
  Value b = op.getOperands().size() > 1 ? op.getOperands()[1] : Value();
  std::optional<double> first = getUniformNumber(a);
  std::optional<double> second = b ? getUniformNumber(b) : std::nullopt;
  auto addBoth = [&](auto ofFirst, auto ofSecond) {
    for (double number : numbers) {
      if (second)
        add(a, ofFirst(number, *second));
      else if (first)
        add(b, ofSecond(number, *first));
    }
  };
  // The operands are compared with each other.
  auto compare = [&] {
    // Positions are cut there already.
    auto isCut = [&](Value value) {
      if (!PositionFinder::isFollowed(value))
        return false;
      const PositionForm &form = positions.get(value);
      return !form.candidates.empty() && !form.hasUnknown && !form.hasDerived;
    };
    if ((second && isCut(a) && PositionFinder::isFollowed(b)) ||
        (first && isCut(b) && PositionFinder::isFollowed(a)))
      return;
    if (second)
      add(a, *second);
    else if (first)
      add(b, *first);
    else
      meet(a, b);
  };
  // The result crosses numbers by both operands, of which one is zero or one
  // often enough.
  auto combine = [&] {
    if (first || second || numbers.empty())
      return;
    addAll(a, numbers);
    addAll(b, numbers);
    meet(a, b);
  };
  switch (op.getFunction()) {
  case MapFunction::Equal:
  case MapFunction::NotEqual:
  case MapFunction::Less:
  case MapFunction::LessEqual:
  case MapFunction::Greater:
  case MapFunction::GreaterEqual:
    compare();
    break;
  case MapFunction::Maximum:
  case MapFunction::Minimum:
    addAll(a, numbers);
    addAll(b, numbers);
    compare();
    break;
  case MapFunction::Add:
  case MapFunction::Sub: {
    double sign = op.getFunction() == MapFunction::Add ? 1 : -1;
    addBoth([&](double n, double k) { return n - sign * k; },
            [&](double n, double k) { return sign * (n - k); });
    combine();
    // With each of the few numbers that the other operand may be.
    if (!first && !second)
      for (double number : numbers) {
        for (double k : getFewNumbers(b))
          add(a, number - sign * k);
        for (double k : getFewNumbers(a))
          add(b, sign * (number - k));
      }
    break;
  }
  case MapFunction::Mul:
    addBoth([](double n, double k) { return n / k; },
            [](double n, double k) { return n / k; });
    if (a == b)
      for (double number : numbers) {
        add(a, std::sqrt(number));
        add(a, -std::sqrt(number));
      }
    else
      combine();
    break;
  case MapFunction::Div:
    addBoth([](double n, double k) { return n * k; },
            [](double n, double k) { return k / n; });
    if (!first && !second && !numbers.empty())
      meet(a, b);
    break;
  case MapFunction::FloorDiv:
    for (double number : numbers)
      if (second) {
        add(a, number * *second);
        add(a, (number + 1) * *second);
      } else if (first) {
        add(b, *first / number);
        add(b, *first / (number + 1));
      }
    break;
  case MapFunction::Remainder:
    if (second)
      for (double number : numbers)
        for (double period : {0.0, *second, -*second})
          add(a, number + period);
    break;
  case MapFunction::Pow:
    if (second)
      for (double number : numbers) {
        add(a, std::pow(number, 1 / *second));
        add(a, -std::pow(number, 1 / *second));
      }
    else if (first)
      for (double number : numbers)
        add(b, std::log(number) / std::log(*first));
    else if (!numbers.empty())
      meet(a, b);
    break;
  case MapFunction::Neg:
    for (double number : numbers)
      add(a, -number);
    break;
  case MapFunction::Abs:
    for (double number : numbers) {
      add(a, number);
      add(a, -number);
    }
    add(a, 0);
    break;
  case MapFunction::Relu:
  case MapFunction::Sign:
    addAll(a, numbers);
    add(a, 0);
    break;
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    for (double number : numbers)
      for (double side : {-1.0, -0.5, 0.0, 0.5, 1.0})
        add(a, number + side);
    break;
  case MapFunction::Sqrt:
    for (double number : numbers)
      add(a, number * number);
    break;
  case MapFunction::Rsqrt:
    for (double number : numbers)
      add(a, 1 / (number * number));
    break;
  case MapFunction::Reciprocal:
    for (double number : numbers)
      add(a, 1 / number);
    break;
  case MapFunction::Select:
    for (Value branch : op.getOperands().drop_front())
      addAll(branch, numbers);
    break;
  case MapFunction::LogicalAnd:
  case MapFunction::LogicalOr:
  case MapFunction::LogicalNot:
    for (Value operand : op.getOperands())
      add(operand, 0);
    break;
  case MapFunction::BitwiseAnd:
    // A mask of the low bits is a remainder.
    for (double number : numbers)
      if (std::optional<double> mask = second ? second : first)
        for (double period : {0.0, *mask + 1, -*mask - 1})
          add(second ? a : b, number + period);
    break;
  case MapFunction::BitwiseOr:
  case MapFunction::BitwiseXor:
    addAll(a, numbers);
    addAll(b, numbers);
    break;
  case MapFunction::BitwiseNot:
    for (double number : numbers)
      add(a, -number - 1);
    break;
  case MapFunction::IsOne:
    add(a, 1);
    break;
  case MapFunction::IsNan:
  case MapFunction::Weight:
    break;
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
  case MapFunction::Log:
  case MapFunction::Silu:
    // What they return is compared with nothing that is known.
    break;
  }
}

void ThresholdFinder::visitCast(tp::CastOp op, ArrayRef<double> numbers) {
  Value input = op.getInput();
  if (isTruth(op.getResult())) {
    add(input, 0);
    return;
  }
  auto to =
      dyn_cast<IntegerType>(tp::getTensor(op.getResult()).getElementType());
  if (to && !isExact(input)) {
    report(numbers);
    return;
  }
  addAll(input, numbers);
  if (!to || to.getWidth() >= 32)
    return;
  // Where it wraps around.
  double period = std::exp2(to.getWidth());
  for (double number : numbers)
    for (double other : {number - period, number + period})
      add(input, other);
}

void ThresholdFinder::visitOperands(Operation *op, ArrayRef<double> numbers) {
  auto addSummands = [&](Value sum, double count) {
    addAll(sum, numbers);
    for (double number : numbers)
      add(sum, number / count);
  };
  // A sum crosses a number where many summands together do.
  auto keepSummands = [&](Operation *sum) {
    if (!numbers.empty())
      for (Value operand : sum->getOperands())
        keepPositions(operand);
  };
  TypeSwitch<Operation *>(op)
      .Case([&](tp::MapOp map) { visitMap(map, getUnwrapped(map, numbers)); })
      .Case([&](tp::CastOp cast) { visitCast(cast, numbers); })
      .Case([&](tp::IotaOp iota) {
        auto start = dyn_cast<IntegerAttr>(iota.getStart());
        auto step = dyn_cast<IntegerAttr>(iota.getStep());
        if (start && step)
          cut(iota.getResult(), 0, static_cast<double>(start.getInt()),
              static_cast<double>(step.getInt()), numbers);
      })
      .Case([&](tp::RowwiseOp rowwise) {
        Value input = rowwise.getInput();
        if (rowwise.getFunction() != tp::RowFunction::CumulativeSum) {
          report(numbers);
          return;
        }
        addAll(input, numbers);
        keepCounted(input, rowwise.getDim(), numbers);
        if (std::optional<double> step = getUniformNumber(input))
          cut(rowwise.getResult(), static_cast<unsigned>(rowwise.getDim()),
              *step, *step, numbers);
        else if (!numbers.empty() && !PositionFinder::isFollowed(input))
          keepPositions(input);
      })
      .Case([&](tp::ReduceOp reduce) {
        double count = 1;
        for (int64_t dim : reduce.getDims())
          count *= static_cast<double>(
              tp::getTensor(reduce.getInput()).getDimSize(dim));
        addSummands(reduce.getInput(), std::max(count, 1.0));
        keepSummands(op);
        if (reduce.getKind() == tp::ReductionKind::Sum)
          keepCounted(reduce.getInput(), reduce.getDims(), numbers);
      })
      .Case<tp::AllReduceOp, tp::ReduceScatterOp>([&](auto reduce) {
        addSummands(reduce.getInput(),
                    static_cast<double>(reduce.getGroup().getSize()));
        keepSummands(op);
      })
      .Case([&](tp::MatmulOp) { keepSummands(op); })
      .Case<tp::CallOp, tp::EmptyOp>([&](Operation *) { report(numbers); })
      .Default([&](Operation *) {
        for (Value operand : op->getOperands())
          addAll(operand, numbers);
      });
}

void ThresholdFinder::visit(Operation *op) {
  if (op->getNumResults() == 0)
    return;
  // What is computed of an index should often be one, on both sides of where
  // the table is cut.
  if (auto indexing = dyn_cast<tp::IndexingOpInterface>(op)) {
    Value table = indexing.getIndexed(), indices = indexing.getIndexValues();
    unsigned dim = indexing.getIndexedDim();
    const PositionForm &form = positions.get(indices);
    bool isInput = form.input && form.input->isShift();
    if ((form.hasUnknown || form.hasDerived) && !isInput) {
      hasComputedIndices = true;
      int64_t size = tp::getTensor(table).getDimSize(dim);
      for (int64_t border : listener.getBorders(table, dim))
        add(indices, static_cast<double>(border));
      for (int64_t index : {int64_t(0), size / 2, size - 1})
        add(indices, static_cast<double>(index));
    }
  }
  Numbers numbers;
  for (Value result : op->getResults())
    if (auto known = found.find(result); known != found.end()) {
      Numbers own = std::move(known->second);
      found.erase(known);
      numbers.append(own);
      if (!PositionFinder::isFollowed(result))
        continue;
      const PositionForm form = positions.get(result);
      if (form.varies.none())
        continue;
      positions.compare(result, form,
                        PositionFinder::getConstants(result, getBorders(own)));
    }
  visitOperands(op, numbers);
}

void ThresholdFinder::visit(func::FuncOp function) {
  Block &body = function.getBody().front();
  for (Operation &op : body)
    if (computesExactly(&op) &&
        llvm::all_of(op.getOperands(),
                     [&](Value value) { return isExact(value); }))
      exact.insert(op.getResults().begin(), op.getResults().end());
  for (Operation &op : llvm::reverse(body))
    visit(&op);
  for (BlockArgument argument : function.getArguments())
    if (auto known = found.find(argument); known != found.end())
      report(known->second);
}
