//===- LiftedIndices.cpp - tensors read and written at mixtures -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"
#include "IntegerLifting.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Returns true if a table holds numbers in place of integers.
static bool holdsNumbers(Value original, const Mixture &mixture) {
  return isa<IntegerType>(getElementTypeOrSelf(original)) &&
         !isa<IntegerType>(getElementTypeOrSelf(mixture.table));
}

/// Returns the dims in [begin, end).
static SmallVector<int64_t> range(int64_t begin, int64_t end) {
  return llvm::to_vector(llvm::seq<int64_t>(begin, end));
}

/// Appends dims of these sizes, along which a value is repeated.
static Value repeat(MixtureBuilder &mixtures, Location loc, Value value,
                    ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> column(getShape(value)), full(column);
  column.append(sizes.size(), 1);
  llvm::append_range(full, sizes);
  return mixtures.broadcast(loc, mixtures.reshape(loc, value, column), full);
}

std::optional<IntegerLifting::Form> IntegerLifting::take(tp::TakeOp op) {
  Location loc = op.getLoc();
  const Form indices = forms.find(op.getIndices())->second;
  auto dim = static_cast<int64_t>(op.getDim());
  auto indexRank = static_cast<int64_t>(getShape(op.getIndices()).size());
  SmallVector<int64_t> shape(getShape(op.getResult()));
  auto rank = static_cast<int64_t>(shape.size());
  if (!indices.mixture) {
    const Form table = forms.find(op.getTable())->second;
    SmallVector<int64_t> sizes = getRangeSizes(table.mixture.weights);
    if (!appendSizes(shape, sizes))
      return std::nullopt;
    Mixture result = table.mixture;
    result.table =
        mixtures.move(op, {table.mixture.table, indices.value}, sizes);
    for (Value &own : result.weights)
      own = mixtures.move(op, {own, indices.value}, getRangeSizes(own));
    return getForm(std::move(result));
  }
  SmallVector<int64_t> sizes = getRangeSizes(indices.mixture.weights);
  auto fullShape = appendSizes(shape, sizes);
  if (!fullShape)
    return std::nullopt;
  Value table = get(op.getTable());
  // The dims before that of the index, those of the indices, the ranges, and
  // the rest.
  auto numRanges = static_cast<int64_t>(sizes.size());
  SmallVector<int64_t> taken(shape);
  taken.insert(taken.begin() + dim + indexRank, sizes.begin(), sizes.end());
  Value rows = tp::TakeOp::create(
      builder, loc, RankedTensorType::get(taken, getElementTypeOrSelf(table)),
      table, indices.mixture.table, op.getDim(), op.getWrapsNegative());
  SmallVector<int64_t> permutation = range(0, dim + indexRank);
  llvm::append_range(permutation,
                     range(dim + indexRank + numRanges, rank + numRanges));
  llvm::append_range(permutation,
                     range(dim + indexRank, dim + indexRank + numRanges));
  Mixture result;
  result.table = mixtures.permute(loc, rows, permutation);
  for (Value own : indices.mixture.weights) {
    SmallVector<int64_t> column(dim, 1);
    llvm::append_range(column, getShape(own).drop_back(dimsOfRange));
    column.append(rank - dim - indexRank, 1);
    llvm::append_range(column, getRangeSizes(own));
    result.weights.push_back(
        mixtures.expandWeights(loc, mixtures.reshape(loc, own, column), shape));
  }
  const Form &content = forms.find(op.getTable())->second;
  result.least = content.least;
  result.most = content.most;
  return getForm(std::move(result));
}

std::optional<IntegerLifting::Form>
IntegerLifting::takeAlong(tp::TakeAlongOp op) {
  Location loc = op.getLoc();
  const Form indices = forms.find(op.getIndices())->second;
  const Form table = forms.find(op.getTable())->second;
  bool isTable = !indices.mixture;
  SmallVector<int64_t> sizes =
      getRangeSizes(isTable ? table.mixture.weights : indices.mixture.weights);
  ArrayRef<int64_t> shape = getShape(op.getResult());
  if (!appendSizes(shape, sizes) ||
      !appendSizes(getShape(op.getTable()), sizes))
    return std::nullopt;
  if (isTable) {
    Mixture result = table.mixture;
    auto at = [&](Value value, ArrayRef<int64_t> ranges) {
      return mixtures.move(
          op, {value, repeat(mixtures, loc, indices.value, ranges)}, ranges);
    };
    result.table = at(result.table, sizes);
    for (Value &own : result.weights)
      own = at(own, getRangeSizes(own));
    return getForm(std::move(result));
  }
  Mixture result = indices.mixture;
  result.low.reset();
  result.table = mixtures.move(
      op,
      {repeat(mixtures, loc, get(op.getTable()), sizes), indices.mixture.table},
      sizes);
  result.least = table.least;
  result.most = table.most;
  return getForm(std::move(result));
}

/// Returns weights with a dim of size 1 after those of the tensor.
static Value addDim(MixtureBuilder &mixtures, Location loc, Value weights,
                    int64_t rank) {
  SmallVector<int64_t> shape(getShape(weights));
  shape.insert(shape.begin() + rank, 1);
  return mixtures.reshape(loc, weights, shape);
}

Mixture IntegerLifting::getHits(tp::ScatterOp op) {
  Location loc = op.getLoc();
  Mixture hits = forms.find(op.getIndices())->second.mixture;
  SmallVector<int64_t> shape(getShape(op.getIndices()));
  auto rank = static_cast<int64_t>(shape.size());
  int64_t count = getShape(op.getInput())[op.getDim()];
  Type indexType = getElementTypeOrSelf(hits.table);
  auto integer = [&](int64_t number) -> Value {
    return tp::ConstantOp::create(builder, loc,
                                  RankedTensorType::get({}, indexType),
                                  builder.getIntegerAttr(indexType, number));
  };
  if (op.getWrapsNegative()) {
    Value isNegative = mixtures.map(
        loc, MapFunction::Less, {hits.table, integer(0)}, builder.getI1Type());
    Value fromEnd = mixtures.map(loc, MapFunction::Add,
                                 {hits.table, integer(count)}, indexType);
    hits.table = mixtures.map(loc, MapFunction::Select,
                              {isNegative, fromEnd, hits.table}, indexType);
  }
  SmallVector<int64_t> column(getShape(hits.table));
  column.push_back(1);
  Value numbers = mixtures.cast(loc, mixtures.iota(loc, 0, count), indexType);
  hits.table = mixtures.cast(
      loc,
      mixtures.map(loc, MapFunction::Equal,
                   {mixtures.reshape(loc, hits.table, column), numbers},
                   builder.getI1Type()),
      builder.getF64Type());
  // The index comes before the ranges.
  SmallVector<int64_t> permutation = range(0, rank);
  auto last = static_cast<int64_t>(getShape(hits.table).size()) - 1;
  permutation.push_back(last);
  llvm::append_range(permutation, range(rank, last));
  hits.table = mixtures.permute(loc, hits.table, permutation);
  shape.push_back(count);
  for (Value &weights : hits.weights)
    weights = mixtures.expandWeights(loc, addDim(mixtures, loc, weights, rank),
                                     shape);
  hits.low.reset();
  return hits;
}

std::optional<IntegerLifting::Form> IntegerLifting::scatter(tp::ScatterOp op) {
  Location loc = op.getLoc();
  auto dim = static_cast<int64_t>(op.getDim());
  ArrayRef<int64_t> shape = getShape(op.getIndices());
  auto rank = static_cast<int64_t>(shape.size());
  const Form indices = forms.find(op.getIndices())->second;
  SmallVector<int64_t> sizes = getRangeSizes(indices.mixture.weights);
  sizes.insert(sizes.begin(), getShape(op.getInput())[dim]);
  // Of several updates of one element, the last one counts.
  if (indices.mixture && !op.getAccumulate() && shape[dim] != 1)
    return replace(op);
  if (!indices.mixture || !appendSizes(shape, sizes))
    return std::nullopt;
  bool isFloat = isFieldType(getElementTypeOrSelf(op.getInput()));
  Type type =
      isFloat ? getElementTypeOrSelf(op.getInput()) : mixtures.getNumberType();
  // An update counts at an index with the weight of the numbers that are it.
  Mixture hits = getHits(op), products = hits;
  ArrayRef<int64_t> hitShape = getShape(hits.table).take_front(rank + 1);
  // Updates that depend on the same integers are summed together with the hits.
  const Form updates = forms.find(op.getUpdates())->second;
  SmallVector<Value> own;
  for (Value weights : updates.mixture.weights) {
    own.push_back(mixtures.expandWeights(
        loc, addDim(mixtures, loc, weights, rank), hitShape));
    if (!llvm::is_contained(products.weights, own.back()))
      products.weights.push_back(own.back());
  }
  auto full = appendSizes(hitShape, getRangeSizes(products.weights));
  bool isTable = isFloat && full && products.weights.size() <= maxWeights;
  if (!isTable) {
    own.clear();
    products.weights = hits.weights;
    full = appendSizes(hitShape, getRangeSizes(products.weights));
  }
  Value update = isTable && updates.mixture ? updates.mixture.table
                 : isFloat                  ? get(op.getUpdates())
                                            : getNumber(op.getUpdates());
  products.table = mixtures.broadcast(
      loc,
      mixtures.map(
          loc, MapFunction::Mul,
          {mixtures.align(loc, addDim(mixtures, loc, update, rank), own,
                          products.weights),
           mixtures.align(loc, hits.table, hits.weights, products.weights)},
          type),
      *full);
  // The index takes the place of the dim.
  SmallVector<int64_t> order = range(0, rank - 1);
  order.insert(order.begin() + dim, rank - 1);
  auto collapse = [&](const Mixture &mixture) {
    return mixtures.permute(loc,
                            mixtures.sum(loc, mixtures.collapse(loc, mixture),
                                         {dim},
                                         /*keepsDims=*/false),
                            order);
  };
  Value input = isFloat ? get(op.getInput()) : getNumber(op.getInput());
  Value added = collapse(products);
  // What is replaced does not count.
  if (!op.getAccumulate())
    added = mixtures.map(loc, MapFunction::Sub,
                         {added, mixtures.map(loc, MapFunction::Mul,
                                              {collapse(hits), input}, type)},
                         type);
  return getForm(mixtures.map(loc, MapFunction::Add, {input, added}, type));
}

void IntegerLifting::visitIndexing(tp::IndexingOpInterface op) {
  Value indices = op.getIndexValues();
  // Rows that were sorted are sorted back.
  if (auto rows = sortedRows.find(op.getIndexed());
      followsRows && isa<tp::TakeOp>(*op) && op.getIndexedDim() == 0 &&
      rows != sortedRows.end() && getInverted(indices) == rows->second.order) {
    forms[op->getResult(0)] = rows->second.rows;
    sortsBack = true;
    return;
  }
  // A row at its own places, so that equal weights stay one value.
  const Form &places = forms.find(indices)->second;
  if (isa<tp::TakeOp>(*op) && places.value && isPositions(places.value) &&
      getShape(indices) ==
          getShape(op.getIndexed()).slice(op.getIndexedDim(), 1)) {
    Form whole = forms.find(op.getIndexed())->second;
    forms[op->getResult(0)] = std::move(whole);
    return;
  }
  if (isNumber(indices) && !isMixture(indices)) {
    Mixture own = createIndices(op);
    if (!own)
      return visitUnknown(op, indices, "an index");
    noteUnknown(op, indices, "an index");
    // Elsewhere, they are numbers.
    Form numbers = forms.find(indices)->second;
    Form &form = forms[indices] = getForm(std::move(own));
    form.isOfMany = numbers.isOfMany;
    visitIndexing(op);
    forms[indices] = std::move(numbers);
    return;
  }
  bool hasIndices = isMixture(indices);
  bool hasTable = isMixture(op.getIndexed()) && !isa<tp::ScatterOp>(*op);
  if (!hasIndices && !hasTable)
    return visitElements(op);
  auto form = TypeSwitch<Operation *, std::optional<Form>>(op)
                  .Case([&](tp::TakeOp own) { return take(own); })
                  .Case([&](tp::TakeAlongOp own) { return takeAlong(own); })
                  .Case([&](tp::ScatterOp own) { return scatter(own); })
                  .Default([](Operation *) { return std::nullopt; });
  if (!form)
    return visitUnknown(op, indices, "where elements are replaced");
  Value result = op->getResult(0);
  if (form->mixture && holdsNumbers(result, form->mixture)) {
    std::pair<double, double> bounds = {form->least, form->most};
    *form = getForm(mixtures.collapse(op.getLoc(), form->mixture));
    std::tie(form->least, form->most) = bounds;
  }
  forms[result] = *form;
}
