//===- AtenScatter.cpp - ATen scatter ---------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "Indexing.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

bool vocabulary::isIndex(Value value) {
  Type element = value ? getTensor(value).getElementType() : Type();
  return isa_and_present<IntegerType>(element) && !element.isInteger(1);
}

Value vocabulary::narrow(NodeReader &reader, Value input, Value indices,
                         std::optional<int64_t> dim) {
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(input));
  tp::Sizes wanted = reader.getSymbols().getSizes(getTensor(indices));
  if (sizes.size() != wanted.size())
    return {};
  for (auto [position, size] : llvm::enumerate(wanted)) {
    if (static_cast<int64_t>(position) == dim || sizes[position] == size)
      continue;
    std::optional<int64_t> count = size.getConstant();
    if (!count || !sizes[position].getConstant())
      return {};
    input = reader.slice(input, position, 0, *count);
  }
  return input;
}

LogicalResult vocabulary::setScatter(NodeReader &reader, Value self,
                                     Value index, Value updates, int64_t dim,
                                     bool accumulates, bool wrapsNegative) {
  RankedTensorType type = reader.getResultType();
  if (getTensor(updates).getElementType() != type.getElementType() ||
      (accumulates && type.getElementType().isInteger(1)))
    return failure();
  return reader.result(reader.create<tp::ScatterOp>(
      type, self, index, updates, dim, accumulates, wrapsNegative));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// The operands of a scatter along `dim`.
struct Scatter {
  Value self, index, updates;
  int64_t dim;
};
} // namespace

static std::optional<Scatter> getScatter(NodeReader &reader) {
  Value self = reader.tensor("self"), index = reader.tensor("index");
  RankedTensorType type = reader.getResultType();
  if (!self || !isIndex(index) || !type || type.getRank() == 0)
    return std::nullopt;
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(index));
  // Elements beside the indexed ones would have to be preserved.
  if (!dim || narrow(reader, self, index, dim) != self)
    return std::nullopt;
  Value updates;
  if (reader.find("src")) {
    Value source = reader.tensor("src");
    if (!source)
      return std::nullopt;
    updates = narrow(reader, source, index, std::nullopt);
  } else if (std::optional<double> number = reader.number("value")) {
    updates = reader.fill(*number, sizes, type.getElementType());
  }
  return updates ? std::optional(Scatter{self, index, updates, *dim})
                 : std::nullopt;
}

/// scatter and scatter_add. A stated reduction that is not a sum is not
/// modelled.
template <bool accumulates>
static LogicalResult readScatter(NodeReader &reader) {
  std::optional<StringRef> reduction =
      reader.string("reduce", StringRef(accumulates ? "add" : ""));
  if (!reduction || (!reduction->empty() && *reduction != "add"))
    return failure();
  std::optional<Scatter> scatter = getScatter(reader);
  if (!scatter)
    return failure();
  return setScatter(reader, scatter->self, scatter->index, scatter->updates,
                    scatter->dim, !reduction->empty());
}

static Value createScatter(NodeReader &reader, const Scatter &scatter,
                           Value input, Value updates, bool accumulates) {
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(input));
  return reader.create<tp::ScatterOp>(
      reader.getDenseType(getElementType(input), sizes), input, scatter.index,
      updates, scatter.dim, accumulates,
      /*wraps_negative=*/false);
}

/// scatter_reduce with a sum or a mean. The other reductions keep the largest
/// or smallest update of an element, or their product, which no op does.
static LogicalResult readScatterReduce(NodeReader &reader) {
  std::optional<StringRef> reduction = reader.string("reduce");
  std::optional<bool> includesSelf = reader.boolean("include_self", true);
  std::optional<Scatter> scatter = getScatter(reader);
  if (!reduction || (*reduction != "sum" && *reduction != "mean") ||
      !includesSelf || !scatter)
    return failure();
  Type element = getElementType(scatter->self);
  if (element.isInteger(1) || getElementType(scatter->updates) != element)
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes updateSizes = symbols.getSizes(getTensor(scatter->updates));
  Value self = scatter->self;
  // Only elements with updates lose their old value.
  if (!*includesSelf)
    self = createScatter(reader, *scatter, self,
                         reader.fill(0, updateSizes, element),
                         /*accumulates=*/false);
  if (*reduction == "sum")
    return setScatter(reader, self, scatter->index, scatter->updates,
                      scatter->dim, /*accumulates=*/true);
  Formula f(reader, element);
  Value sum =
      createScatter(reader, *scatter, f.of(self), f.of(scatter->updates),
                    /*accumulates=*/true);
  Type integer = reader.getBuilder().getI64Type();
  Value count = createScatter(
      reader, *scatter,
      reader.fill(*includesSelf ? 1 : 0,
                  symbols.getSizes(getTensor(scatter->self)), integer),
      reader.fill(1, updateSizes, integer), /*accumulates=*/true);
  if (!*includesSelf)
    count = reader.map(MapFunction::Maximum,
                       {count, reader.constant(int64_t(1))}, integer);
  // PyTorch rounds means of integers down.
  auto divide =
      isa<FloatType>(element) ? MapFunction::Div : MapFunction::FloorDiv;
  return f.result(0, f.apply(divide, {sum, f.of(count)}));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

LogicalResult vocabulary::setScatteredRows(NodeReader &reader, Value self,
                                           Value indices, Value updates,
                                           int64_t dim, bool accumulates,
                                           bool wrapsNegative) {
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(updates));
  tp::Sizes row(sizes.size(), 1);
  row[dim] = sizes[dim];
  Value index = reader.broadcast(reader.reshape(indices, row), sizes);
  return setScatter(reader, self, index, updates, dim, accumulates,
                    wrapsNegative);
}

template <bool accumulates>
static LogicalResult readIndexRows(NodeReader &reader) {
  Value self = reader.tensor("self"), index = reader.tensor("index");
  Value source = reader.tensor("source");
  RankedTensorType type = reader.getResultType();
  if (!self || !isIndex(index) || !source || !type ||
      getTensor(index).getRank() != 1 ||
      getTensor(source).getRank() != type.getRank())
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  if (!dim)
    return failure();
  if (!reader.isAbsent("alpha") && reader.number("alpha") != 1.0) {
    Value factor = reader.operand("alpha");
    if (!factor || getElementType(source) != type.getElementType())
      return failure();
    source =
        reader.map(MapFunction::Mul, {source, factor}, type.getElementType());
  }
  return setScatteredRows(reader, self, index, source, *dim, accumulates);
}

/// Sets whole rows to one number. Unlike index_copy, it counts negative indices
/// from the end.
static LogicalResult readIndexFill(NodeReader &reader) {
  Value self = reader.tensor("self"), index = reader.tensor("index");
  Value number = reader.operand("value");
  RankedTensorType type = reader.getResultType();
  if (!self || !isIndex(index) || !number || !type ||
      getTensor(index).getRank() != 1 || getTensor(number).getRank() != 0)
    return failure();
  Type element = type.getElementType();
  // Of other conversions, some are errors in PyTorch.
  if (isa<FloatType>(getElementType(number)) && !isa<FloatType>(element))
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  if (!dim)
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  Type integer = reader.getBuilder().getI64Type();
  Value isNegative =
      reader.map(MapFunction::Less, {index, reader.constant(int64_t(0))},
                 reader.getBuilder().getI1Type());
  Value wrapped = reader.map(
      MapFunction::Add, {index, reader.sizeAsNumber(sizes[*dim])}, integer);
  index =
      reader.map(MapFunction::Select, {isNegative, wrapped, index}, integer);
  sizes[*dim] = reader.getSymbols().getSizes(getTensor(index))[0];
  Value rows = reader.broadcast(reader.convert(number, element), sizes);
  return setScatteredRows(reader, self, index, rows, *dim,
                          /*accumulates=*/false);
}

/// Replaces the elements where the mask is true by the first elements of the
/// source, in order.
static LogicalResult readMaskedScatter(NodeReader &reader) {
  Value self = reader.tensor("self"), mask = reader.tensor("mask");
  Value source = reader.tensor("source");
  RankedTensorType type = reader.getResultType();
  if (!self || !mask || !source || !type || !type.hasStaticShape() ||
      !getTensor(source).hasStaticShape() ||
      !getElementType(mask).isInteger(1) ||
      getTensor(mask).getRank() > type.getRank() ||
      getElementType(source) != type.getElementType())
    return failure();
  int64_t count = type.getNumElements();
  int64_t available = getTensor(source).getNumElements();
  if (count == 0 || available == 0)
    return failure();
  Builder &builder = reader.getBuilder();
  tp::Sizes sizes = reader.getSymbols().getSizes(type);
  Type integer = builder.getI64Type();
  auto row = RankedTensorType::get({count}, integer);
  Value marks = reader.convert(
      reader.reshape(reader.broadcast(mask, sizes), {count}), integer);
  // The number of true elements before each true one.
  Value position = reader.map(
      MapFunction::Sub,
      {reader.create<tp::RowwiseOp>(row, tp::RowFunction::CumulativeSum, marks,
                                    /*dim=*/0),
       reader.constant(int64_t(1))},
      integer);
  // Elements before the first true one are not replaced.
  position = reader.map(MapFunction::Maximum,
                        {position, reader.constant(int64_t(0))}, integer);
  Value taken = reader.create<tp::TakeOp>(
      RankedTensorType::get({count}, type.getElementType()),
      reader.reshape(source, {available}), position, /*dim=*/0,
      /*wraps_negative=*/false);
  Value result = reader.map(MapFunction::Select,
                            {mask, reader.reshape(taken, sizes), self},
                            type.getElementType());
  return Formula(reader, type.getElementType()).result(0, result);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static LogicalResult writeScatter(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ScatterOp>(operation);
  if (op.getWrapsNegative())
    return op.emitError("cannot write a scatter whose indices may be negative: "
                        "PyTorch's scatter does not accept them");
  return writer
      .node(op.getLoc(), op.getAccumulate()
                             ? "torch.ops.aten.scatter_add.default"
                             : "torch.ops.aten.scatter.src")
      .tensor("self", op.getInput())
      .integer("dim", op.getDim())
      .tensor("index", op.getIndices())
      .tensor("src", op.getUpdates())
      .finish(op.getResult());
}

void vocabulary::addAtenScatter(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.scatter.src", "torch.ops.aten.scatter.value",
                  "torch.ops.aten.scatter.reduce",
                  "torch.ops.aten.scatter.value_reduce"},
                 readScatter</*accumulates=*/false>);
  vocabulary.add("torch.ops.aten.scatter_add.default",
                 readScatter</*accumulates=*/true>);
  vocabulary.add("torch.ops.aten.index_copy.default",
                 readIndexRows</*accumulates=*/false>);
  vocabulary.add("torch.ops.aten.index_add.default",
                 readIndexRows</*accumulates=*/true>);
  vocabulary.add("torch.ops.aten.scatter_reduce.two", readScatterReduce);
  vocabulary.add({"torch.ops.aten.index_fill.int_Scalar",
                  "torch.ops.aten.index_fill.int_Tensor"},
                 readIndexFill);
  vocabulary.add("torch.ops.aten.masked_scatter.default", readMaskedScatter);
  vocabulary.addWriter<tp::ScatterOp>(writeScatter);
}
