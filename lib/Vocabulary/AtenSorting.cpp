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

static tp::SortOp createSort(NodeReader &reader, Type values, Type order,
                             Value input, int64_t dim,
                             const tp::SortOrder &how) {
  Builder &builder = reader.getBuilder();
  return reader.create<tp::SortOp>(
      values, order, input, dim, how.isDescending,
      how.algorithm.empty() ? StringAttr()
                            : builder.getStringAttr(how.algorithm),
      how.numUnordered == 0 ? IntegerAttr()
                            : builder.getI64IntegerAttr(how.numUnordered));
}

/// Sorts the rows of `input` along `dim`.
static tp::SortOp createSort(NodeReader &reader, Value input, int64_t dim,
                             const tp::SortOrder &how) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(input));
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
  return tp::SortOrder{*descending, *isStable ? "" : "sort"};
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

/// topk(x, k): the first elements of the sorted rows.
static LogicalResult readTopk(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<int64_t> count = reader.integer("k");
  std::optional<bool> largest = reader.boolean("largest", true);
  std::optional<bool> isSorted = reader.boolean("sorted", true);
  if (!self || !count || !largest || !isSorted)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), -1);
  if (!dim)
    return failure();
  tp::SortOrder how{*largest, "topk", *isSorted ? 0 : *count};
  tp::SortOp sort = createSort(reader, self, *dim, how);
  for (auto [index, sorted] : llvm::enumerate(sort->getResults())) {
    RankedTensorType type = reader.getResultType(index);
    if (!type)
      return failure();
    // New memory, unlike a view of the sorted rows.
    Value first = reader.slice(sorted, *dim, 0, *count);
    reader.setResult(index, reader.create<tp::CopyOp>(
                                type, first, /*preserves_strides=*/false));
  }
  return success();
}

/// Returns the index of the largest or smallest element of each row, the first
/// one in case of ties. Returns null if the size of the rows is unknown.
static Value createExtremeIndex(NodeReader &reader, Value input, int64_t dim,
                                bool isLargest, RankedTensorType type) {
  tp::SortOp sort =
      createSort(reader, input, dim, {/*isDescending=*/isLargest});
  Value first = reader.slice(sort.getOrder(), dim, 0, 1);
  return reader.create<tp::CopyOp>(
      type, reader.reshape(first, reader.getSymbols().getSizes(type)),
      /*preserves_strides=*/false);
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

static LogicalResult writeSort(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::SortOp>(operation);
  // If the order of equal elements is undefined, they may keep their current
  // order.
  return writer.node(op.getLoc(), "torch.ops.aten.sort.stable")
      .tensor("self", op.getInput())
      .keywords()
      .boolean("stable", true)
      .integer("dim", op.getDim())
      .boolean("descending", op.getDescending())
      .finish(op.getResults());
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
