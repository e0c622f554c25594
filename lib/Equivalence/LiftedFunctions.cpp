//===- LiftedFunctions.cpp - scalar functions of mixtures -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"
#include "IntegerLifting.h"
#include "ThresholdNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// All numbers of ranges up to this size are evaluated.
static constexpr int64_t maxSmallRange = 6;

/// Returns true if a function of floats has no numbers at which it behaves
/// differently, so that a table of floats needs no cuts there.
static bool isSmooth(MapFunction function) {
  switch (function) {
  case MapFunction::Add:
  case MapFunction::Sub:
  case MapFunction::Mul:
  case MapFunction::Neg:
  case MapFunction::Select:
  case MapFunction::Silu:
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
    return true;
  default:
    return false;
  }
}

static bool isFloat(Value value) {
  return isFieldType(tp::getTensor(value).getElementType());
}

static IntegerType getIntegerType(Value value) {
  auto type = dyn_cast<IntegerType>(tp::getTensor(value).getElementType());
  return type && type.getWidth() > 1 ? type : IntegerType();
}

std::pair<double, double> IntegerLifting::getBounds(tp::MapOp op) const {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  auto bounds = [&](unsigned index) {
    const Form &form = forms.find(op.getOperand(index))->second;
    return std::pair(form.least, form.most);
  };
  auto hull = [&](std::initializer_list<double> numbers) {
    // Infinity times zero.
    for (double number : numbers)
      if (std::isnan(number))
        return std::pair(-unbounded, unbounded);
    return std::pair(std::min(numbers), std::max(numbers));
  };
  auto [a, b] = bounds(0);
  auto [c, d] = op.getOperands().size() > 1 ? bounds(1) : std::pair(0.0, 0.0);
  IntegerType type = getIntegerType(op.getResult());
  std::pair<double, double> all = {-unbounded, unbounded};
  switch (op.getFunction()) {
  case MapFunction::Add:
    return {a + c, b + d};
  case MapFunction::Sub:
    return {a - d, b - c};
  case MapFunction::Mul:
    return hull({a * c, a * d, b * c, b * d});
  case MapFunction::Neg:
    return {-b, -a};
  case MapFunction::Abs:
    return {a <= 0 && b >= 0 ? 0 : std::min(std::abs(a), std::abs(b)),
            std::max(std::abs(a), std::abs(b))};
  case MapFunction::Maximum:
    return {std::max(a, c), std::max(b, d)};
  case MapFunction::Minimum:
    return {std::min(a, c), std::min(b, d)};
  case MapFunction::Relu:
    return {std::max(a, 0.0), std::max(b, 0.0)};
  case MapFunction::Sign:
    return {-1, 1};
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return {a, b};
  case MapFunction::FloorDiv:
    // A divisor is at least one away from zero.
    return {std::min({a, -b, 0.0}), std::max({b, -a, 0.0})};
  case MapFunction::Remainder:
    return {std::min(c, 0.0), std::max(d, 0.0)};
  case MapFunction::Select: {
    auto [e, f] = bounds(2);
    return {std::min(c, e), std::max(d, f)};
  }
  case MapFunction::BitwiseAnd:
  case MapFunction::BitwiseOr:
  case MapFunction::BitwiseXor:
  case MapFunction::BitwiseNot:
    if (!type)
      return {0, 1};
    if (auto division = getDivision(op))
      return {0, static_cast<double>(division->second) - 1};
    // All bits of the type at most.
    return {type.isUnsigned() ? 0 : -std::exp2(type.getWidth() - 1),
            std::exp2(type.getWidth() - !type.isUnsigned()) - 1};
  case MapFunction::Pow: {
    bool isSimple = a >= 0 && c >= 0;
    return isSimple ? std::pair(0.0, std::pow(std::max(b, 1.0), d)) : all;
  }
  default:
    return tp::MapOp::isPredicate(op.getFunction()) ? std::pair(0.0, 1.0) : all;
  }
}

std::pair<double, double> IntegerLifting::getBounds(OpResult result) const {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  std::pair<double, double> all = {-unbounded, unbounded};
  Operation *op = result.getOwner();
  if (auto map = dyn_cast<tp::MapOp>(op))
    return getBounds(map);
  if (auto constant = dyn_cast<tp::ConstantOp>(op)) {
    auto number = dyn_cast<IntegerAttr>(constant.getValue());
    if (!number)
      return all;
    auto value = static_cast<double>(number.getValue().getSExtValue());
    return {value, value};
  }
  if (auto iota = dyn_cast<tp::IotaOp>(op)) {
    auto start = dyn_cast<IntegerAttr>(iota.getStart());
    auto step = dyn_cast<IntegerAttr>(iota.getStep());
    if (!start || !step)
      return all;
    auto first = static_cast<double>(start.getInt());
    double last = first + static_cast<double>(step.getInt()) *
                              static_cast<double>(getShape(result)[0] - 1);
    return {std::min(first, last), std::max(first, last)};
  }
  if (!movesElements(op) && !isa<tp::CastOp, tp::TakeOp>(op))
    return all;
  std::pair<double, double> bounds = {unbounded, -unbounded};
  // Of a table, without the indices.
  for (Value operand : isa<tp::TakeOp>(op) ? op->getOperands().take_front()
                                           : op->getOperands()) {
    const Form &form = forms.find(operand)->second;
    bounds.first = std::min(bounds.first, form.least);
    bounds.second = std::max(bounds.second, form.most);
  }
  IntegerType type = getIntegerType(result);
  IntegerRange range = getDefaultRange(type);
  bool wraps =
      type.getWidth() <= 32 && !contains(range, bounds.first, bounds.second);
  return wraps ? getEnds(range) : bounds;
}

bool IntegerLifting::isSmall(ArrayRef<Value> weights) {
  return llvm::all_of(getRangeSizes(weights),
                      [](int64_t size) { return size <= maxSmallRange; });
}

bool IntegerLifting::fitsTables(tp::MapOp op, ArrayRef<Value> weights) const {
  if (weights.size() > maxWeights)
    return false;
  if (isSmall(weights))
    return true;
  if (op.getFunction() == MapFunction::Div)
    return !isOpen(op.getOperand(1));
  bool usesFloats = llvm::any_of(op.getOperands(), isFloat);
  // The condition of a select is true or false.
  return (!usesFloats && !isFloat(op.getResult())) ||
         isSmooth(op.getFunction());
}

Value IntegerLifting::wrap(Location loc, Value table, double least, double most,
                           IntegerType type) {
  constexpr double mostPeriods = 16;
  double period = std::exp2(type.getWidth());
  double low = type.isUnsigned() ? 0 : -period / 2;
  if ((most - least) / period > mostPeriods ||
      std::max(std::abs(most), std::abs(least)) > std::exp2(61))
    return {};
  // x - (x - low) // period * period
  Type i64 = builder.getI64Type();
  auto number = [&](double value) {
    return mixtures.integer(loc, static_cast<int64_t>(value));
  };
  Value shifted =
      mixtures.map(loc, MapFunction::Sub, {table, number(low)}, i64);
  Value periods =
      mixtures.map(loc, MapFunction::FloorDiv, {shifted, number(period)}, i64);
  Value excess =
      mixtures.map(loc, MapFunction::Mul, {periods, number(period)}, i64);
  return mixtures.cast(
      loc, mixtures.map(loc, MapFunction::Sub, {table, excess}, i64), type);
}

std::optional<std::pair<Value, int64_t>>
equivalence::getDivision(tp::MapOp op) {
  constexpr double largest = 1 << 30;
  auto getDivisor = [&](unsigned index) -> std::optional<int64_t> {
    std::optional<double> number = getUniformNumber(op.getOperand(index));
    if (!number || *number < 1 || *number > largest ||
        std::floor(*number) != *number)
      return std::nullopt;
    return static_cast<int64_t>(*number);
  };
  if (!getIntegerType(op.getResult()))
    return std::nullopt;
  switch (op.getFunction()) {
  case MapFunction::FloorDiv:
  case MapFunction::Remainder:
    if (std::optional<int64_t> divisor = getDivisor(1))
      return std::pair(op.getOperand(0), *divisor);
    return std::nullopt;
  case MapFunction::BitwiseAnd:
    // The low bits are a remainder.
    for (unsigned index : {0, 1})
      if (std::optional<int64_t> mask = getDivisor(index);
          mask && llvm::isPowerOf2_64(*mask + 1))
        return std::pair(op.getOperand(1 - index), *mask + 1);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

Value IntegerLifting::divide(tp::MapOp op) {
  auto division = getDivision(op);
  if (!division)
    return {};
  const Mixture &numbers = forms.find(division->first)->second.mixture;
  if (!numbers || !numbers.low ||
      getShape(numbers.table).back() % division->second != 0)
    return {};
  bool isQuotient = op.getFunction() == MapFunction::FloorDiv;
  Value table =
      isQuotient
          ? mixtures.getQuotients(op.getLoc(), numbers, division->second)
          : mixtures.getRemainders(op.getLoc(), numbers, division->second);
  return mixtures.cast(op.getLoc(), table,
                       tp::getTensor(op.getResult()).getElementType());
}

Mixture IntegerLifting::mapTables(tp::MapOp op) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> shape = getShape(op.getResult());
  Mixture result;
  bool usesUnknown = false;
  for (Value operand : op.getOperands()) {
    const Form &form = forms.find(operand)->second;
    // Floats that are not known may be part of a table of floats.
    bool isUnknown = !form.mixture && !form.isFixed;
    if (isUnknown && (getIntegerType(operand) || !isFloat(op.getResult()) ||
                      !isSmooth(op.getFunction())))
      return {};
    usesUnknown |= isUnknown;
    for (Value own : form.mixture.weights) {
      Value expanded = mixtures.expandWeights(loc, own, shape);
      if (!llvm::is_contained(result.weights, expanded))
        result.weights.push_back(expanded);
    }
  }
  SmallVector<int64_t> sizes = getRangeSizes(result.weights);
  auto fullShape = appendSizes(shape, sizes);
  if (!fullShape || !fitsTables(op, result.weights))
    return {};
  // Tables of large ranges are collapsed before they meet such floats, unless
  // they choose between these.
  if (usesUnknown && !collapsesLate &&
      op.getFunction() != MapFunction::Select && !isSmall(result.weights))
    return {};
  std::tie(result.least, result.most) = getBounds(op);
  if (Value table = divide(op);
      table && getShape(table) == ArrayRef(*fullShape)) {
    result.table = table;
    return result;
  }
  Type type = tp::getTensor(op.getResult()).getElementType();
  IntegerType integer = getIntegerType(op.getResult());
  // Arithmetic of up to 16 bits is followed around its wrap by the analysis of
  // positions. Wider integers are computed in 64 bits.
  IntegerRange range;
  if (integer)
    range = getDefaultRange(integer);
  constexpr int64_t largest = int64_t(1) << 62;
  bool wraps =
      integer && integer.getWidth() >= 32 &&
      !contains(integer.getWidth() == 32 ? range
                                         : IntegerRange(-largest, largest),
                result.least, result.most);
  if (wraps && (integer.getWidth() > 32 || !isSmooth(op.getFunction())))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op.getOperands()) {
    const Form &form = forms.find(operand)->second;
    SmallVector<Value> own;
    for (Value weights : form.mixture.weights)
      own.push_back(mixtures.expandWeights(loc, weights, shape));
    Value table = form.mixture ? form.mixture.table : form.value;
    if (wraps)
      table = mixtures.cast(loc, table, builder.getI64Type());
    operands.push_back(mixtures.align(loc, table, own, result.weights));
  }
  Value table = mixtures.map(loc, op.getFunction(), operands,
                             wraps ? Type(builder.getI64Type()) : type);
  if (wraps) {
    table = wrap(loc, table, result.least, result.most, integer);
    if (!table)
      return {};
  }
  if (integer && integer.getWidth() <= 32 &&
      !contains(range, result.least, result.most))
    std::tie(result.least, result.most) = getEnds(range);
  result.table = mixtures.broadcast(loc, table, *fullShape);
  return result;
}

void IntegerLifting::visitMatmul(tp::MatmulOp op) {
  Location loc = op.getLoc();
  ArrayRef<int64_t> shape = getShape(op.getResult());
  bool isSimple = !op.getBias() && !op.getLhsScale() && !op.getRhsScale() &&
                  isFloat(op.getResult()) &&
                  llvm::all_of(op.getOperands(),
                               [](Value value) { return isFloat(value); });
  // The weights do not depend on rows and columns.
  const Value factors[] = {op.getLhs(), op.getRhs()};
  Mixture result;
  SmallVector<Value> own[2];
  SmallVector<int64_t> batch(shape.drop_back(2));
  for (auto [index, operand] : llvm::enumerate(factors)) {
    for (Value weights : forms.find(operand)->second.mixture.weights) {
      Value source = stripBroadcasts(weights);
      SmallVector<int64_t> sizes(getShape(source));
      // Aligned at the ranges.
      size_t rank = getShape(operand).size();
      if (sizes.size() != rank + dimsOfRange || sizes[rank - 1] != 1 ||
          sizes[rank - 2] != 1) {
        isSimple = false;
        break;
      }
      Value expanded = mixtures.expandWeights(loc, source, shape);
      own[index].push_back(expanded);
      if (!llvm::is_contained(result.weights, expanded))
        result.weights.push_back(expanded);
    }
  }
  SmallVector<int64_t> sizes = getRangeSizes(result.weights);
  auto full = appendSizes(shape, sizes);
  if (!isSimple || result.weights.size() > maxWeights || !full ||
      !isSmall(result.weights))
    return visitElements(op);
  // The ranges are further batch dims.
  auto numRanges = static_cast<int64_t>(sizes.size());
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(factors)) {
    const Form &form = forms.find(operand)->second;
    // All batch dims, so that the ranges are before them.
    SmallVector<int64_t> all(batch.size() + 2 - getShape(operand).size(), 1);
    llvm::append_range(all, getShape(operand));
    llvm::append_range(all, getRangeSizes(own[index]));
    Value table = mixtures.reshape(
        loc, form.mixture ? form.mixture.table : form.value, all);
    operands.push_back(mixtures.moveRanges(
        loc, mixtures.align(loc, table, own[index], result.weights), numRanges,
        /*toFront=*/true));
  }
  SmallVector<int64_t> shapeOfProducts(sizes);
  llvm::append_range(shapeOfProducts, shape);
  Operation *copy = mixtures.copy(op, operands);
  copy->getResult(0).setType(RankedTensorType::get(
      shapeOfProducts, tp::getTensor(op.getResult()).getElementType()));
  result.table = mixtures.moveRanges(loc, copy->getResult(0), numRanges,
                                     /*toFront=*/false);
  forms[op.getResult()] = getForm(std::move(result));
}

void IntegerLifting::visitMap(tp::MapOp op) {
  Mixture result = mapTables(op);
  if (result)
    forms[op.getResult()] = getForm(std::move(result));
  else
    visitElements(op);
}
