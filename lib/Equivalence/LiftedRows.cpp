//===- LiftedRows.cpp - rows as they were before they were sorted -*- C++ -*-=//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Ops that do the same to each row may do it before the rows are sorted. So the
// rows that were sorted, and sorted back at the end, are followed as they were:
// what an op does to sorted rows is done to these as well. A grouped product
// of rows that are sorted by the number of their group is a product of each row
// with the matrix of its number.
//
// This is what ranks that sort tokens by the numbers of their own experts have
// in common with a device that sorts them by the numbers of all.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"
#include "IntegerLifting.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Returns the value that this one has the elements of, in the same order.
static Value stripReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<tp::ReshapeOp>())
    value = reshape.getInput();
  return value;
}

bool equivalence::isPositions(Value value) {
  auto iota = stripReshapes(value).getDefiningOp<tp::IotaOp>();
  auto is = [](TypedAttr attribute, int64_t number) {
    auto integer = dyn_cast<IntegerAttr>(attribute);
    return integer && integer.getValue().getSExtValue() == number;
  };
  return iota && is(iota.getStart(), 0) && is(iota.getStep(), 1);
}

Value IntegerLifting::getPermutation(Value value) const {
  Value order = stripReshapes(value);
  auto rows = sortedRows.find(order);
  return rows != sortedRows.end() && rows->second.order == order ? order
                                                                 : Value();
}

Value IntegerLifting::getInverted(Value indices) const {
  return inverses.lookup(stripReshapes(indices));
}

Value IntegerLifting::getOrderOfRows(Operation *op) const {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  // Each rank has its own order.
  if (!ruled || !isMemoryEffectFree(op) || isa<tp::GroupOpInterface>(op))
    return {};
  Value order;
  for (Value operand : op->getOperands()) {
    auto rows = sortedRows.find(operand);
    if (rows == sortedRows.end())
      continue;
    if (order && rows->second.order != order)
      return {};
    order = rows->second.order;
  }
  if (!order)
    return {};
  tp::DimensionRule rule = ruled.getDimensionRule();
  using Factors = tp::DimensionRule::TensorFactors;
  const Factors &first = rule.results.front();
  if (first.empty() || first.front().size() != 1)
    return {};
  unsigned row = first.front().front();
  if (rule.factors[row].kind != tp::Factor::Kind::Parallel)
    return {};
  auto isRow = [&](const tp::DimensionRule::DimFactors &dim) {
    return llvm::is_contained(dim, row);
  };
  // Rows are along the first dim, and nowhere else.
  auto hasRows = [&](const Factors &tensor) {
    return !tensor.empty() && tensor.front().size() == 1 &&
           isRow(tensor.front()) &&
           llvm::none_of(ArrayRef(tensor).drop_front(), isRow);
  };
  if (!llvm::all_of(rule.results, hasRows))
    return {};
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    if (sortedRows.contains(operand) ? !hasRows(tensor)
                                     : llvm::any_of(tensor, isRow))
      return {};
  return order;
}

void IntegerLifting::visitRows(Operation *op) {
  if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op))
    return multiplyRows(grouped);
  Value order = getOrderOfRows(op);
  if (!order)
    return;
  llvm::MapVector<Value, Form> sorted;
  for (Value value : op->getResults())
    sorted[value] = forms[value];
  for (Value operand : op->getOperands())
    if (auto rows = sortedRows.find(operand); rows != sortedRows.end())
      if (sorted.insert({operand, forms[operand]}).second)
        forms[operand] = rows->second.rows;
  visitWhole(op);
  for (Value value : op->getResults())
    sortedRows[value] = {order, forms[value]};
  for (auto &[value, form] : sorted)
    forms[value] = std::move(form);
}

const Mixture *IntegerLifting::getGroups(tp::GroupedMatmulOp op,
                                         Value order) const {
  // The ends of the groups are the counts of equal numbers, added up, in types
  // in which no count wraps around.
  auto holdsCounts = [](Value value) {
    auto integer = dyn_cast<IntegerType>(tp::getTensor(value).getElementType());
    return !integer || integer.getWidth() >= 32;
  };
  auto stripCasts = [&](Value value) {
    while (holdsCounts(value) &&
           isa_and_nonnull<tp::CastOp, tp::ReshapeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  };
  auto sum = stripCasts(op.getOffsets()).getDefiningOp<tp::RowwiseOp>();
  if (!sum || sum.getFunction() != tp::RowFunction::CumulativeSum ||
      !holdsCounts(sum.getResult()))
    return nullptr;
  auto counts = stripCasts(sum.getInput()).getDefiningOp<tp::ReduceOp>();
  if (!counts || counts.getKind() != tp::ReductionKind::Sum ||
      counts.getDims() != ArrayRef<int64_t>{0} ||
      !holdsCounts(counts.getResult()))
    return nullptr;
  auto equal = stripCasts(counts.getInput()).getDefiningOp<tp::MapOp>();
  if (!equal || equal.getFunction() != MapFunction::Equal)
    return nullptr;
  int64_t numGroups = getShape(op.getOffsets()).front();
  auto sort = order.getDefiningOp<tp::SortOp>();
  int64_t numRows = getShape(order).front();
  if (sort.getDescending() ||
      getShape(equal.getResult()) != ArrayRef<int64_t>{numRows, numGroups})
    return nullptr;
  // All of what is sorted, in any order, and the numbers of the groups.
  for (bool isSwapped : {false, true}) {
    Value integers = equal->getOperand(isSwapped);
    Value numbers = equal->getOperand(!isSwapped);
    ArrayRef<int64_t> shape = getShape(numbers);
    if (getShape(integers) != ArrayRef<int64_t>{numRows, 1} || shape.empty() ||
        shape.back() != numGroups || !isPositions(numbers))
      continue;
    Value counted = stripReshapes(integers);
    if (counted != sort.getValues() &&
        counted != stripReshapes(sort.getInput()))
      continue;
    const Form &form = forms.find(sort.getInput())->second;
    // Numbers below zero would be sorted before the first group.
    if (form.mixture && form.least >= 0)
      return &form.mixture;
  }
  return nullptr;
}

void IntegerLifting::multiplyRows(tp::GroupedMatmulOp op) {
  auto sorted = sortedRows.find(op.getLhs());
  if (sorted == sortedRows.end() || op.groupsContraction() || op.getRest())
    return;
  Value order = sorted->second.order;
  const Mixture *groups = getGroups(op, order);
  if (!groups)
    return;
  Location loc = op.getLoc();
  const Form rows = sorted->second.rows;
  SmallVector<int64_t> shape(getShape(op.getResult()));
  int64_t numRows = shape[0], numGroups = getShape(op.getOffsets()).front();
  Type type = tp::getTensor(op.getResult()).getElementType();
  // The weights, as the result has them: those of rows do not depend on the
  // column.
  Mixture result;
  SmallVector<Value> ofRows, ofGroups;
  auto add = [&](Value weights, SmallVector<Value> &own) {
    Value expanded = mixtures.expandWeights(loc, weights, shape);
    own.push_back(expanded);
    if (!llvm::is_contained(result.weights, expanded))
      result.weights.push_back(expanded);
  };
  Value left = rows.mixture ? rows.mixture.table : rows.value;
  for (Value weights : rows.mixture.weights) {
    Value source = stripBroadcasts(weights);
    ArrayRef<int64_t> sizes = getShape(source);
    if (sizes.size() != 2 + dimsOfRange || sizes[1] != 1) {
      left = mixtures.collapse(loc, rows.mixture);
      ofRows.clear();
      result.weights.clear();
      break;
    }
    add(source, ofRows);
  }
  for (Value weights : groups->weights) {
    SmallVector<int64_t> column(getShape(weights));
    column.insert(column.begin() + 1, 1);
    add(mixtures.reshape(loc, weights, column), ofGroups);
  }
  SmallVector<int64_t> sizes = getRangeSizes(result.weights);
  auto full = appendSizes(shape, sizes);
  if (!full || !appendSizes(*full, {numGroups}) ||
      result.weights.size() > maxWeights)
    return;
  auto numRanges = static_cast<int64_t>(sizes.size());
  // Each row with all matrices: the ranges, the groups, rows and columns.
  Value table = mixtures.align(loc, left, ofRows, result.weights);
  table = mixtures.moveRanges(loc, table, numRanges, /*toFront=*/true);
  SmallVector<int64_t> stacked(getShape(table));
  stacked.insert(stacked.end() - 2, 1);
  SmallVector<int64_t> matrices(numRanges, 1);
  llvm::append_range(matrices, getShape(op.getRhs()));
  Value products = mixtures.multiply(
      loc, mixtures.reshape(loc, table, stacked),
      mixtures.reshape(loc, get(op.getRhs()), matrices), type);
  // Which of them is the row's own.
  Value numbers = mixtures.align(loc, groups->table, ofGroups, result.weights);
  numbers = mixtures.moveRanges(loc, numbers, numRanges, /*toFront=*/true);
  SmallVector<int64_t> column(getShape(numbers).drop_back());
  llvm::append_range(column, ArrayRef<int64_t>{1, numRows, 1});
  Type integer = tp::getTensor(numbers).getElementType();
  Value own = mixtures.map(
      loc, MapFunction::Equal,
      {mixtures.reshape(loc, numbers, column),
       mixtures.reshape(
           loc, mixtures.cast(loc, mixtures.iota(loc, 0, numGroups), integer),
           {numGroups, 1, 1})},
      builder.getI1Type());
  Value chosen = mixtures.map(
      loc, MapFunction::Mul,
      {products, mixtures.cast(loc, own, builder.getF64Type())}, type);
  chosen = mixtures.sum(loc, chosen, {numRanges}, /*keepsDims=*/false);
  result.table = mixtures.broadcast(
      loc, mixtures.moveRanges(loc, chosen, numRanges, /*toFront=*/false),
      *full);
  sortedRows[op.getResult()] = {order, getForm(std::move(result))};
}
