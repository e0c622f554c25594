//===- AtenSorting.cpp - sort, topk and extreme indices ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

/// The algorithms that leave the order of equal elements open.
static constexpr StringRef sortName = "sort", topkName = "topk";

static tp::SortOp createSort(NodeReader &reader, Type values, Type order,
                             Value input, int64_t dim,
                             const tp::SortOrder &how) {
  Builder &builder = reader.getBuilder();
  return reader.create<tp::SortOp>(
      values, order, input, dim, how.isDescending,
      how.algorithm.empty() ? StringAttr()
                            : builder.getStringAttr(how.algorithm),
      how.count ? builder.getI64IntegerAttr(*how.count) : IntegerAttr(),
      how.isUnordered);
}

/// Sorts the rows of `input` along `dim`, and returns dense tensors.
static tp::SortOp createSort(NodeReader &reader, Value input, int64_t dim,
                             const tp::SortOrder &how) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(input));
  if (how.count)
    sizes[dim] = *how.count;
  tp::Strides strides = tp::getContiguousStrides(sizes);
  Type element = getTensor(input).getElementType();
  return createSort(
      reader, symbols.getType(element, sizes, strides),
      symbols.getType(reader.getBuilder().getI64Type(), sizes, strides), input,
      dim, how);
}

/// The order in which sort and argsort arrange a row, or nullopt for forms that
/// are not modelled.
static std::optional<tp::SortOrder> readSortOrder(NodeReader &reader) {
  std::optional<bool> descending = reader.boolean("descending", false);
  std::optional<bool> isStable = reader.boolean("stable", false);
  if (!descending || !isStable)
    return std::nullopt;
  return tp::SortOrder{*descending, *isStable ? StringRef() : sortName};
}

static LogicalResult readSort(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType values = reader.getResultType(0);
  RankedTensorType order = reader.getResultType(1);
  std::optional<tp::SortOrder> how = readSortOrder(reader);
  if (!self || !values || !order || !how)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", values.getRank(), -1);
  if (!dim)
    return failure();
  tp::SortOp op = createSort(reader, values, order, self, *dim, *how);
  reader.setResult(0, op.getValues());
  reader.setResult(1, op.getOrder());
  return success();
}

static LogicalResult readArgsort(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<tp::SortOrder> how = readSortOrder(reader);
  if (!self || !how)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), -1);
  if (!dim)
    return failure();
  return reader.result(createSort(reader, self, *dim, *how).getOrder());
}

static LogicalResult readTopk(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType values = reader.getResultType(0);
  RankedTensorType order = reader.getResultType(1);
  std::optional<int64_t> count = reader.integer("k");
  std::optional<bool> largest = reader.boolean("largest", true);
  std::optional<bool> isSorted = reader.boolean("sorted", true);
  if (!self || !values || !order || !count || !largest || !isSorted)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), -1);
  if (!dim)
    return failure();
  tp::SortOp op = createSort(reader, values, order, self, *dim,
                             {*largest, topkName, *count, !*isSorted});
  reader.setResult(0, op.getValues());
  reader.setResult(1, op.getOrder());
  return success();
}

/// Returns the index of the largest or smallest element of each row, the first
/// one in case of ties.
static Value createExtremeIndex(NodeReader &reader, Value input, int64_t dim,
                                bool isLargest, RankedTensorType type) {
  tp::SortOp sort = createSort(reader, input, dim,
                               {/*isDescending=*/isLargest, /*algorithm=*/{},
                                /*count=*/1});
  if (sort.getOrder().getType() == type)
    return sort.getOrder();
  Value index =
      reader.reshape(sort.getOrder(), reader.getSymbols().getSizes(type));
  if (index.getType() == type)
    return index;
  return reader.create<tp::CopyOp>(type, index, /*preserves_strides=*/false);
}

template <bool isLargest>
static LogicalResult readExtremeIndex(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || !reader.boolean("keepdim", false))
    return failure();
  int64_t rank = getTensor(self).getRank();
  std::optional<int64_t> dim = 0;
  if (reader.isAbsent("dim")) {
    // All elements form a single row.
    if (!getTensor(self).hasStaticShape())
      return failure();
    self = reader.reshape(self, {getTensor(self).getNumElements()});
  } else {
    dim = reader.dim("dim", rank);
  }
  if (!dim || rank == 0)
    return failure();
  return reader.result(createExtremeIndex(reader, self, *dim, isLargest, type));
}

/// max(x, dim): the extreme elements and their indices.
template <bool isLargest>
static LogicalResult readExtreme(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType values = reader.getResultType(0);
  RankedTensorType indices = reader.getResultType(1);
  std::optional<bool> keepDims = reader.boolean("keepdim", false);
  if (!self || !values || !indices || !keepDims ||
      getTensor(self).getRank() == 0)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank());
  if (!dim)
    return failure();
  auto kind = isLargest ? tp::ReductionKind::Max : tp::ReductionKind::Min;
  reader.setResult(0, reader.create<tp::ReduceOp>(values, kind, self,
                                                  ArrayRef<int64_t>(*dim),
                                                  *keepDims));
  reader.setResult(1,
                   createExtremeIndex(reader, self, *dim, isLargest, indices));
  return success();
}

/// Writes the index of the extreme element of each row and, if it is used, that
/// element.
static LogicalResult writeExtreme(tp::SortOp op, NodeWriter &writer) {
  bool isLargest = op.getDescending();
  if (op.getValues().use_empty())
    return writer
        .node(op.getLoc(), isLargest ? "torch.ops.aten.argmax.default"
                                     : "torch.ops.aten.argmin.default")
        .tensor("self", op.getInput())
        .integer("dim", op.getDim())
        .boolean("keepdim", true)
        .finish(op.getOrder());
  return writer
      .node(op.getLoc(),
            isLargest ? "torch.ops.aten.max.dim" : "torch.ops.aten.min.dim")
      .tensor("self", op.getInput())
      .integer("dim", op.getDim())
      .boolean("keepdim", true)
      .finish(op.getResults());
}

/// Which of several equal elements are returned, and in which order, depends on
/// the operator and its arguments. Hence each form of the op is written as the
/// operator that it is read from.
static LogicalResult writeSort(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::SortOp>(operation);
  StringRef algorithm = op.getAlgorithm().value_or("");
  std::optional<uint64_t> count = op.getFirst();
  if (algorithm == topkName && count)
    return writer.node(op.getLoc(), "torch.ops.aten.topk.default")
        .tensor("self", op.getInput())
        .integer("k", static_cast<int64_t>(*count))
        .integer("dim", op.getDim())
        .boolean("largest", op.getDescending())
        .boolean("sorted", !op.getUnordered())
        .finish(op.getResults());
  if (algorithm == sortName && !count && !op.getUnordered())
    return writer.node(op.getLoc(), "torch.ops.aten.sort.default")
        .tensor("self", op.getInput())
        .integer("dim", op.getDim())
        .boolean("descending", op.getDescending())
        .finish(op.getResults());
  if (algorithm.empty() && !count)
    return writer.node(op.getLoc(), "torch.ops.aten.sort.stable")
        .tensor("self", op.getInput())
        .keywords()
        .boolean("stable", true)
        .integer("dim", op.getDim())
        .boolean("descending", op.getDescending())
        .finish(op.getResults());
  if (algorithm.empty() && count == 1)
    return writeExtreme(op, writer);
  return op.emitError("cannot be written as a PyTorch node: no operator sorts "
                      "in this way");
}

void vocabulary::addAtenSorting(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.sort.default", "torch.ops.aten.sort.stable"},
                 readSort);
  vocabulary.add(
      {"torch.ops.aten.argsort.default", "torch.ops.aten.argsort.stable"},
      readArgsort);
  vocabulary.add("torch.ops.aten.topk.default", readTopk);
  vocabulary.add("torch.ops.aten.argmax.default",
                 readExtremeIndex</*isLargest=*/true>);
  vocabulary.add("torch.ops.aten.argmin.default",
                 readExtremeIndex</*isLargest=*/false>);
  vocabulary.add("torch.ops.aten.max.dim", readExtreme</*isLargest=*/true>);
  vocabulary.add("torch.ops.aten.min.dim", readExtreme</*isLargest=*/false>);
  vocabulary.addWriter<tp::SortOp>(writeSort);
}
