//===- AtenReindex.cpp - ATen views, slices and concatenations --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

#include <numeric>

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

static RankedTensorType getTensor(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Everything that reads the same elements in order: the result's type says
/// the new sizes.
static LogicalResult readReshape(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type ||
      type.getElementType() != getTensor(self).getElementType())
    return failure();
  return reader.result(reader.create<tp::ReshapeOp>(type, self));
}

/// The bits as another type.
static LogicalResult readViewDtype(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  Type from = getTensor(self).getElementType(), to = type.getElementType();
  if (from == to)
    return reader.result(reader.create<tp::ReshapeOp>(type, self));
  // Other widths change the last size.
  bool isModelled =
      from.isIntOrFloat() && to.isIntOrFloat() &&
      from.getIntOrFloatBitWidth() == to.getIntOrFloatBitWidth() &&
      (isa<FloatType>(from) || isa<FloatType>(to));
  if (!isModelled || from.isInteger(1) || to.isInteger(1))
    return failure();
  return reader.result(reader.create<tp::BitcastOp>(type, self));
}

static LogicalResult writeBitcast(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::BitcastOp>(operation);
  return writer.node(op.getLoc(), "torch.ops.aten.view.dtype")
      .tensor("self", op.getInput())
      .scalarType("dtype", getTensor(op.getResult()).getElementType())
      .finish(op.getResult());
}

/// dropout that is switched off gives its operand back.
static LogicalResult readDropout(NodeReader &reader) {
  std::optional<bool> isTraining = reader.boolean("train");
  Value input = reader.tensor("input");
  RankedTensorType type = reader.getResultType();
  if (!input || !type || isTraining != false)
    return failure();
  return reader.result(reader.create<tp::ReshapeOp>(type, input));
}

/// Splits or merges dims by name, where the sizes of the others, which are
/// symbolic, need not be told.
static LogicalResult writeSymbolicReshape(tp::ReshapeOp op,
                                          ArrayRef<int64_t> resultSizes,
                                          NodeWriter &writer) {
  tp::SymbolSpace symbols(op.getContext());
  tp::Sizes from = symbols.getSizes(getTensor(op.getInput()));
  tp::Sizes to = symbols.getSizes(getTensor(op.getResult()));
  ArrayRef<AffineExpr> before(from), after(to);
  size_t front = 0;
  while (!before.empty() && !after.empty() && before.front() == after.front()) {
    before = before.drop_front();
    after = after.drop_front();
    ++front;
  }
  while (before.size() > 1 && after.size() > 1 &&
         before.back() == after.back()) {
    before = before.drop_back();
    after = after.drop_back();
  }
  ArrayRef<int64_t> parts = resultSizes.slice(front, after.size());
  if (before.size() == 1 && llvm::count(parts, -1) <= 1)
    return writer.node(op.getLoc(), "torch.ops.aten.unflatten.int")
        .tensor("self", op.getInput())
        .integer("dim", front)
        .integers("sizes", parts)
        .finish(op.getResult());
  if (after.size() == 1 && !before.empty())
    return writer.node(op.getLoc(), "torch.ops.aten.flatten.using_ints")
        .tensor("self", op.getInput())
        .integer("start_dim", front)
        .integer("end_dim", front + before.size() - 1)
        .finish(op.getResult());
  return op.emitError("cannot write a reshape to several symbolic sizes");
}

static LogicalResult writeReshape(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ReshapeOp>(operation);
  RankedTensorType type = getTensor(op.getResult());
  // One symbolic size can be left to PyTorch.
  SmallVector<int64_t> sizes(type.getShape());
  llvm::for_each(sizes, [](int64_t &size) {
    if (ShapedType::isDynamic(size))
      size = -1;
  });
  if (llvm::count(sizes, -1) > 1)
    return writeSymbolicReshape(op, sizes, writer);
  return writer.node(op.getLoc(), "torch.ops.aten.reshape.default")
      .tensor("self", op.getInput())
      .integers("shape", sizes)
      .finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

static LogicalResult setPermute(NodeReader &reader, Value self,
                                ArrayRef<int64_t> permutation) {
  RankedTensorType type = reader.getResultType();
  if (!type)
    return failure();
  return reader.result(reader.create<tp::PermuteOp>(type, self, permutation));
}

static LogicalResult readPermute(NodeReader &reader) {
  Value self = reader.tensor("self");
  std::optional<SmallVector<int64_t>> dims = reader.integers("dims");
  if (!self || !dims)
    return failure();
  for (int64_t &dim : *dims)
    dim += dim < 0 ? getTensor(self).getRank() : 0;
  return setPermute(reader, self, *dims);
}

static LogicalResult readTranspose(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  int64_t rank = getTensor(self).getRank();
  std::optional<int64_t> dim0 = reader.dim("dim0", rank);
  std::optional<int64_t> dim1 = reader.dim("dim1", rank);
  if (!dim0 || !dim1)
    return failure();
  SmallVector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[*dim0], permutation[*dim1]);
  return setPermute(reader, self, permutation);
}

static LogicalResult readT(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || getTensor(self).getRank() != 2)
    return failure();
  return setPermute(reader, self, {1, 0});
}

static LogicalResult writePermute(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::PermuteOp>(operation);
  return writer.node(op.getLoc(), "torch.ops.aten.permute.default")
      .tensor("self", op.getInput())
      .integers("dims", op.getPermutation())
      .finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// A start counted from the front; nullopt where that depends on a symbol.
static std::optional<int64_t> getStart(RankedTensorType type, int64_t dim,
                                       int64_t start) {
  if (start >= 0)
    return type.isDynamicDim(dim) ? start
                                  : std::min(start, type.getDimSize(dim));
  if (type.isDynamicDim(dim))
    return std::nullopt;
  return std::max<int64_t>(start + type.getDimSize(dim), 0);
}

/// A slice at a symbolic start that is a multiple of its size.
static LogicalResult readBlock(NodeReader &reader, Value self, int64_t dim) {
  RankedTensorType type = reader.getResultType();
  AffineExpr start = reader.size("start");
  if (type.getRank() <= dim)
    return failure();
  AffineExpr size = reader.getSymbols().getSizes(type)[dim];
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
  // An empty slice may start anywhere.
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

/// The type of `input` with size 1 along `dim`, as a view of it.
static RankedTensorType getSingleType(NodeReader &reader, Value input,
                                      int64_t dim) {
  tp::StridedShape shape = reader.getSymbols().getShape(getTensor(input));
  shape.sizes[dim] = getAffineConstantExpr(1, reader.getContext());
  return reader.getSymbols().getType(getTensor(input).getElementType(),
                                     shape.sizes, shape.strides);
}

/// x.select(dim, i): a slice of size 1, and the dim taken away.
static LogicalResult setSelect(NodeReader &reader, size_t index, Value self,
                               int64_t dim, int64_t start) {
  RankedTensorType type = reader.getResultType(index);
  if (!type)
    return failure();
  Value slice = reader.create<tp::SliceOp>(getSingleType(reader, self, dim),
                                           self, dim, start, 1);
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

/// split, split_with_sizes and chunk: pieces one after the other, whose sizes
/// the result types say.
static LogicalResult readSplit(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || reader.getNumResults() == 0)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", getTensor(self).getRank(), 0);
  if (!dim)
    return failure();
  int64_t start = 0;
  AffineExpr blockSize;
  for (size_t index = 0; index < reader.getNumResults(); ++index) {
    RankedTensorType type = reader.getResultType(index);
    if (!type || type.getRank() <= *dim)
      return failure();
    // Of a symbolic size, all are blocks of it, or nobody knows where they are.
    AffineExpr size = reader.getSymbols().getSizes(type)[*dim];
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

/// One of a known number of equal blocks: the dim is cut in two, and one index
/// of the outer part taken.
static LogicalResult writeSymbolicSlice(tp::SliceOp op, NodeWriter &writer) {
  tp::SymbolSpace symbols(op.getContext());
  int64_t dim = op.getDim();
  tp::StridedShape shape = symbols.getShape(getTensor(op.getInput()));
  AffineExpr size = symbols.getSizes(getTensor(op.getResult()))[dim];
  std::optional<int64_t> count =
      tp::getConstant(tp::divideExactly(shape.sizes[dim], size));
  bool isBlock = op.getBlocks() || op.getStart() == 0;
  if (!count || !isBlock || op.getStep() != 1)
    return op.emitError("cannot write a slice of symbolic size that is no "
                        "block of a known number");
  tp::Sizes sizes = shape.sizes;
  sizes[dim] = size;
  sizes.insert(sizes.begin() + dim,
               getAffineConstantExpr(*count, op.getContext()));
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
    return op.emitError("takes more elements than can be counted");
  NodeBuilder node = writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor");
  node.tensor("self", op.getInput())
      .integer("dim", dim)
      .integer("start", start)
      .integer("end", end);
  if (step != 1)
    node.integer("step", step);
  return node.finish(op.getResult());
}

/// A rank's block is a slice in the program of that rank.
static LogicalResult writeRankSlice(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::RankSliceOp>(operation);
  auto module = op->getParentOfType<ModuleOp>();
  auto rank = module->getAttrOfType<IntegerAttr>(tp::TPDialect::rankAttrName);
  if (!rank || !module->hasAttr(tp::TPDialect::rankSpecificAttrName))
    return op.emitError("takes the rows of one rank, in a graph that is for "
                        "all ranks: say --rank=R for the graph of one");
  std::optional<int64_t> position = op.getGroup().getPosition(rank.getInt());
  if (!position)
    return op.emitError("rank ") << rank.getInt() << " is not in the group";
  int64_t axis = op.getSliceAxis();
  RankedTensorType type = getTensor(op.getResult());
  if (type.isDynamicDim(axis))
    return op.emitError("cannot write a slice of symbolic size");
  int64_t size = type.getDimSize(axis);
  return writer.node(op.getLoc(), "torch.ops.aten.slice.Tensor")
      .tensor("self", op.getInput())
      .integer("dim", axis)
      .integer("start", *position * size)
      .integer("end", (*position + 1) * size)
      .finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Concatenations and broadcasts
//===----------------------------------------------------------------------===//

static LogicalResult readConcat(NodeReader &reader) {
  std::optional<SmallVector<Value>> tensors = reader.tensors("tensors");
  RankedTensorType type = reader.getResultType();
  if (!tensors || tensors->empty() || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank(), 0);
  // PyTorch skips empty tensors of rank 1 among others, and promotes element
  // types.
  for (Value tensor : *tensors)
    if (getTensor(tensor).getRank() != type.getRank() ||
        getTensor(tensor).getElementType() != type.getElementType())
      return failure();
  if (!dim)
    return failure();
  return reader.result(reader.create<tp::ConcatOp>(type, *tensors, *dim));
}

static LogicalResult readStack(NodeReader &reader) {
  std::optional<SmallVector<Value>> tensors = reader.tensors("tensors");
  RankedTensorType type = reader.getResultType();
  if (!tensors || tensors->empty() || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank(), 0);
  if (!dim)
    return failure();
  SmallVector<Value> parts;
  for (Value tensor : *tensors) {
    if (getTensor(tensor).getElementType() != type.getElementType() ||
        getTensor(tensor).getRank() + 1 != type.getRank())
      return failure();
    tp::StridedShape shape = reader.getSymbols().getShape(getTensor(tensor));
    tp::Sizes sizes = shape.sizes;
    sizes.insert(sizes.begin() + *dim,
                 getAffineConstantExpr(1, reader.getContext()));
    RankedTensorType part = reader.getSymbols().getType(
        type.getElementType(), sizes, tp::getReshapedStrides(shape, sizes));
    parts.push_back(reader.create<tp::ReshapeOp>(part, tensor));
  }
  return reader.result(reader.create<tp::ConcatOp>(type, parts, *dim));
}

static LogicalResult writeConcat(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ConcatOp>(operation);
  return writer.node(op.getLoc(), "torch.ops.aten.cat.default")
      .tensors("tensors", op.getInputs())
      .integer("dim", op.getDim())
      .finish(op.getResult());
}

static LogicalResult readExpand(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  return reader.result(reader.create<tp::BroadcastOp>(type, self));
}

static LogicalResult writeExpand(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::BroadcastOp>(operation);
  RankedTensorType type = getTensor(op.getResult());
  RankedTensorType input = getTensor(op.getInput());
  SmallVector<int64_t> sizes(type.getShape());
  int64_t offset = type.getRank() - input.getRank();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    if (!ShapedType::isDynamic(size))
      continue;
    // -1 keeps the operand's size.
    bool keeps =
        static_cast<int64_t>(dim) >= offset && input.isDynamicDim(dim - offset);
    if (!keeps)
      return op.emitError("cannot write a broadcast to a symbolic size");
    size = -1;
  }
  return writer.node(op.getLoc(), "torch.ops.aten.expand.default")
      .tensor("self", op.getInput())
      .integers("size", sizes)
      .finish(op.getResult());
}

void vocabulary::addAtenReindex(Vocabulary &vocabulary) {
  vocabulary.addView(
      {"torch.ops.aten.view.default", "torch.ops.aten.reshape.default",
       "torch.ops.aten._unsafe_view.default",
       "torch.ops.aten.unsqueeze.default", "torch.ops.aten.squeeze.default",
       "torch.ops.aten.squeeze.dim", "torch.ops.aten.squeeze.dims",
       "torch.ops.aten.flatten.using_ints", "torch.ops.aten.unflatten.int",
       "torch.ops.aten.view_as.default", "torch.ops.aten.reshape_as.default",
       "torch.ops.aten.alias.default", "torch.ops.aten.detach.default"},
      readReshape);
  vocabulary.addView({"torch.ops.aten.view.dtype"}, readViewDtype);
  vocabulary.addView({"torch.ops.aten.dropout.default"}, readDropout);
  vocabulary.addView({"torch.ops.aten.permute.default"}, readPermute);
  vocabulary.addView({"torch.ops.aten.transpose.int"}, readTranspose);
  vocabulary.addView({"torch.ops.aten.t.default"}, readT);
  vocabulary.addView({"torch.ops.aten.slice.Tensor"}, readSlice);
  vocabulary.addView({"torch.ops.aten.narrow.default"}, readNarrow);
  vocabulary.addView({"torch.ops.aten.select.int"}, readSelect);
  vocabulary.addView({"torch.ops.aten.unbind.int"}, readUnbind);
  vocabulary.addView({"torch.ops.aten.split.Tensor",
                      "torch.ops.aten.split.sizes",
                      "torch.ops.aten.split_with_sizes.default",
                      "torch.ops.aten.chunk.default"},
                     readSplit);
  vocabulary.addView({"torch.ops.aten.expand.default"}, readExpand);
  vocabulary.add("torch.ops.aten.cat.default", readConcat);
  vocabulary.add("torch.ops.aten.stack.default", readStack);
  vocabulary.addWriter<tp::BitcastOp>(writeBitcast);
  vocabulary.addWriter<tp::ReshapeOp>(writeReshape);
  vocabulary.addWriter<tp::PermuteOp>(writePermute);
  vocabulary.addWriter<tp::SliceOp>(writeSlice);
  vocabulary.addWriter<tp::RankSliceOp>(writeRankSlice);
  vocabulary.addWriter<tp::ConcatOp>(writeConcat);
  vocabulary.addWriter<tp::BroadcastOp>(writeExpand);
}
