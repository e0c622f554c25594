//===- AtenIndexing.cpp - ATen look-ups and index_put -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Indexing.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using tp::MapFunction;

//===----------------------------------------------------------------------===//
// Look-ups of rows
//===----------------------------------------------------------------------===//

static LogicalResult setTake(NodeReader &reader, Value table, Value indices,
                             int64_t dim, bool wrapsNegative) {
  RankedTensorType type = reader.getResultType();
  if (!table || !isIndex(indices) || !type)
    return failure();
  return reader.result(
      reader.create<tp::TakeOp>(type, table, indices, dim, wrapsNegative));
}

static LogicalResult readEmbedding(NodeReader &reader) {
  return setTake(reader, reader.tensor("weight"), reader.tensor("indices"), 0,
                 /*wrapsNegative=*/false);
}

static LogicalResult readIndexSelect(NodeReader &reader) {
  Value self = reader.tensor("self");
  Value index = reader.tensor("index");
  if (!self || !index || getTensor(index).getRank() != 1)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank());
  if (!dim)
    return failure();
  return setTake(reader, self, index, *dim, /*wrapsNegative=*/false);
}

/// The indices of x[:, i, j] = y and similar operators: index tensors for
/// adjacent dims, and None for all others.
struct IndexList {
  int64_t first = 0;
  SmallVector<Value> tensors;
};

static std::optional<IndexList> getIndexList(NodeReader &reader) {
  const Argument *indices = reader.find("indices");
  if (!indices || (indices->tag != ArgumentTag::OptionalTensors &&
                   indices->tag != ArgumentTag::Tensors))
    return std::nullopt;
  IndexList list;
  for (auto [position, index] : llvm::enumerate(indices->elements)) {
    if (index.tag == ArgumentTag::None)
      continue;
    int64_t next = list.first + static_cast<int64_t>(list.tensors.size());
    if (list.tensors.empty())
      list.first = position;
    else if (next != static_cast<int64_t>(position))
      return std::nullopt;
    list.tensors.push_back(reader.element("indices", position));
    if (!list.tensors.back())
      return std::nullopt;
  }
  return list.tensors.empty() ? std::nullopt : std::optional(list);
}

/// A tensor in which the dims that several index tensors refer to are merged,
/// and the indices of the merged dim.
struct MergedIndex {
  Value table;
  Value indices;
  bool wrapsNegative = true;
};

static std::optional<MergedIndex> mergeIndices(NodeReader &reader, Value table,
                                               const IndexList &list) {
  if (!llvm::all_of(list.tensors, isIndex))
    return std::nullopt;
  if (list.tensors.size() == 1)
    return MergedIndex{table, list.tensors.front()};
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(table)), merged;
  Type type = reader.getBuilder().getI64Type();
  Value sum;
  tp::Size product = 1;
  for (auto [position, size] : llvm::enumerate(sizes)) {
    int64_t which = static_cast<int64_t>(position) - list.first;
    if (which < 0 || which >= static_cast<int64_t>(list.tensors.size())) {
      merged.push_back(size);
      continue;
    }
    // The index in row-major order.
    product = tp::multiply(product, size);
    if (!product)
      return std::nullopt;
    Value extent = reader.sizeAsNumber(size);
    Value index = list.tensors[which];
    Value isNegative =
        reader.map(MapFunction::Less, {index, reader.constant(int64_t(0))},
                   reader.getBuilder().getI1Type());
    Value wrapped = reader.map(MapFunction::Add, {index, extent}, type);
    index = reader.map(MapFunction::Select, {isNegative, wrapped, index}, type);
    if (sum)
      sum = reader.map(MapFunction::Mul, {sum, extent}, type);
    sum = sum ? reader.map(MapFunction::Add, {sum, index}, type) : index;
    if (which + 1 == static_cast<int64_t>(list.tensors.size()))
      merged.push_back(product);
  }
  return MergedIndex{reader.reshape(table, merged), sum,
                     /*wrapsNegative=*/false};
}

/// x[:, i, j]
static LogicalResult readIndex(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<IndexList> list = getIndexList(reader);
  if (!self || !list ||
      list->first + static_cast<int64_t>(list->tensors.size()) >
          getTensor(self).getRank())
    return failure();
  std::optional<MergedIndex> merged = mergeIndices(reader, self, *list);
  if (!merged)
    return failure();
  return setTake(reader, merged->table, merged->indices, list->first,
                 merged->wrapsNegative);
}

//===----------------------------------------------------------------------===//
// Gather and writes through indices
//===----------------------------------------------------------------------===//

static LogicalResult readGather(NodeReader &reader) {
  Value self = reader.tensor("self"), index = reader.tensor("index");
  RankedTensorType type = reader.getResultType();
  if (!self || !isIndex(index) || !type ||
      reader.boolean("sparse_grad", false) != false)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  if (!dim)
    return failure();
  Value table = narrow(reader, self, index, dim);
  if (!table)
    return failure();
  return reader.result(
      reader.create<tp::TakeAlongOp>(type, table, index, *dim));
}

/// x[:, mask] = values, for values that do not depend on which of the elements
/// that the mask selects they are for.
static LogicalResult setMasked(NodeReader &reader, Value self, Value mask,
                               int64_t first, Value values) {
  RankedTensorType type = reader.getResultType();
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(mask));
  auto maskRank = static_cast<int64_t>(sizes.size());
  int64_t end = first + maskRank;
  if (end > type.getRank() || maskRank == 0 ||
      getTensor(values).getElementType() != type.getElementType())
    return failure();
  // PyTorch broadcasts the values to the dims before the mask, one dim of all
  // selected elements, and the dims after the mask.
  tp::Sizes own = symbols.getSizes(getTensor(values));
  if (tp::hasOneElement(getTensor(values))) {
    own.clear();
    values = reader.reshape(values, {});
  }
  auto ownRank = static_cast<int64_t>(own.size());
  int64_t behind = type.getRank() - end;
  if (ownRank > behind) {
    auto selected = own.begin() + (ownRank - behind - 1);
    if (*selected != tp::Size(1) || ownRank > behind + 1 + first)
      return failure();
    own.insert(selected, maskRank - 1, 1);
    values = reader.reshape(values, own);
  }
  // PyTorch writes to a copy, which is contiguous if the input has gaps.
  if (getTensor(self).getEncoding() != type.getEncoding())
    self = reader.convert(self, type.getElementType());
  if (getTensor(self).getEncoding() != type.getEncoding())
    return failure();
  sizes.append(behind, 1);
  Value operands[] = {reader.reshape(mask, sizes), values, self};
  return reader.result(
      reader.create<tp::MapOp>(type, MapFunction::Select, operands));
}

/// x[:, i, j] = values, or += values with `accumulate`
static LogicalResult readIndexPut(NodeReader &reader) {
  Value self = reader.tensor("self"), values = reader.tensor("values");
  RankedTensorType type = reader.getResultType();
  std::optional<bool> accumulates = reader.boolean("accumulate", false);
  std::optional<IndexList> list = getIndexList(reader);
  if (!self || !values || !type || !accumulates || !list)
    return failure();
  Value first = list->tensors.front();
  if (list->tensors.size() == 1 && !*accumulates &&
      getTensor(first).getElementType().isInteger(1))
    return setMasked(reader, self, first, list->first, values);
  int64_t end = list->first + static_cast<int64_t>(list->tensors.size());
  if (end > type.getRank())
    return failure();
  std::optional<MergedIndex> merged = mergeIndices(reader, self, *list);
  if (!merged)
    return failure();
  // Flatten the indices, and broadcast the values to the elements that they
  // select.
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes own = symbols.getSizes(getTensor(self));
  tp::Sizes indexSizes = symbols.getSizes(getTensor(merged->indices));
  tp::Sizes selected(ArrayRef<tp::Size>(own).take_front(list->first));
  tp::Sizes rows = selected;
  tp::Size count = tp::multiply(indexSizes);
  if (!count)
    return failure();
  selected.append(indexSizes);
  rows.push_back(count);
  llvm::append_range(selected, ArrayRef(own).drop_front(end));
  llvm::append_range(rows, ArrayRef(own).drop_front(end));
  if (getTensor(values).getRank() > static_cast<int64_t>(selected.size()))
    return failure();
  Value updates = reader.reshape(reader.broadcast(values, selected), rows);
  Value indices = reader.reshape(merged->indices, {count});
  if (list->tensors.size() == 1)
    return setScatteredRows(reader, self, indices, updates, list->first,
                            *accumulates, merged->wrapsNegative);
  tp::Sizes row(rows.size(), 1);
  row[list->first] = count;
  Value index = reader.broadcast(reader.reshape(indices, row), rows);
  if (getTensor(updates).getElementType() != type.getElementType())
    return failure();
  Value scattered = reader.create<tp::ScatterOp>(
      merged->table.getType(), merged->table, index, updates, list->first,
      *accumulates, /*wraps_negative=*/false);
  return reader.result(reader.create<tp::ReshapeOp>(type, scattered));
}

/// The gradient of an embedding: rows of the gradient are accumulated by index.
static LogicalResult readEmbeddingBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  Value indices = reader.tensor("indices");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> padding = reader.integer("padding_idx", -1);
  if (!gradient || !isIndex(indices) || !type || !padding ||
      !reader.integer("num_weights") ||
      reader.boolean("scale_grad_by_freq", false) != false)
    return failure();
  Type element = type.getElementType();
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(type);
  tp::Sizes indexSizes = symbols.getSizes(getTensor(indices));
  tp::Size count = tp::multiply(indexSizes);
  if (!count)
    return failure();
  if (*padding >= 0) {
    // The gradient of the padding row is zero.
    Value isPadding =
        reader.map(MapFunction::Equal, {indices, reader.constant(*padding)},
                   reader.getBuilder().getI1Type());
    tp::Sizes column = indexSizes;
    column.push_back(1);
    gradient = reader.map(MapFunction::Select,
                          {reader.reshape(isPadding, column),
                           reader.fill(0, {}, element), gradient},
                          element);
  }
  Value updates = reader.reshape(gradient, {count, sizes[1]});
  return setScatteredRows(reader, reader.fill(0, sizes, element),
                          reader.reshape(indices, {count}), updates, 0,
                          /*accumulates=*/true);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static LogicalResult writeTake(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::TakeOp>(operation);
  if (op.getDim() == 0 && !op.getWrapsNegative() &&
      getTensor(op.getTable()).getRank() == 2)
    return writer.node(op.getLoc(), "torch.ops.aten.embedding.default")
        .tensor("weight", op.getTable())
        .tensor("indices", op.getIndices())
        .finish(op.getResult());
  if (!op.getWrapsNegative() && getTensor(op.getIndices()).getRank() == 1)
    return writer.node(op.getLoc(), "torch.ops.aten.index_select.default")
        .tensor("self", op.getTable())
        .integer("dim", op.getDim())
        .tensor("index", op.getIndices())
        .finish(op.getResult());
  SmallVector<Value> indices(op.getDim());
  indices.push_back(op.getIndices());
  return writer.node(op.getLoc(), "torch.ops.aten.index.Tensor")
      .tensor("self", op.getTable())
      .optionalTensors("indices", indices)
      .finish(op.getResult());
}

static LogicalResult writeTakeAlong(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::TakeAlongOp>(operation);
  return writer.node(op.getLoc(), "torch.ops.aten.gather.default")
      .tensor("self", op.getTable())
      .integer("dim", op.getDim())
      .tensor("index", op.getIndices())
      .finish(op.getResult());
}

void vocabulary::addAtenIndexing(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.embedding.default", readEmbedding);
  vocabulary.add("torch.ops.aten.index_select.default", readIndexSelect);
  vocabulary.add("torch.ops.aten.index.Tensor", readIndex);
  vocabulary.add("torch.ops.aten.gather.default", readGather);
  vocabulary.add({"torch.ops.aten.index_put.default",
                  "torch.ops.aten._unsafe_index_put.default"},
                 readIndexPut);
  vocabulary.add("torch.ops.aten.embedding_dense_backward.default",
                 readEmbeddingBackward);
  vocabulary.addWriter<tp::TakeOp>(writeTake);
  vocabulary.addWriter<tp::TakeAlongOp>(writeTakeAlong);
}
