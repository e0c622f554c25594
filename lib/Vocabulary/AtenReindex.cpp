//===- AtenReindex.cpp - ATen views and concatenations ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "NodeReader.h"
#include "NodeWriter.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Operators that keep the order of the elements. The result's type states the
/// new sizes.
static LogicalResult readReshape(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type ||
      type.getElementType() != getTensor(self).getElementType())
    return failure();
  return reader.result(reader.create<tp::ReshapeOp>(type, self));
}

/// Reinterprets the bits as another element type.
static LogicalResult readViewDtype(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  Type from = getTensor(self).getElementType(), to = type.getElementType();
  if (from == to)
    return reader.result(reader.create<tp::ReshapeOp>(type, self));
  // An element type of another width changes the last size.
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
  bool toComplex = isa<ComplexType>(getElementType(op.getResult()));
  if (toComplex != isa<ComplexType>(getElementType(op.getInput())))
    return writer
        .node(op.getLoc(), toComplex ? "torch.ops.aten.view_as_complex.default"
                                     : "torch.ops.aten.view_as_real.default")
        .tensor("self", op.getInput())
        .finish(op.getResult());
  return writer.node(op.getLoc(), "torch.ops.aten.view.dtype")
      .tensor("self", op.getInput())
      .scalarType("dtype", getTensor(op.getResult()).getElementType())
      .finish(op.getResult());
}

/// Inactive dropout returns its operand.
static LogicalResult readDropout(NodeReader &reader) {
  std::optional<bool> isTraining = reader.boolean("train");
  std::optional<double> probability = reader.number("p");
  Value input = reader.tensor("input");
  RankedTensorType type = reader.getResultType();
  if (!input || !type || (isTraining != false && probability != 0.0))
    return failure();
  return reader.result(reader.create<tp::ReshapeOp>(type, input));
}

/// Writes a reshape as unflatten or flatten of one dim, which do not need the
/// symbolic sizes of the other dims.
static LogicalResult writeSymbolicReshape(tp::ReshapeOp op,
                                          ArrayRef<int64_t> resultSizes,
                                          NodeWriter &writer) {
  tp::SymbolSpace symbols(op.getContext());
  tp::Sizes from = symbols.getSizes(getTensor(op.getInput()));
  tp::Sizes to = symbols.getSizes(getTensor(op.getResult()));
  ArrayRef<tp::Size> before(from), after(to);
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
  return writer.node(op.getLoc(), "torch.ops.aten.reshape.default")
      .tensor("self", op.getInput())
      .sizes("shape", getTensor(op.getResult()))
      .finish(op.getResult());
}

static LogicalResult writeReshape(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ReshapeOp>(operation);
  RankedTensorType type = getTensor(op.getResult());
  // PyTorch can infer one symbolic size.
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

/// x.T of any rank: the dims in the opposite order.
static LogicalResult readReversal(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  auto order = llvm::to_vector(
      llvm::reverse(llvm::seq<int64_t>(0, getTensor(self).getRank())));
  return setPermute(reader, self, order);
}

/// x.mT: the last two dims exchanged.
static LogicalResult readMatrixTranspose(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self || getTensor(self).getRank() < 2)
    return failure();
  auto order =
      llvm::to_vector(llvm::seq<int64_t>(0, getTensor(self).getRank()));
  std::swap(order.back(), order[order.size() - 2]);
  return setPermute(reader, self, order);
}

static LogicalResult writePermute(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::PermuteOp>(operation);
  return writer.node(op.getLoc(), "torch.ops.aten.permute.default")
      .tensor("self", op.getInput())
      .integers("dims", op.getPermutation())
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
  if (!dim)
    return failure();
  SmallVector<Value> parts;
  for (Value tensor : *tensors) {
    RankedTensorType own = getTensor(tensor);
    // PyTorch skips empty tensors of rank 1 between tensors of higher rank: a
    // cache begins with torch.tensor([]).
    if (own.getRank() == 1 && own.getDimSize(0) == 0 && type.getRank() > 1)
      continue;
    if (own.getRank() != type.getRank())
      return failure();
    // Element types are promoted.
    if (own.getElementType() != type.getElementType())
      tensor = reader.convert(tensor, type.getElementType());
    parts.push_back(tensor);
  }
  if (parts.empty())
    return failure();
  if (parts.size() == 1)
    return reader.result(reader.create<tp::CopyOp>(type, parts.front(),
                                                   /*preserve_strides=*/false));
  return reader.result(reader.create<tp::ConcatOp>(type, parts, *dim));
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
    tp::Sizes sizes = reader.getSymbols().getSizes(getTensor(tensor));
    sizes.insert(sizes.begin() + *dim, 1);
    parts.push_back(reader.reshape(tensor, sizes));
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

/// Broadcasts each tensor of a list to the common shape.
static LogicalResult readBroadcastTensors(NodeReader &reader) {
  std::optional<SmallVector<Value>> tensors = reader.tensors("tensors");
  if (!tensors || tensors->size() != reader.getNumResults())
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*tensors)) {
    RankedTensorType type = reader.getResultType(index);
    if (!type)
      return failure();
    reader.setResult(index, reader.create<tp::BroadcastOp>(type, tensor));
  }
  return success();
}

/// meshgrid(x, y, ...): result i repeats tensor i along all dims but its own.
static LogicalResult readMeshgrid(NodeReader &reader) {
  std::optional<SmallVector<Value>> tensors = reader.tensors("tensors");
  std::optional<StringRef> indexing =
      reader.string("indexing", StringRef("ij"));
  if (!tensors || !indexing || (*indexing != "ij" && *indexing != "xy") ||
      tensors->size() != reader.getNumResults())
    return failure();
  for (auto [index, tensor] : llvm::enumerate(*tensors)) {
    RankedTensorType type = reader.getResultType(index);
    if (!type || getTensor(tensor).getRank() > 1)
      return failure();
    // Columns come before rows in the order "xy".
    size_t dim = *indexing == "xy" && index < 2 && tensors->size() > 1
                     ? 1 - index
                     : index;
    tp::Sizes sizes(tensors->size(), 1);
    sizes[dim] = tp::multiply(reader.getSymbols().getSizes(getTensor(tensor)));
    reader.setResult(index, reader.create<tp::BroadcastOp>(
                                type, reader.reshape(tensor, sizes)));
  }
  return success();
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
    // A size of -1 keeps the operand's size.
    bool keeps =
        static_cast<int64_t>(dim) >= offset && input.isDynamicDim(dim - offset);
    if (!keeps)
      return writer.node(op.getLoc(), "torch.ops.aten.expand.default")
          .tensor("self", op.getInput())
          .sizes("size", type)
          .finish(op.getResult());
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
       "torch.ops.aten.alias.default", "torch.ops.aten.detach.default",
       "torch.ops.aten.detach_.default", "torch.ops.aten.lift.default",
       "torch.ops.aten.lift_fresh.default"},
      readReshape);
  vocabulary.addView({"torch.ops.aten.view.dtype"}, readViewDtype);
  vocabulary.addView({"torch.ops.aten.dropout.default"}, readDropout);
  vocabulary.addView({"torch.ops.aten.permute.default"}, readPermute);
  vocabulary.addView({"torch.ops.aten.transpose.int"}, readTranspose);
  vocabulary.addView({"torch.ops.aten.t.default"}, readT);
  vocabulary.addView({"torch.ops.aten.numpy_T.default"}, readReversal);
  vocabulary.addView({"torch.ops.aten.mT.default"}, readMatrixTranspose);
  vocabulary.addView(
      {"torch.ops.aten.expand.default", "torch.ops.aten.expand_as.default"},
      readExpand);
  vocabulary.addView({"torch.ops.aten.broadcast_tensors.default"},
                     readBroadcastTensors);
  vocabulary.addView(
      {"torch.ops.aten.meshgrid.default", "torch.ops.aten.meshgrid.indexing"},
      readMeshgrid);
  vocabulary.add({"torch.ops.aten.cat.default", "torch.ops.aten.concat.default",
                  "torch.ops.aten.concatenate.default"},
                 readConcat);
  vocabulary.add("torch.ops.aten.stack.default", readStack);
  vocabulary.addWriter<tp::BitcastOp>(writeBitcast);
  vocabulary.addWriter<tp::ReshapeOp>(writeReshape);
  vocabulary.addWriter<tp::PermuteOp>(writePermute);
  vocabulary.addWriter<tp::ConcatOp>(writeConcat);
  vocabulary.addWriter<tp::BroadcastOp>(writeExpand);
}
