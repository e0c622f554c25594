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

#include "Fingerprint.h"
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

/// Returns true if elements may share memory, in which case the last write
/// wins. Symbolic layouts of this kind do not occur.
static bool mayOverlap(const tp::StridedShape &shape) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(shape.sizes, *shape.strides)) {
    std::optional<int64_t> count = size.getConstant();
    std::optional<int64_t> step = stride.getConstant();
    if (!count || !step || *count == 0)
      return false;
    if (*count > 1)
      dims.push_back({*step, *count});
  }
  llvm::sort(dims);
  int64_t last = 0, extent = 0;
  for (auto [step, count] : dims)
    if (step <= last || llvm::MulOverflow(step, count - 1, extent) ||
        llvm::AddOverflow(last, extent, last))
      return true;
  return false;
}

/// copy(self, src), the functionalized form of `self.copy_(src)`: the elements
/// of `src`, converted to the element type of `self`.
static LogicalResult readCopy(NodeReader &reader) {
  Value self = reader.tensor("self"), value = reader.tensor("src");
  RankedTensorType type = reader.getResultType();
  if (!self || !value || !type || getTensor(value).getRank() > type.getRank())
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::StridedShape shape = symbols.getShape(type);
  if (shape.strides && mayOverlap(shape))
    return failure();
  const tp::Sizes &sizes = shape.sizes;
  if (symbols.getSizes(getTensor(value)) != sizes)
    value = reader.broadcast(value, sizes);
  if (getElementType(value) != type.getElementType()) {
    if (isDense(reader, type))
      return reader.result(
          reader.create<tp::CastOp>(type, value, /*contiguous=*/true));
    value = reader.convert(value, type.getElementType());
  }
  // The result has the strides of `self`.
  bool preservesStrides = getTensor(value).getEncoding() == type.getEncoding();
  return reader.result(reader.create<tp::CopyOp>(
      type, value, preservesStrides || !isDense(reader, type)));
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

/// Moves the last `shift` elements along a dim to the front. Null if the size
/// of the dim is symbolic.
static Value roll(NodeReader &reader, Value value, int64_t dim, int64_t shift) {
  if (getTensor(value).isDynamicDim(dim))
    return {};
  int64_t size = getTensor(value).getDimSize(dim);
  int64_t first = size == 0 ? 0 : (size - shift % size) % size;
  if (first == 0)
    return value;
  Value parts[] = {reader.slice(value, dim, first, size - first),
                   reader.slice(value, dim, 0, first)};
  return reader.concat(parts, dim);
}

/// x.roll((1, 2), (0, 1)), and x.roll(1), which rolls all elements in row-major
/// order.
static LogicalResult readRoll(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<SmallVector<int64_t>> shifts = reader.integers("shifts");
  SmallVector<int64_t> dims;
  if (!reader.isAbsent("dims")) {
    std::optional<SmallVector<int64_t>> stated = reader.integers("dims");
    if (!stated)
      return failure();
    dims = std::move(*stated);
  }
  if (!self || !type || !shifts)
    return failure();
  Value value = self;
  if (dims.empty()) {
    tp::Size count = tp::multiply(reader.getSymbols().getSizes(type));
    if (shifts->size() != 1 || !count)
      return failure();
    value = roll(reader, reader.reshape(self, {count}), 0, shifts->front());
    if (!value)
      return failure();
    value = reader.reshape(value, reader.getSymbols().getSizes(type));
    return setCopy(reader, value);
  }
  if (shifts->size() != dims.size())
    return failure();
  for (auto [dim, shift] : llvm::zip_equal(dims, *shifts)) {
    dim += dim < 0 ? type.getRank() : 0;
    if (dim < 0 || dim >= type.getRank())
      return failure();
    value = roll(reader, value, dim, shift);
    if (!value)
      return failure();
  }
  return value != self && value.getType() == type ? reader.result(value)
                                                  : setCopy(reader, value);
}

/// Appends values that cover the elements [start, start + size) of `value`
/// along a dim. For a concat, these are its inputs: programs fill a tensor
/// piece by piece until none of its original elements remain.
static void appendRange(NodeReader &reader, Value value, int64_t dim,
                        int64_t start, int64_t size,
                        SmallVectorImpl<Value> &parts) {
  if (size == 0)
    return;
  auto concat = value.getDefiningOp<tp::ConcatOp>();
  if (!concat || static_cast<int64_t>(concat.getDim()) != dim) {
    parts.push_back(reader.slice(value, dim, start, size));
    return;
  }
  int64_t offset = 0;
  for (Value input : concat.getInputs()) {
    int64_t own = getTensor(input).getDimSize(dim);
    int64_t begin = std::max(offset, start);
    int64_t end = std::min(offset + own, start + size);
    Operation *op = input.getDefiningOp();
    bool isNamed = !op || !op->hasAttr(innerAttrName);
    if (begin < end && end - begin == own && isNamed)
      parts.push_back(input);
    else if (begin < end)
      parts.push_back(reader.slice(value, dim, begin, end - begin));
    offset += own;
  }
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
  appendRange(reader, self, dim, 0, start, parts);
  parts.push_back(source);
  appendRange(reader, self, dim, start + size, whole - start - size, parts);
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
  reader.skip("end");
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

/// The gradient of x[..., start:end:step]: zeros around the gradient's rows.
/// Returns true if a gradient has the sizes of the operand apart from `dim`,
/// which it has with any size or, without `hasDim`, lacks. PyTorch would
/// broadcast it otherwise.
static bool fitsBeside(NodeReader &reader, Value gradient,
                       RankedTensorType type, int64_t dim, bool hasDim) {
  tp::Sizes own = reader.getSymbols().getSizes(getTensor(gradient));
  tp::Sizes whole = reader.getSymbols().getSizes(type);
  if (own.size() + !hasDim != whole.size())
    return false;
  whole.erase(whole.begin() + dim);
  if (hasDim)
    own.erase(own.begin() + dim);
  return own == whole;
}

static LogicalResult readSliceBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  RankedTensorType type = reader.getResultType();
  reader.skip("input_sizes");
  if (!gradient || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank(), 0);
  std::optional<int64_t> start = reader.integer("start", 0);
  std::optional<int64_t> step = reader.integer("step", 1);
  if (!dim || !start || !step || *step < 1 || type.isDynamicDim(*dim) ||
      !fitsBeside(reader, gradient, type, *dim, /*hasDim=*/true) ||
      getTensor(gradient).isDynamicDim(*dim) || !isDense(reader, type))
    return failure();
  // The size of the gradient determines the end.
  reader.skip("end");
  int64_t whole = type.getDimSize(*dim);
  int64_t count = getTensor(gradient).getDimSize(*dim);
  start = std::clamp<int64_t>(*start < 0 ? *start + whole : *start, 0, whole);
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(gradient));
  Value value = gradient;
  int64_t covered = count;
  if (*step > 1 && count > 0) {
    // Zeros after each row, as a new dim that is merged again.
    tp::Sizes split = sizes, zeros = sizes;
    split.insert(split.begin() + *dim + 1, 1);
    zeros.insert(zeros.begin() + *dim + 1, *step - 1);
    Value rows[] = {reader.reshape(value, split),
                    reader.fill(0, zeros, type.getElementType())};
    value = reader.concat(rows, *dim + 1);
    sizes[*dim] = count * *step;
    value = reader.reshape(value, sizes);
    // The last row may have fewer zeros after it.
    covered = std::min<int64_t>(count * *step, whole - *start);
    if (covered < count * *step)
      value = reader.slice(value, *dim, 0, covered);
  }
  SmallVector<Value> parts;
  auto addZeros = [&](int64_t size) {
    if (size <= 0)
      return;
    sizes[*dim] = size;
    parts.push_back(reader.fill(0, sizes, type.getElementType()));
  };
  addZeros(*start);
  parts.push_back(value);
  addZeros(whole - *start - covered);
  if (parts.size() == 1)
    return setCopy(reader, value);
  return reader.result(reader.create<tp::ConcatOp>(type, parts, *dim));
}

static LogicalResult readSelectBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  RankedTensorType type = reader.getResultType();
  reader.skip("input_sizes");
  if (!gradient || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  std::optional<int64_t> index = reader.integer("index");
  if (!dim || !index || type.isDynamicDim(*dim) ||
      !fitsBeside(reader, gradient, type, *dim, /*hasDim=*/false))
    return failure();
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(gradient));
  sizes.insert(sizes.begin() + *dim, 1);
  *index += *index < 0 ? type.getDimSize(*dim) : 0;
  if (*index < 0 || *index >= type.getDimSize(*dim))
    return failure();
  Value zeros = reader.fill(0, symbols.getSizes(type), type.getElementType());
  return setScattered(reader, zeros, reader.reshape(gradient, sizes), *dim,
                      *index, 1);
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
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(self));
  sizes.push_back(1);
  Value value = reader.reshape(self, sizes);
  auto truth = RankedTensorType::get(
      type.getShape(), reader.getBuilder().getI1Type(), type.getEncoding());
  Value isIndex = reader.create<tp::MapOp>(
      truth, tp::MapFunction::Equal, ValueRange{value, reader.iota(*count)});
  return reader.result(
      reader.create<tp::CastOp>(type, isIndex, /*contiguous=*/false));
}

/// diag_embed(x): matrices with the last dim of x on a diagonal and zeros
/// beside it. The gradient of a diagonal is the same, but for matrices that are
/// not square.
static LogicalResult setDiagonal(NodeReader &reader, Value self, int64_t rowDim,
                                 int64_t columnDim, int64_t offset) {
  RankedTensorType type = reader.getResultType();
  int64_t rank = type.getRank();
  if (rowDim == columnDim || getTensor(self).isDynamicDim(rank - 2) ||
      type.isDynamicDim(rowDim) || type.isDynamicDim(columnDim))
    return failure();
  int64_t count = getTensor(self).getDimSize(rank - 2);
  int64_t right = std::max<int64_t>(offset, 0);
  int64_t down = std::max<int64_t>(-offset, 0);
  int64_t rows = type.getDimSize(rowDim), columns = type.getDimSize(columnDim);
  if (count < 1 || count != std::min(rows - down, columns - right))
    return failure();
  Value positions = reader.iota(count);
  Value isDiagonal =
      reader.map(tp::MapFunction::Equal,
                 {reader.reshape(positions, {count, 1}), positions},
                 reader.getBuilder().getI1Type());
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(self));
  sizes.push_back(1);
  Type element = type.getElementType();
  Value value = reader.map(
      tp::MapFunction::Select,
      {isDiagonal, reader.reshape(self, sizes), reader.fill(0, {1}, element)},
      element);
  // Zeros move the diagonal to the right, or down.
  value = reader.pad(value, rank - 1, right, columns - right - count);
  value = reader.pad(value, rank - 2, down, rows - down - count);
  SmallVector<int64_t> order;
  for (int64_t dim = 0, next = 0; dim < rank; ++dim)
    order.push_back(dim == rowDim      ? rank - 2
                    : dim == columnDim ? rank - 1
                                       : next++);
  return setCopy(reader, reader.permute(value, order));
}

static LogicalResult readDiagonalEmbedding(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> offset = reader.integer("offset", 0);
  if (!self || !type || !offset || getTensor(self).getRank() == 0 ||
      type.getRank() != getTensor(self).getRank() + 1)
    return failure();
  std::optional<int64_t> rowDim = reader.dim("dim1", type.getRank(), -2);
  std::optional<int64_t> columnDim = reader.dim("dim2", type.getRank(), -1);
  return rowDim && columnDim
             ? setDiagonal(reader, self, *rowDim, *columnDim, *offset)
             : failure();
}

static LogicalResult readDiagonalBackward(NodeReader &reader) {
  Value gradient = reader.tensor("grad_output");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> offset = reader.integer("offset", 0);
  reader.skip("input_sizes");
  if (!gradient || !type || !offset || type.getRank() < 2 ||
      type.getRank() != getTensor(gradient).getRank() + 1 ||
      type.getElementType() != getElementType(gradient))
    return failure();
  std::optional<int64_t> rowDim = reader.dim("dim1", type.getRank(), 0);
  std::optional<int64_t> columnDim = reader.dim("dim2", type.getRank(), 1);
  return rowDim && columnDim
             ? setDiagonal(reader, gradient, *rowDim, *columnDim, *offset)
             : failure();
}

void vocabulary::addAtenComposites(Vocabulary &vocabulary) {
  vocabulary.add("torch.ops.aten.copy.default", readCopy);
  vocabulary.add("torch.ops.aten.repeat.default", readRepeat);
  vocabulary.add("torch.ops.aten.repeat_interleave.self_int",
                 readRepeatInterleave);
  vocabulary.add("torch.ops.aten.roll.default", readRoll);
  vocabulary.add("torch.ops.aten.slice_scatter.default", readSliceScatter);
  vocabulary.add("torch.ops.aten.select_scatter.default", readSelectScatter);
  vocabulary.add("torch.ops.aten.slice_backward.default", readSliceBackward);
  vocabulary.add("torch.ops.aten.select_backward.default", readSelectBackward);
  vocabulary.add("torch.ops.aten.one_hot.default", readOneHot);
  vocabulary.add("torch.ops.aten.diag_embed.default", readDiagonalEmbedding);
  vocabulary.add("torch.ops.aten.diagonal_backward.default",
                 readDiagonalBackward);
}
