//===- AtenComposites.cpp - composite ATen operators ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// ATen operators that are imported as several ops: slices, reshapes, broadcasts
// and concats. Unless a pass rewrites one of these ops, the exporter keeps the
// original node.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static bool isDense(NodeReader &reader, RankedTensorType type) {
  return tp::getDensity(reader.getSymbols().getShape(type)) ==
         tp::Density::Dense;
}

/// Returns a copy of `value` as the node's result, for nodes that move no
/// elements.
static LogicalResult setCopy(NodeReader &reader, Value value) {
  RankedTensorType type = reader.getResultType();
  bool preservesStrides = getTensor(value).getEncoding() == type.getEncoding();
  if (!preservesStrides && !isDense(reader, type))
    return failure();
  return reader.result(
      reader.create<tp::CopyOp>(type, value, preservesStrides));
}

/// copy(self, src), the functionalized form of `self.copy_(src)`: the elements
/// of `src`, converted to the element type of `self`.
static LogicalResult readCopy(NodeReader &reader) {
  Value self = reader.tensor("self"), source = reader.tensor("src");
  RankedTensorType type = reader.getResultType();
  // A source that is broadcast would need two ops.
  if (!self || !source || !type ||
      getTensor(source).getShape() != type.getShape() ||
      reader.getSymbols().getSizes(getTensor(source)) !=
          reader.getSymbols().getSizes(type))
    return failure();
  if (getTensor(source).getElementType() == type.getElementType())
    return setCopy(reader, source);
  if (!isDense(reader, type))
    return failure();
  return reader.result(
      reader.create<tp::CastOp>(type, source, /*contiguous=*/true));
}

/// Reshapes `value` to the result type and copies it. Repeated elements are
/// always new memory in PyTorch, even where the reshape could be a view of a
/// broadcast.
static LogicalResult setRepeated(NodeReader &reader, Value value) {
  RankedTensorType type = reader.getResultType();
  if (!isDense(reader, type))
    return failure();
  return reader.result(
      reader.create<tp::CopyOp>(type, reader.create<tp::ReshapeOp>(type, value),
                                /*preservesStrides=*/false));
}

/// x.repeat(2, 3): inserts a dim for the copies before each dim of x.
static LogicalResult readRepeat(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<SmallVector<int64_t>> repeats = reader.integers("repeats");
  if (!self || !type || !repeats ||
      static_cast<int64_t>(repeats->size()) != type.getRank())
    return failure();
  tp::Sizes own = reader.getSymbols().getSizes(getTensor(self));
  own.insert(own.begin(), type.getRank() - own.size(), 1);
  if (llvm::all_of(*repeats, [](int64_t count) { return count == 1; }))
    return setCopy(reader, reader.reshape(self, own));
  tp::Sizes split, repeated;
  for (auto [count, size] : llvm::zip_equal(*repeats, own)) {
    split.append({1, size});
    repeated.append({count, size});
  }
  Value value = reader.reshape(self, split);
  value = reader.broadcast(value, repeated);
  return setRepeated(reader, value);
}

/// x.repeat_interleave(2, dim): inserts a dim for the copies after `dim`.
static LogicalResult readRepeatInterleave(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> repeats = reader.integer("repeats");
  if (!self || !type || !repeats || *repeats < 1 ||
      !reader.isAbsent("output_size"))
    return failure();
  std::optional<int64_t> dim = 0;
  if (!reader.isAbsent("dim")) {
    dim = reader.dim("dim", getTensor(self).getRank());
  } else {
    // Without `dim`, PyTorch flattens the tensor first.
    if (!getTensor(self).hasStaticShape())
      return failure();
    self = reader.reshape(self, {getTensor(self).getNumElements()});
  }
  if (!dim)
    return failure();
  if (*repeats == 1)
    return setCopy(reader, self);
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(self));
  sizes.insert(sizes.begin() + *dim + 1, 1);
  Value value = reader.reshape(self, sizes);
  sizes[*dim + 1] = *repeats;
  value = reader.broadcast(value, sizes);
  return setRepeated(reader, value);
}

/// x.roll(1, dim): moves the last elements to the front. Rolling along several
/// dims is not modelled.
static LogicalResult readRoll(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<SmallVector<int64_t>> shifts = reader.integers("shifts");
  std::optional<SmallVector<int64_t>> dims = reader.integers("dims");
  if (!self || !type || !shifts || !dims || shifts->size() != 1 ||
      dims->size() != 1)
    return failure();
  int64_t dim = dims->front() + (dims->front() < 0 ? type.getRank() : 0);
  if (dim < 0 || dim >= type.getRank() || type.isDynamicDim(dim))
    return failure();
  int64_t size = type.getDimSize(dim);
  int64_t first = size == 0 ? 0 : (size - shifts->front() % size) % size;
  if (first == 0)
    return setCopy(reader, self);
  Value parts[] = {reader.slice(self, dim, first, size - first),
                   reader.slice(self, dim, 0, first)};
  return reader.result(reader.create<tp::ConcatOp>(type, parts, dim));
}

/// Replaces the elements [start, start + size) of `self` along a dim by
/// `source`.
static LogicalResult setScattered(NodeReader &reader, Value self, Value source,
                                  int64_t dim, int64_t start, int64_t size) {
  RankedTensorType type = reader.getResultType();
  int64_t whole = type.getDimSize(dim);
  // The result has the strides of `self`, which a concat keeps only if dense.
  if (getTensor(source).getElementType() != type.getElementType() ||
      !isDense(reader, type))
    return failure();
  SmallVector<Value> parts;
  if (start > 0)
    parts.push_back(reader.slice(self, dim, 0, start));
  parts.push_back(source);
  if (start + size < whole)
    parts.push_back(
        reader.slice(self, dim, start + size, whole - start - size));
  if (parts.size() == 1)
    return setCopy(reader, source);
  return reader.result(reader.create<tp::ConcatOp>(type, parts, dim));
}

static LogicalResult readSliceScatter(NodeReader &reader) {
  Value self = reader.tensor("self"), source = reader.tensor("src");
  RankedTensorType type = reader.getResultType();
  if (!self || !source || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank(), 0);
  std::optional<int64_t> start = reader.integer("start", 0);
  if (!dim || !start || reader.integer("step", 1) != 1 ||
      type.isDynamicDim(*dim) || getTensor(source).isDynamicDim(*dim))
    return failure();
  // The size of the source determines the end.
  (void)reader.find("end");
  int64_t whole = type.getDimSize(*dim);
  start = std::clamp<int64_t>(*start < 0 ? *start + whole : *start, 0, whole);
  return setScattered(reader, self, source, *dim, *start,
                      getTensor(source).getDimSize(*dim));
}

static LogicalResult readSelectScatter(NodeReader &reader) {
  Value self = reader.tensor("self"), source = reader.tensor("src");
  RankedTensorType type = reader.getResultType();
  if (!self || !source || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  std::optional<int64_t> index = reader.integer("index");
  if (!dim || !index || type.isDynamicDim(*dim))
    return failure();
  int64_t whole = type.getDimSize(*dim);
  *index += *index < 0 ? whole : 0;
  if (*index < 0 || *index >= whole)
    return failure();
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(source));
  sizes.insert(sizes.begin() + *dim, 1);
  return setScattered(reader, self, reader.reshape(source, sizes), *dim, *index,
                      1);
}

/// one_hot(x, n): compares x with the positions along a new last dim.
static LogicalResult readOneHot(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> count = reader.integer("num_classes", -1);
  // Without a count, the number of classes depends on the data.
  if (!self || !type || !count || *count < 1)
    return failure();
  Type index = getTensor(self).getElementType();
  if (!index.isInteger(64))
    return failure();
  Builder &builder = reader.getBuilder();
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(self));
  sizes.push_back(1);
  Value value = reader.reshape(self, sizes);
  Value positions = reader.create<tp::IotaOp>(
      RankedTensorType::get({*count}, index), builder.getI64IntegerAttr(0),
      builder.getI64IntegerAttr(1));
  auto truth = RankedTensorType::get(type.getShape(), builder.getI1Type(),
                                     type.getEncoding());
  Value isIndex = reader.create<tp::MapOp>(truth, tp::MapFunction::Equal,
                                           ValueRange{value, positions});
  return reader.result(
      reader.create<tp::CastOp>(type, isIndex, /*contiguous=*/false));
}

void vocabulary::addAtenComposites(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.copy.default", readCopy);
  vocabulary.add("torch.ops.aten.repeat.default", readRepeat);
  vocabulary.add("torch.ops.aten.repeat_interleave.self_int",
                 readRepeatInterleave);
  vocabulary.add("torch.ops.aten.roll.default", readRoll);
  vocabulary.add("torch.ops.aten.slice_scatter.default", readSliceScatter);
  vocabulary.add("torch.ops.aten.select_scatter.default", readSelectScatter);
  vocabulary.add("torch.ops.aten.one_hot.default", readOneHot);
}
