//===- IntegerLifting.cpp - all integers of a program at once ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IntegerLifting.h"

#include "FieldFunctions.h"
#include "ThresholdNumbers.h"
#include "commute/Report/RemarkCollector.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Integers, but not truth values.
static bool isInteger(Type type) {
  return isa<IntegerType>(type) && !type.isInteger(1);
}

static Type getElementType(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? type.getElementType() : Type();
}

static bool isIntegerTensor(Value value) {
  Type type = getElementType(value);
  return type && isInteger(type);
}

static bool isTruthTensor(Value value) {
  Type type = getElementType(value);
  return type && isTruthType(type);
}

IntegerRange equivalence::getDefaultRange(Type elementType, int64_t farthest) {
  auto type = cast<IntegerType>(elementType);
  if (type.getWidth() > 32)
    return {type.isUnsigned() ? 0 : -farthest, farthest};
  int64_t count = int64_t(1) << type.getWidth();
  if (type.getWidth() == 1 || type.isUnsigned())
    return {0, count};
  return {-count / 2, count / 2};
}

bool equivalence::contains(IntegerRange range, double least, double most) {
  return least >= static_cast<double>(range.first) &&
         most < static_cast<double>(range.second);
}

std::pair<double, double> equivalence::getEnds(IntegerRange range) {
  return {static_cast<double>(range.first),
          static_cast<double>(range.second) - 1};
}

int64_t equivalence::getFarthest(func::FuncOp first, func::FuncOp second) {
  // Ranges of larger numbers would leave no room for tensors.
  constexpr int64_t largest = int64_t(1) << 50;
  int64_t farthest = leastFarthest;
  for (func::FuncOp function : {first, second})
    for (auto constant : function.getOps<tp::ConstantOp>())
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue())) {
        int64_t value = number.getValue().getSExtValue();
        if (value > -largest && value < largest)
          farthest = std::max(farthest, 8 * std::abs(value));
      }
  return static_cast<int64_t>(llvm::PowerOf2Ceil(farthest));
}

bool equivalence::movesElements(Operation *op) {
  return (isa<tp::ReindexOpInterface>(op) && !isa<tp::BitcastOp>(op)) ||
         isa<tp::WaitOp, tp::RankSliceOp, tp::RankSelectOp, tp::AllGatherOp,
             tp::AllToAllOp, tp::CollectiveBroadcastOp>(op);
}

llvm::DenseMap<Value, int64_t> equivalence::getPeriods(func::FuncOp function) {
  constexpr int64_t largest = 65536;
  DenseMap<Value, int64_t> periods;
  auto add = [&](Value value, double number) {
    if (!isIntegerTensor(value) || number < 2 || number > largest ||
        std::floor(number) != number)
      return;
    int64_t &own = periods.try_emplace(value, 1).first->second;
    int64_t common = std::lcm(own, static_cast<int64_t>(number));
    if (common <= largest)
      own = common;
  };
  for (Operation &op : llvm::reverse(function.getBody().front())) {
    if (auto map = dyn_cast<tp::MapOp>(op)) {
      std::optional<std::pair<Value, int64_t>> division = getDivision(map);
      if (division)
        add(division->first, static_cast<double>(division->second));
      continue;
    }
    auto cast = dyn_cast<tp::CastOp>(op);
    if (!cast && !movesElements(&op))
      continue;
    auto to = dyn_cast<IntegerType>(getElementType(op.getResult(0)));
    for (Value operand : op.getOperands()) {
      if (cast && to && to.getWidth() > 1 && to.getWidth() < 32)
        add(operand, std::exp2(to.getWidth()));
      else if (to && to.getWidth() > 1)
        add(operand, static_cast<double>(periods.lookup(op.getResult(0))));
    }
  }
  return periods;
}

IntegerLifting::IntegerLifting(func::FuncOp function, Ranges ranges,
                               DenseMap<Value, int64_t> periods,
                               int64_t farthest)
    : function(function), periods(std::move(periods)), farthest(farthest),
      module(ModuleOp::create(function.getLoc())),
      builder(function.getContext()), mixtures(builder) {
  if (auto own = function->getParentOfType<ModuleOp>())
    (*module)->setAttrs(own->getAttrDictionary());
  lifted = cast<func::FuncOp>(function->cloneWithoutRegions());
  module->push_back(lifted);
  Block *block = lifted.addEntryBlock();
  // A key of each integer, which the weights are functions of.
  for (auto [from, to] :
       llvm::zip_equal(function.getArguments(), block->getArguments()))
    if (isIntegerTensor(from) || isTruthTensor(from))
      to.setType(RankedTensorType::get(getShape(from), builder.getF64Type()));
  builder.setInsertionPointToStart(block);
  addArguments(ranges);
}

void IntegerLifting::addArguments(Ranges ranges) {
  for (auto [from, to] :
       llvm::zip_equal(function.getArguments(), lifted.getArguments())) {
    mixtures.setInput(from.getArgNumber());
    forms[from] = from.getType() == to.getType() || from.use_empty()
                      ? getForm(to)
                      : createSource(from, to, ranges(from));
  }
  mixtures.setInput(-1);
}

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

IntegerLifting::Form IntegerLifting::getForm(Value value) {
  Form form;
  form.value = value;
  form.least = -std::numeric_limits<double>::infinity();
  form.most = std::numeric_limits<double>::infinity();
  if (isTruthTensor(value)) {
    form.least = 0;
    form.most = 1;
  }
  return form;
}

IntegerLifting::Form IntegerLifting::getForm(Mixture mixture) {
  Form form;
  form.least = mixture.least;
  form.most = mixture.most;
  form.mixture = std::move(mixture);
  return form;
}

Value IntegerLifting::get(Value operand) {
  const Form &form = forms.find(operand)->second;
  return form.mixture ? mixtures.collapse(operand.getLoc(), form.mixture)
                      : form.value;
}

Value IntegerLifting::getNumber(Value operand) {
  Value value = get(operand);
  Type type = getElementType(value);
  return type && isa<IntegerType>(type)
             ? mixtures.toNumber(operand.getLoc(), value)
             : value;
}

bool IntegerLifting::isNumber(Value operand) const {
  const Form &form = forms.find(operand)->second;
  return isIntegerTensor(operand) &&
         (form.mixture || !isIntegerTensor(form.value));
}

IntegerLifting::Form IntegerLifting::createSource(Value integers, Value key,
                                                  const IntegerUnion &legal) {
  // All numbers of small ranges can be evaluated.
  constexpr int64_t small = 4096;
  int64_t low = legal.getFirst(), high = legal.getEnd();
  int64_t period = std::max<int64_t>(periods.lookup(integers), 1);
  if (high - low <= small)
    period = 1;
  // Nothing is known of the integers of a tensor that is too large.
  if (!appendSizes(getShape(key), {high - low + 2 * period}))
    return getForm(mixtures.applyUnknown(integers.getLoc(), key, 0));
  return getForm(mixtures.createSource(integers.getLoc(), key, legal, period,
                                       getElementType(integers)));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

llvm::Expected<OwningOpRef<ModuleOp>> IntegerLifting::lift() {
  for (Operation &op : function.getBody().front())
    visit(&op);
  eraseUnused();
  std::string message;
  ScopedDiagnosticHandler handler(
      function.getContext(), [&](Diagnostic &diagnostic) {
        if (message.empty())
          llvm::raw_string_ostream(message) << diagnostic;
        return success();
      });
  if (failed(verify(*module)))
    return llvm::createStringError("the lifted program is not valid: " +
                                   message);
  return std::move(module);
}

void IntegerLifting::visit(Operation *op) {
  visitWhole(op);
  if (followsRows)
    visitRows(op);
}

void IntegerLifting::visitWhole(Operation *op) {
  bool hasMixtures = llvm::any_of(
      op->getOperands(), [&](Value operand) { return isMixture(operand); });
  if (op->hasTrait<OpTrait::IsTerminator>())
    return visitReturn(op);
  if (auto call = dyn_cast<tp::CallOp>(op))
    return visitCall(call);
  if (auto map = dyn_cast<tp::MapOp>(op); map && hasMixtures)
    return visitMap(map);
  if (auto cast = dyn_cast<tp::CastOp>(op))
    return visitCast(cast);
  if (auto indexing = dyn_cast<tp::IndexingOpInterface>(op))
    return visitIndexing(indexing);
  if (auto product = dyn_cast<tp::MatmulOp>(op); product && hasMixtures)
    return visitMatmul(product);
  if (auto reduce = dyn_cast<tp::ReduceOp>(op); reduce && hasMixtures)
    return visitReduce(reduce);
  if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op);
      grouped && isNumber(grouped.getOffsets()))
    return visitGroups(grouped);
  if (auto sort = dyn_cast<tp::SortOp>(op);
      sort && opensOrders && isOpen(sort.getInput()))
    return visitSort(sort);
  if (auto sort = dyn_cast<tp::SortOp>(op);
      sort && isNumber(sort.getInput()) && !unknown)
    unknown = {"an order that integers determine: " +
                   report::describeLocation(op->getLoc()),
               /*isDrawn=*/false};
  if (movesElements(op) && hasMixtures)
    return visitMove(op);
  if (isa<tp::BitcastOp>(op) && isNumber(op->getOperand(0)))
    return visitUnknown(op, op->getOperand(0), "bits");
  visitElements(op);
}

static constexpr StringLiteral unknownPrefix = "torch.ops.aten.unknown_";

void IntegerLifting::eraseUnused() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(lifted.getBody().front()))) {
    auto call = dyn_cast<tp::CallOp>(op);
    bool isPure = call ? call.getCallee().starts_with(unknownPrefix)
                       : isMemoryEffectFree(&op);
    if (isPure && op.use_empty() && !op.hasTrait<OpTrait::IsTerminator>())
      op.erase();
  }
}

void IntegerLifting::noteUnknown(Operation *op, Value operand, StringRef what) {
  // Drawings of integers of large ranges say nothing.
  const Form &form = forms.find(operand)->second;
  bool isDrawn = form.isOfMany || form.mixture;
  if (!unknown)
    unknown = {(isDrawn ? what + " that many integers determine: "
                        : what + " that integers of large ranges determine "
                                 "(state smaller ones): ")
                       .str() +
                   report::describeLocation(op->getLoc()),
               isDrawn};
}

void IntegerLifting::visitUnknown(Operation *op, Value operand,
                                  StringRef what) {
  noteUnknown(op, operand, what);
  SmallVector<Value> operands;
  for (Value own : op->getOperands())
    operands.push_back(getNumber(own));
  SmallVector<Type> types;
  for (Value result : op->getResults())
    types.push_back(
        isIntegerTensor(result)
            ? RankedTensorType::get(getShape(result), mixtures.getNumberType())
            : result.getType());
  // A function of the operands and of the properties.
  std::string arguments;
  llvm::raw_string_ostream(arguments) << op->getPropertiesAsAttribute();
  auto call = tp::CallOp::create(
      builder, op->getLoc(), types,
      (unknownPrefix + op->getName().stripDialect() + ".default").str(),
      operands, arguments);
  for (auto [from, to] :
       llvm::zip_equal(op->getResults(), call->getResults())) {
    Form &result = forms[from] = getForm(to);
    result.isOfMany = true;
  }
}

void IntegerLifting::visitReturn(Operation *op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getNumber(operand));
  Operation *copy = mixtures.copy(op, operands);
  lifted.setFunctionType(FunctionType::get(
      function.getContext(), lifted.getBody().front().getArgumentTypes(),
      copy->getOperandTypes()));
}

void IntegerLifting::visitCall(tp::CallOp op) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getNumber(operand));
  Operation *copy = mixtures.copy(op, operands);
  for (auto [from, to] :
       llvm::zip_equal(op->getResults(), copy->getResults())) {
    if (!isIntegerTensor(from) && !isTruthTensor(from)) {
      forms[from] = getForm(to);
      continue;
    }
    to.setType(RankedTensorType::get(getShape(from), builder.getF64Type()));
    forms[from] =
        createSource(from, to, getDefaultRange(getElementType(from), farthest));
  }
}

void IntegerLifting::visitElements(Operation *op) {
  bool isFixed = isMemoryEffectFree(op) &&
                 llvm::none_of(op->getOperands(),
                               [&](Value value) { return isOpen(value); });
  // Unknown truth values would be drawn where they determine an integer.
  bool returnsIntegers =
      llvm::any_of(op->getResults(),
                   [](Value value) { return isIntegerTensor(value); }) &&
      !isa<tp::SortOp>(op);
  bool usesNumbers = returnsIntegers && !isFixed &&
                     llvm::any_of(op->getOperands(), [&](Value operand) {
                       return isOpen(operand) && !isIntegerTensor(get(operand));
                     });
  auto map = dyn_cast<tp::MapOp>(op);
  auto indexing = dyn_cast<tp::IndexingOpInterface>(op);
  bool hasNumbers = llvm::any_of(
      op->getOperands(), [&](Value operand) { return isNumber(operand); });
  SmallVector<Value> operands;
  for (auto [index, operand] : llvm::enumerate(op->getOperands())) {
    bool isCondition =
        map && map.getFunction() == MapFunction::Select && index == 0;
    bool isIndex = indexing && operand == indexing.getIndexValues();
    // Positions next to numbers are numbers as well.
    bool becomesNumber = !isIndex && ((usesNumbers && !isCondition) ||
                                      (hasNumbers && isIntegerTensor(operand)));
    operands.push_back(becomesNumber ? getNumber(operand) : get(operand));
  }
  Operation *copy = mixtures.copy(op, operands);
  for (auto [index, from, to] :
       llvm::enumerate(op->getResults(), copy->getResults())) {
    bool isOrder = isa<tp::SortOp>(op) && index == 1;
    if (isIntegerTensor(from) && !isOrder && (usesNumbers || hasNumbers))
      to.setType(
          RankedTensorType::get(getShape(from), mixtures.getNumberType()));
    bool isOfMany = !(map || isa<tp::CastOp>(op) || movesElements(op)) ||
                    llvm::any_of(op->getOperands(), [&](Value operand) {
                      return forms.find(operand)->second.isOfMany;
                    });
    Form &form = forms[from] = getForm(to);
    form.isFixed = isFixed;
    form.isOfMany = isOfMany && !isFixed;
    if (!isIntegerTensor(from))
      continue;
    std::tie(form.least, form.most) = getBounds(from);
    IntegerRange range = getDefaultRange(getElementType(from));
    unsigned width = getElementType(from).getIntOrFloatBitWidth();
    // A number that wraps around is unknown.
    bool wraps = map && !isIntegerTensor(to) && std::isfinite(form.least) &&
                 std::isfinite(form.most) &&
                 !contains(range, form.least, form.most);
    if (wraps && width > 32)
      wraps = std::max(-form.least, form.most) >= std::exp2(63);
    if (wraps) {
      form.value = mixtures.applyUnknown(op->getLoc(), to, width);
      std::tie(form.least, form.most) = getEnds(range);
    }
  }
}

void IntegerLifting::visitMove(Operation *op) {
  // The ranges of all operands are along the same dims of their tables.
  Mixture like;
  for (Value operand : op->getOperands())
    if (const Form &form = forms.find(operand)->second; form.mixture) {
      if (!like)
        like = form.mixture;
      else if (getRangeSizes(form.mixture.weights) !=
               getRangeSizes(like.weights))
        return visitElements(op);
    }
  SmallVector<int64_t> sizes = getRangeSizes(like.weights);
  if (!appendSizes(getShape(op->getResult(0)), sizes))
    return visitElements(op);
  SmallVector<Value> tables;
  SmallVector<SmallVector<Value>> weights(like.weights.size());
  Mixture result;
  result.least = std::numeric_limits<double>::infinity();
  result.most = -result.least;
  for (Value operand : op->getOperands()) {
    const Form &form = forms.find(operand)->second;
    // An element beside mixtures that is not known before the program runs.
    if (!form.mixture && !form.isFixed)
      return visitElements(op);
    Mixture own = form.mixture
                      ? form.mixture
                      : mixtures.createConstant(op->getLoc(), form.value, like);
    tables.push_back(own.table);
    for (auto [all, one] : llvm::zip_equal(weights, own.weights))
      all.push_back(one);
    result.least = std::min(result.least, form.least);
    result.most = std::max(result.most, form.most);
  }
  result.table = mixtures.move(op, tables, sizes);
  for (ArrayRef<Value> all : weights)
    result.weights.push_back(mixtures.move(op, all, getRangeSizes(all[0])));
  if (op->getNumOperands() == 1)
    result.low = like.low;
  forms[op->getResult(0)] = getForm(std::move(result));
}

void IntegerLifting::visitCast(tp::CastOp op) {
  if (isMixture(op.getInput()))
    forms[op.getResult()] = castTable(op);
  else if (std::optional<Form> form = castElements(op))
    forms[op.getResult()] = *form;
  else
    visitElements(op);
}

IntegerLifting::Form IntegerLifting::castTable(tp::CastOp op) {
  Location loc = op.getLoc();
  Mixture result = forms.find(op.getInput())->second.mixture;
  Type from = getElementType(op.getInput());
  Type to = getElementType(op.getResult());
  if (isFieldType(from) && isa<IntegerType>(to) && !isSmall(result.weights))
    return createSource(op.getResult(), get(op.getInput()),
                        getDefaultRange(to, farthest));
  IntegerRange range;
  if (isInteger(to))
    range = getDefaultRange(to);
  if (!isInteger(to) || !isInteger(from) ||
      contains(range, result.least, result.most)) {
    if (isTruthType(to)) {
      result.low.reset();
      result.least = 0;
      result.most = 1;
    }
    result.table = mixtures.cast(loc, result.table, to);
    return getForm(std::move(result));
  }
  // The numbers wrap around.
  auto type = cast<IntegerType>(to);
  int64_t count = type.getWidth() < 32 ? int64_t(1) << type.getWidth() : 0;
  bool isOfPeriod =
      result.low && count > 0 && getShape(result.table).back() % count == 0;
  Value wrapped = type.getWidth() == 32
                      ? wrap(loc, result.table, result.least, result.most, type)
                  : isOfPeriod
                      ? wrap(loc, mixtures.getRemainders(loc, result, count), 0,
                             static_cast<double>(count) - 1, type)
                      : mixtures.cast(loc, result.table, to);
  result.low.reset();
  if (type.getWidth() <= 32)
    std::tie(result.least, result.most) = getEnds(range);
  if (!wrapped) {
    Form number = getForm(
        mixtures.applyUnknown(loc, getNumber(op.getInput()), type.getWidth()));
    number.least = result.least;
    number.most = result.most;
    return number;
  }
  result.table = wrapped;
  return getForm(std::move(result));
}

std::optional<IntegerLifting::Form>
IntegerLifting::castElements(tp::CastOp op) {
  const Form form = forms.find(op.getInput())->second;
  Type from = getElementType(op.getInput());
  Type to = getElementType(op.getResult());
  Location loc = op.getLoc();
  // Integers are not rounded.
  if (!isa<IntegerType>(to) && isNumber(op.getInput()))
    return getForm(mixtures.map(loc, MapFunction::Add,
                                {form.value, mixtures.constant(loc, 0)}, to));
  if (form.isFixed || !isInteger(to))
    return std::nullopt;
  // An integer that is computed from a float, a truth value or a number.
  if (isFieldType(from))
    return createSource(op.getResult(), form.value,
                        getDefaultRange(to, farthest));
  if (!isTruthType(from) && !isNumber(op.getInput()))
    return std::nullopt;
  Form result = getForm(getNumber(op.getInput()));
  result.least = form.least;
  result.most = form.most;
  IntegerRange range = getDefaultRange(to);
  unsigned width = to.getIntOrFloatBitWidth();
  if (!contains(range, form.least, form.most) &&
      width < from.getIntOrFloatBitWidth()) {
    result.value = mixtures.applyUnknown(loc, result.value, width);
    std::tie(result.least, result.most) = getEnds(range);
  }
  return result;
}
