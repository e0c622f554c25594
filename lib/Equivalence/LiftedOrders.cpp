//===- LiftedOrders.cpp - orders and groups of all values at once -*- C++ -*-=//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Which element comes where when a row is sorted, which group a row is in, and
// which of several updates an element gets, are integers that many elements
// determine. They are taken for unknown functions of all of these together.
// Programs that send tokens to experts are then equal for every order, if they
// do the same to a row wherever it is.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"
#include "IntegerLifting.h"

#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Returns `shape` with one dim of another size.
static SmallVector<int64_t> withSize(ArrayRef<int64_t> shape, int64_t dim,
                                     int64_t size) {
  SmallVector<int64_t> result(shape);
  result[dim] = size;
  return result;
}

/// Returns the dims of a tensor with this one last.
static SmallVector<int64_t> moveLast(int64_t rank, int64_t dim) {
  SmallVector<int64_t> permutation;
  for (int64_t other = 0; other < rank; ++other)
    if (other != dim)
      permutation.push_back(other);
  permutation.push_back(dim);
  return permutation;
}

Value MixtureBuilder::createKey(Location loc, Value value, int64_t dim,
                                StringRef function) {
  Type f64 = builder.getF64Type();
  Value terms = map(loc, MapFunction::Weight,
                    {value, getPlaces(loc, getShape(value), dim)}, f64);
  // The name is a fraction that no place is.
  double name =
      static_cast<double>(llvm::xxh3_64bits(function) % (1 << 20)) + 0.25;
  return map(loc, MapFunction::Weight,
             {sum(loc, terms, {dim}, /*keepsDims=*/true), constant(loc, name)},
             f64);
}

Value MixtureBuilder::createKeys(Location loc, Value key, int64_t dim,
                                 int64_t size) {
  return map(loc, MapFunction::Weight,
             {key, getPlaces(loc, withSize(getShape(key), dim, size), dim)},
             builder.getF64Type());
}

Value MixtureBuilder::getPlaces(Location loc, ArrayRef<int64_t> shape,
                                int64_t dim) {
  Type f64 = builder.getF64Type();
  Value places =
      map(loc, MapFunction::Add,
          {cast(loc, iota(loc, 0, shape[dim]), f64), constant(loc, 0.5)}, f64);
  SmallVector<int64_t> column(shape.size(), 1);
  column[dim] = shape[dim];
  return reshape(loc, places, column);
}

void IntegerLifting::visitSort(tp::SortOp op) {
  Location loc = op.getLoc();
  auto dim = static_cast<int64_t>(op.getDim());
  Value input = getNumber(op.getInput());
  ArrayRef<int64_t> shape = getShape(op.getOrder());
  auto rank = static_cast<int64_t>(shape.size());
  int64_t count = getShape(input)[dim];
  SmallVector<int64_t> sizes = {count, 1};
  auto full = appendSizes(shape, sizes);
  if (!full || isa<IntegerType>(tp::getTensor(input).getElementType()))
    return visitElements(op);
  if (!unknown)
    unknown = {"an order of unknown values: " +
                   report::describeLocation(op->getLoc()),
               /*isDrawn=*/true};
  // Of a stable order, the first elements do not depend on how many are asked
  // for. Of others, only calls that are alike are known to be.
  std::string function;
  llvm::raw_string_ostream os(function);
  os << "order " << op.getDescending();
  if (op.getAlgorithmAttr())
    os << op->getPropertiesAsAttribute();
  Value key = mixtures.createKey(loc, input, dim, function);
  Mixture order = mixtures.createSource(
      loc, mixtures.createKeys(loc, key, dim, shape[dim]), 0, count, 1,
      tp::getTensor(op.getOrder()).getElementType());
  // The element at a place of the order is the mixture of the row.
  SmallVector<int64_t> column = withSize(shape, dim, 1);
  llvm::append_range(column, sizes);
  Mixture values;
  values.table = mixtures.broadcast(
      loc,
      mixtures.reshape(loc, mixtures.permute(loc, input, moveLast(rank, dim)),
                       column),
      *full);
  values.weights = order.weights;
  Form sorted = getForm(mixtures.collapse(loc, values));
  const Form unsorted = forms.find(op.getInput())->second;
  sorted.least = unsorted.least;
  sorted.most = unsorted.most;
  sorted.isOfMany = true;
  forms[op.getValues()] = std::move(sorted);
  Form &places = forms[op.getOrder()] = getForm(std::move(order));
  places.isOfMany = true;
  if (rank != 1 || shape[dim] != count)
    return;
  Form positions =
      getForm(mixtures.cast(loc, mixtures.iota(loc, 0, count),
                            tp::getTensor(op.getOrder()).getElementType()));
  positions.isFixed = true;
  positions.least = 0;
  positions.most = static_cast<double>(count) - 1;
  sortedRows[op.getOrder()] = {op.getOrder(), std::move(positions)};
  sortedRows[op.getValues()] = {op.getOrder(), unsorted};
}

void IntegerLifting::visitGroups(tp::GroupedMatmulOp op) {
  Location loc = op.getLoc();
  Value offsets = getNumber(op.getOffsets());
  Value lhs = get(op.getLhs()), rhs = get(op.getRhs());
  int64_t numGroups = getShape(offsets).front();
  bool groupsContraction = op.groupsContraction();
  int64_t numRows = getShape(lhs)[groupsContraction ? 1 : 0];
  ArrayRef<int64_t> shape = getShape(op.getResult());
  Type type = tp::getTensor(op.getResult()).getElementType();
  auto full = appendSizes({shape.back(), getShape(lhs)[0], getShape(lhs)[1]},
                          {numGroups + 1});
  if (!full)
    return visitUnknown(op, op.getOffsets(), "sizes of groups");
  noteUnknown(op, op.getOffsets(), "sizes of groups");
  Value key = mixtures.createKey(loc, offsets, 0, "groups");
  // Rows behind the last group are in one more.
  Mixture group =
      mixtures.createSource(loc, mixtures.createKeys(loc, key, 0, numRows), 0,
                            numGroups + 1, 1, builder.getI64Type());
  Value weights =
      mixtures.reshape(loc, group.weights.front(), {numRows, numGroups + 1});
  auto stack = [&](Value matrix) {
    SmallVector<int64_t> sizes(getShape(matrix));
    SmallVector<int64_t> one = sizes;
    one.insert(one.begin(), 1);
    sizes.insert(sizes.begin(), numGroups);
    return mixtures.broadcast(loc, mixtures.reshape(loc, matrix, one), sizes);
  };
  if (groupsContraction) {
    // The rows of each group.
    Value ofGroups = mixtures.permute(loc, weights, {1, 0});
    Value own = tp::SliceOp::create(
        builder, loc,
        RankedTensorType::get({numGroups, numRows}, builder.getF64Type()),
        ofGroups, /*dim=*/0, /*start=*/0, /*step=*/1, /*blocks=*/false);
    Value columns = mixtures.map(
        loc, MapFunction::Mul,
        {mixtures.reshape(loc, lhs, {1, getShape(lhs)[0], numRows}),
         mixtures.reshape(loc, own, {numGroups, 1, numRows})},
        tp::getTensor(lhs).getElementType());
    forms[op.getResult()] =
        getForm(mixtures.multiply(loc, columns, stack(rhs), type));
    return;
  }
  Value products = mixtures.multiply(loc, stack(lhs), rhs, type);
  Value rest =
      op.getRest()
          ? get(op.getRest())
          : mixtures.broadcast(
                loc, mixtures.cast(loc, mixtures.constant(loc, 0), type),
                shape);
  SmallVector<int64_t> last(shape);
  last.insert(last.begin(), 1);
  Value joined =
      mixtures.concat(loc, {products, mixtures.reshape(loc, rest, last)}, 0);
  Mixture result;
  result.table = mixtures.reshape(loc, mixtures.permute(loc, joined, {1, 2, 0}),
                                  {shape[0], shape[1], numGroups + 1, 1});
  result.weights.push_back(mixtures.expandWeights(
      loc, mixtures.reshape(loc, weights, {numRows, 1, numGroups + 1, 1}),
      shape));
  forms[op.getResult()] = getForm(mixtures.collapse(loc, result));
}

std::optional<IntegerLifting::Form> IntegerLifting::replace(tp::ScatterOp op) {
  Location loc = op.getLoc();
  auto dim = static_cast<int64_t>(op.getDim());
  ArrayRef<int64_t> shape = getShape(op.getInput());
  ArrayRef<int64_t> shapeOfUpdates = getShape(op.getIndices());
  auto rank = static_cast<int64_t>(shape.size());
  int64_t count = shapeOfUpdates[dim];
  if (ArrayRef(withSize(shapeOfUpdates, dim, shape[dim])) != shape ||
      getShape(op.getUpdates()) != shapeOfUpdates)
    return std::nullopt;
  // Every element is replaced by the update at its place in the permutation.
  Value order = getPermutation(op.getIndices());
  bool isPermutation = order && count == shape[dim];
  if (isPermutation && isPositions(get(op.getUpdates())))
    inverses[op.getResult()] = order;
  SmallVector<int64_t> sizes = {isPermutation ? count : count + 1, 1};
  auto full = appendSizes(shape, sizes);
  if (!full)
    return std::nullopt;
  noteUnknown(op, op.getIndices(), "places of updates");
  std::string function = isPermutation ? "inverse" : "update";
  llvm::raw_string_ostream(function) << op.getWrapsNegative();
  Value key =
      mixtures.createKey(loc, getNumber(op.getIndices()), dim, function);
  Mixture result =
      mixtures.createSource(loc, mixtures.createKeys(loc, key, dim, shape[dim]),
                            0, sizes[0], 1, builder.getI64Type());
  result.low.reset();
  // Integers that are not known are numbers.
  auto isFixed = [&](Value operand) {
    return forms.find(operand)->second.isFixed;
  };
  bool isInteger =
      isa<IntegerType>(tp::getTensor(op.getResult()).getElementType());
  bool areNumbers = isInteger && !(isFixed(op.getUpdates()) &&
                                   (isPermutation || isFixed(op.getInput())));
  auto getElements = [&](Value operand) {
    return areNumbers ? getNumber(operand) : get(operand);
  };
  Value updates =
      mixtures.permute(loc, getElements(op.getUpdates()), moveLast(rank, dim));
  SmallVector<int64_t> columns = withSize(shape, dim, 1);
  columns.push_back(count);
  updates = mixtures.reshape(loc, updates, columns);
  if (!isPermutation) {
    SmallVector<int64_t> each(shape), one(shape);
    each.push_back(count);
    one.push_back(1);
    Value input = mixtures.reshape(loc, getElements(op.getInput()), one);
    updates = mixtures.concat(
        loc, {mixtures.broadcast(loc, updates, each), input}, rank);
  }
  SmallVector<int64_t> column(getShape(updates));
  column.push_back(1);
  result.table =
      mixtures.broadcast(loc, mixtures.reshape(loc, updates, column), *full);
  const Form &of = forms.find(op.getUpdates())->second;
  const Form &beside = forms.find(op.getInput())->second;
  result.least = isPermutation ? of.least : std::min(of.least, beside.least);
  result.most = isPermutation ? of.most : std::max(of.most, beside.most);
  if (areNumbers) {
    Form form = getForm(mixtures.collapse(loc, result));
    form.least = result.least;
    form.most = result.most;
    form.isOfMany = true;
    return form;
  }
  return getForm(std::move(result));
}

Mixture IntegerLifting::createIndices(tp::IndexingOpInterface op) {
  Value indices = op.getIndexValues();
  auto dim = static_cast<int64_t>(op.getIndexedDim());
  int64_t count = getShape(op.getIndexed())[dim];
  int64_t least = op.wrapsNegativeIndices() ? -count : 0;
  if (!appendSizes(getShape(indices), {count - least}))
    return {};
  // An index is within the dim, or the program has no result.
  return mixtures.createSource(op.getLoc(), getNumber(indices), least, count, 1,
                               tp::getTensor(indices).getElementType());
}
