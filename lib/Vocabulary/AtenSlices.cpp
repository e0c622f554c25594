//===- AtenSlices.cpp - ATen slices, splits and selections ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeReader.h"
#include "NodeWriter.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

/// Returns a start counted from the front, or nullopt if it depends on a
/// symbol.
static std::optional<int64_t> getStart(RankedTensorType type, int64_t dim,
                                       int64_t start) {
  if (start >= 0)
    return type.isDynamicDim(dim) ? start
                                  : std::min(start, type.getDimSize(dim));
  if (type.isDynamicDim(dim))
    return std::nullopt;
  return std::max<int64_t>(start + type.getDimSize(dim), 0);
}

/// Reads a slice whose start is symbolic and a multiple of its size.
static LogicalResult readBlock(NodeReader &reader, Value self, int64_t dim) {
  RankedTensorType type = reader.getResultType();
  tp::Size start = reader.size("start");
  if (type.getRank() <= dim)
    return failure();
  tp::Size size = reader.getSymbols().getSizes(type)[dim];
  std::optional<int64_t> block =
      tp::getConstant(tp::divideExactly(start, size));
  if (!block || *block < 0)
    return failure();
  return reader.result(reader.create<tp::SliceOp>(type, self, dim, *block,
                                                  /*step=*/1, /*blocks=*/true));
}

static LogicalResult readSlice(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  RankedTensorType input = getTensor(self);
  std::optional<int64_t> dim = reader.dim("dim", input.getRank(), 0);
  std::optional<int64_t> start = reader.integer("start", 0);
  std::optional<int64_t> step = reader.integer("step", 1);
  if (dim && !start && step == 1)
    return readBlock(reader, self, *dim);
  if (!dim || !start || !step || *step < 1)
    return failure();
  start = getStart(input, *dim, *start);
  if (!start)
    return failure();
  // The start of an empty slice is irrelevant; PyTorch accepts any.
  if (type.getDimSize(*dim) == 0)
    start = 0;
  return reader.result(
      reader.create<tp::SliceOp>(type, self, *dim, *start, *step));
}

static LogicalResult readNarrow(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  RankedTensorType input = getTensor(self);
  std::optional<int64_t> dim = reader.dim("dim", input.getRank());
  std::optional<int64_t> start = reader.integer("start");
  if (dim && !start)
    return readBlock(reader, self, *dim);
  if (!dim || !start)
    return failure();
  start = getStart(input, *dim, *start);
  if (!start)
    return failure();
  return reader.result(reader.create<tp::SliceOp>(type, self, *dim, *start, 1));
}

/// x.select(dim, i): a slice of size 1 with the dim removed.
static LogicalResult setSelect(NodeReader &reader, size_t index, Value self,
                               int64_t dim, int64_t start) {
  RankedTensorType type = reader.getResultType(index);
  if (!type)
    return failure();
  Value slice = reader.slice(self, dim, start, /*size=*/1);
  reader.setResult(index, reader.create<tp::ReshapeOp>(type, slice));
  return success();
}

static LogicalResult readSelect(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  RankedTensorType input = getTensor(self);
  std::optional<int64_t> dim = reader.dim("dim", input.getRank());
  std::optional<int64_t> position = reader.integer("index");
  if (!dim || !position)
    return failure();
  position = getStart(input, *dim, *position);
  if (!position)
    return failure();
  return setSelect(reader, 0, self, *dim, *position);
}

static LogicalResult readUnbind(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), 0);
  if (!dim)
    return failure();
  for (size_t index = 0; index < reader.getNumResults(); ++index)
    if (failed(setSelect(reader, index, self, *dim, index)))
      return failure();
  return success();
}

/// split, split_with_sizes and chunk: consecutive slices, whose sizes the
/// result types state.
static LogicalResult readSplit(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || reader.getNumResults() == 0)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), 0);
  if (!dim)
    return failure();
  int64_t start = 0;
  tp::Size blockSize;
  for (size_t index = 0; index < reader.getNumResults(); ++index) {
    RankedTensorType type = reader.getResultType(index);
    if (!type || type.getRank() <= *dim)
      return failure();
    // With a symbolic size, the offsets are known only if all slices have equal
    // size.
    tp::Size size = reader.getSymbols().getSizes(type)[*dim];
    if (index == 0)
      blockSize = size;
    if (type.isDynamicDim(*dim)) {
      if (!size || size != blockSize)
        return failure();
      reader.setResult(index, reader.create<tp::SliceOp>(type, self, *dim,
                                                         index, /*step=*/1,
                                                         /*blocks=*/true));
      continue;
    }
    if (blockSize && !tp::getConstant(blockSize))
      return failure();
    reader.setResult(index,
                     reader.create<tp::SliceOp>(type, self, *dim, start, 1));
    if (llvm::AddOverflow(start, type.getDimSize(*dim), start))
      return failure();
  }
  return success();
}

/// The elements on one diagonal of two dims: every element at a distance of one
/// row and one column in the flattened matrix.
static LogicalResult readDiagonal(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  int64_t rank = getTensor(self).getRank();
  std::optional<int64_t> rowDim = reader.dim("dim1", rank, 0);
  std::optional<int64_t> columnDim = reader.dim("dim2", rank, 1);
  std::optional<int64_t> offset = reader.integer("offset", 0);
  if (!rowDim || !columnDim || !offset || *rowDim == *columnDim ||
      type.getRank() != rank - 1 || type.isDynamicDim(rank - 2) ||
      getTensor(self).isDynamicDim(*rowDim) ||
      getTensor(self).isDynamicDim(*columnDim))
    return failure();
  int64_t rows = getTensor(self).getDimSize(*rowDim);
  int64_t columns = getTensor(self).getDimSize(*columnDim);
  int64_t count = type.getDimSize(rank - 2);
  if (count == 0 || *offset <= -rows || *offset >= columns)
    return failure();
  SmallVector<int64_t> order;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != *rowDim && dim != *columnDim)
      order.push_back(dim);
  order.append({*rowDim, *columnDim});
  Value value = reader.permute(self, order);
  tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(value));
  sizes.pop_back();
  sizes.back() = tp::multiply(rows, columns);
  if (!sizes.back())
    return failure();
  value = reader.reshape(value, sizes);
  int64_t start = *offset < 0 ? -*offset * columns : *offset;
  int64_t step = columns + 1;
  tp::StridedShape shape = reader.getSymbols().getShape(getTensor(value));
  shape.sizes.back() = count;
  if (shape.strides)
    shape.strides->back() = tp::multiply(shape.strides->back(), step);
  RankedTensorType own = reader.getSymbols().getType(
      type.getElementType(), shape.sizes, shape.strides);
  Value diagonal =
      reader.create<tp::SliceOp>(own, value, rank - 2, start, step);
  // Of a matrix with gaps, the flattened form is a copy.
  return own == type
             ? reader.result(diagonal)
             : Formula(reader, type.getElementType()).result(0, diagonal);
}

/// Writes a slice that is one of a known number of equal blocks: splits the dim
/// in two, and selects an index of the outer one.
static LogicalResult writeSymbolicSlice(tp::SliceOp op, NodeWriter &writer) {
  tp::SymbolSpace symbols(op.getContext());
  int64_t dim = op.getDim();
  tp::StridedShape shape = symbols.getShape(getTensor(op.getInput()));
  tp::Size size = symbols.getSizes(getTensor(op.getResult()))[dim];
  std::optional<int64_t> count =
      tp::getConstant(tp::divideExactly(shape.sizes[dim], size));
  bool isBlock = op.getBlocks() || op.getStart() == 0;
  if (!isBlock || op.getStep() != 1)
    return op.emitError("cannot write a slice of symbolic size that is not one "
                        "shard of its dim");
  if (!count) {
    auto start = static_cast<int64_t>(op.getStart());
    RankedTensorType type = getTensor(op.getResult());
    return writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor")
        .tensor("self", op.getInput())
        .integer("dim", dim)
        .size("start", type, dim, start)
        .size("end", type, dim, start + 1)
        .finish(op.getResult());
  }
  tp::Sizes sizes = shape.sizes;
  sizes[dim] = size;
  sizes.insert(sizes.begin() + dim, *count);
  StringRef split = writer.node(op.getLoc(), "torch.ops.aten.unflatten.int")
                        .tensor("self", op.getInput())
                        .integer("dim", dim)
                        .integers("sizes", {*count, -1})
                        .finishIntermediate(symbols.getType(
                            getTensor(op.getInput()).getElementType(), sizes,
                            tp::getReshapedStrides(shape, sizes)));
  return writer.node(op.getLoc(), "torch.ops.aten.select.int")
      .named("self", split)
      .integer("dim", dim)
      .integer("index", op.getStart())
      .finish(op.getResult());
}

static LogicalResult writeSlice(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::SliceOp>(operation);
  RankedTensorType type = getTensor(op.getResult());
  int64_t dim = op.getDim();
  if (type.isDynamicDim(dim))
    return writeSymbolicSlice(op, writer);
  int64_t start = op.getStart() * (op.getBlocks() ? type.getDimSize(dim) : 1);
  int64_t step = op.getStep();
  int64_t end = start;
  if (type.getDimSize(dim) > 0 &&
      (llvm::MulOverflow(type.getDimSize(dim) - 1, step, end) ||
       llvm::AddOverflow(end, start, end) || llvm::AddOverflow(end, 1L, end)))
    return op.emitError("takes more elements than fit in 64 bits");
  NodeBuilder node = writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor");
  node.tensor("self", op.getInput())
      .integer("dim", dim)
      .integer("start", start)
      .integer("end", end);
  if (step != 1)
    node.integer("step", step);
  return node.finish(op.getResult());
}

/// In the program of one rank, the rank's block is an ordinary slice.
static LogicalResult writeRankSlice(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::RankSliceOp>(operation);
  auto module = op->getParentOfType<ModuleOp>();
  auto rank = module->getAttrOfType<IntegerAttr>(tp::TPDialect::rankAttrName);
  if (!rank || !module->hasAttr(tp::TPDialect::rankSpecificAttrName))
    return op.emitError("takes the rows of one rank, but the graph is for all "
                        "ranks: pass --rank=R to write the graph of one rank");
  std::optional<int64_t> position = op.getGroup().getPosition(rank.getInt());
  if (!position)
    return op.emitError("rank ") << rank.getInt() << " is not in the group";
  int64_t axis = op.getSliceAxis();
  RankedTensorType type = getTensor(op.getResult());
  if (type.isDynamicDim(axis))
    return writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor")
        .tensor("self", op.getInput())
        .integer("dim", axis)
        .size("start", type, axis, *position)
        .size("end", type, axis, *position + 1)
        .finish(op.getResult());
  int64_t size = type.getDimSize(axis);
  return writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor")
      .tensor("self", op.getInput())
      .integer("dim", axis)
      .integer("start", *position * size)
      .integer("end", (*position + 1) * size)
      .finish(op.getResult());
}

void vocabulary::addAtenSlices(Vocabulary &vocabulary) {
  vocabulary.addView({"torch.ops.aten.slice.Tensor"}, readSlice);
  vocabulary.addView({"torch.ops.aten.narrow.default"}, readNarrow);
  vocabulary.addView({"torch.ops.aten.diagonal.default"}, readDiagonal);
  vocabulary.addView({"torch.ops.aten.select.int"}, readSelect);
  vocabulary.addView({"torch.ops.aten.unbind.int"}, readUnbind);
  vocabulary.addView({"torch.ops.aten.split.Tensor",
                      "torch.ops.aten.split.sizes",
                      "torch.ops.aten.split_with_sizes.default",
                      "torch.ops.aten.chunk.default"},
                     readSplit);
  vocabulary.addWriter<tp::SliceOp>(writeSlice);
  vocabulary.addWriter<tp::RankSliceOp>(writeRankSlice);
}
