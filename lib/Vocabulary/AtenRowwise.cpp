//===- AtenRowwise.cpp - ATen reductions, softmax, norms --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeReader.h"
#include "NodeWriter.h"
#include "TensorCast.h"
#include "commute/Dialect/ScalarFunctions.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::ReductionKind;
using tp::RowFunction;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

static bool isExtremum(ReductionKind kind) {
  return kind == ReductionKind::Max || kind == ReductionKind::Min;
}

/// Makes the reduction of `self` the node's result.
static LogicalResult setReduce(NodeReader &reader, ReductionKind kind,
                               Value self) {
  RankedTensorType type = reader.getResultType();
  std::optional<bool> keepDims = reader.boolean("keepdim", false);
  std::optional<SmallVector<int64_t>> dims =
      reader.dims("dim", getTensor(self).getRank());
  if (!type || !keepDims || !dims)
    return failure();
  if (!isExtremum(kind) || getElementType(self) == type.getElementType())
    return reader.result(
        reader.create<tp::ReduceOp>(type, kind, self, *dims, *keepDims));
  Formula f(reader, getElementType(self));
  return f.result(0, f.reduce(kind, self, *dims, *keepDims));
}

template <ReductionKind kind>
static LogicalResult readReduce(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type ||
      (isExtremum(kind) && getElementType(self) != type.getElementType()))
    return failure();
  return setReduce(reader, kind, self);
}

/// any and all: the largest or smallest of truth values. Numbers are true
/// unless they are zero. The result for uint8 is uint8.
template <ReductionKind kind>
static LogicalResult readTruth(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!self)
    return failure();
  Type truth = reader.getBuilder().getI1Type();
  if (getElementType(self) != truth)
    self = reader.map(tp::MapFunction::NotEqual,
                      {self, reader.constant(int64_t(0))}, truth);
  return setReduce(reader, kind, self);
}

/// Returns true if a sum or product must state the type of its result: PyTorch
/// adds up integers as int64.
static bool needsElementType(Value input, Value result) {
  Type from = getElementType(input), to = getElementType(result);
  return from != to || (isa<IntegerType>(to) && !to.isInteger(64));
}

static LogicalResult writeReduce(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ReduceOp>(operation);
  bool isBoolean = getTensor(op.getResult()).getElementType().isInteger(1);
  bool isWhole = static_cast<int64_t>(op.getDims().size()) ==
                 getTensor(op.getInput()).getRank();
  bool isWholeProduct =
      op.getKind() == ReductionKind::Product && isWhole && !op.getKeepDims();
  NodeBuilder node = writer.node(op.getLoc(), [&]() -> StringRef {
    switch (op.getKind()) {
    case ReductionKind::Sum:
      return "torch.ops.aten.sum.dim_IntList";
    case ReductionKind::Avg:
      return "torch.ops.aten.mean.dim";
    case ReductionKind::Max:
      return isBoolean ? "torch.ops.aten.any.dims"
                       : "torch.ops.aten.amax.default";
    case ReductionKind::Min:
      return isBoolean ? "torch.ops.aten.all.dims"
                       : "torch.ops.aten.amin.default";
    case ReductionKind::Product:
      return isWholeProduct ? "torch.ops.aten.prod.default"
                            : "torch.ops.aten.prod.dim_int";
    }
    llvm_unreachable("unknown reduction kind");
  }());
  node.tensor("self", op.getInput());
  if (op.getKind() != ReductionKind::Product) {
    node.integers("dim", op.getDims()).boolean("keepdim", op.getKeepDims());
  } else if (!isWholeProduct) {
    if (op.getDims().size() != 1)
      return op.emitError("cannot write a product over several dims: PyTorch's "
                          "prod reduces one dim");
    node.integer("dim", op.getDims()[0]).boolean("keepdim", op.getKeepDims());
  }
  if ((op.getKind() == ReductionKind::Sum ||
       op.getKind() == ReductionKind::Avg ||
       op.getKind() == ReductionKind::Product) &&
      needsElementType(op.getInput(), op.getResult()))
    node.keywords().scalarType("dtype", getElementType(op.getResult()));
  return node.finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Softmax and cumulative sums
//===----------------------------------------------------------------------===//

template <RowFunction function>
static LogicalResult readRowwise(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type)
    return failure();
  std::optional<int64_t> dim = reader.dim("dim", type.getRank());
  if (!dim)
    return failure();
  return reader.result(
      reader.create<tp::RowwiseOp>(type, function, self, *dim));
}

static LogicalResult writeRowwise(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::RowwiseOp>(operation);
  StringRef target = "torch.ops.aten.softmax.int";
  if (op.getFunction() == RowFunction::LogSoftmax)
    target = "torch.ops.aten.log_softmax.int";
  if (op.getFunction() == RowFunction::CumulativeSum)
    target = "torch.ops.aten.cumsum.default";
  NodeBuilder node = writer.node(op.getLoc(), target);
  node.tensor("self", op.getInput()).integer("dim", op.getDim());
  Type result = getElementType(op.getResult());
  if (needsElementType(op.getInput(), op.getResult())) {
    // The dtype is keyword-only in cumsum, and positional in the others.
    if (op.getFunction() == RowFunction::CumulativeSum)
      node.keywords();
    node.scalarType("dtype", result);
  }
  return node.finish(op.getResult());
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Returns the number of normalized dims, or nullopt if a size is symbolic.
static std::optional<int64_t> getNormalizedDims(NodeReader &reader) {
  std::optional<SmallVector<int64_t>> shape =
      reader.integers("normalized_shape");
  if (!shape || shape->empty())
    return std::nullopt;
  return shape->size();
}

/// Returns a tensor argument or null for None, and nullopt for anything else.
static std::optional<Value> getOptionalTensor(NodeReader &reader,
                                              StringRef name) {
  if (reader.isAbsent(name))
    return Value();
  Value value = reader.tensor(name);
  return value ? std::optional(value) : std::nullopt;
}

/// Results past the first are statistics, saved for the backward graph: the
/// mean of a layer norm, and one over the root of the mean square.
static LogicalResult setStatistics(NodeReader &reader, Value input,
                                   int64_t dims, double epsilon,
                                   bool isCentered) {
  bool isUsed = false;
  for (size_t index = 1; index < reader.getNumResults(); ++index)
    isUsed |= reader.isResultUsed(index);
  if (!isUsed)
    return success();
  Formula f(reader, getTensor(input).getElementType());
  int64_t rank = getTensor(input).getRank();
  auto rows = llvm::to_vector(llvm::seq<int64_t>(rank - dims, rank));
  Value x = f.of(input);
  size_t index = 1;
  if (isCentered) {
    Value mean = f.reduce(ReductionKind::Avg, x, rows);
    if (failed(f.result(index++, mean)))
      return failure();
    x = f.subtract(x, mean);
  }
  Value square = f.reduce(ReductionKind::Avg, f.multiply(x, x), rows);
  return f.result(
      index, f.apply(tp::MapFunction::Rsqrt, f.add(square, f.number(epsilon))));
}

static LogicalResult readRmsNorm(NodeReader &reader) {
  Value input = reader.tensor("input");
  std::optional<Value> weight = getOptionalTensor(reader, "weight");
  std::optional<int64_t> dims = getNormalizedDims(reader);
  RankedTensorType type = reader.getResultType();
  if (!input || !weight || !dims || !type)
    return failure();
  FloatAttr epsilon;
  if (!reader.isAbsent("eps")) {
    std::optional<double> value = reader.number("eps");
    // A negative one makes NaN of rows that are small enough.
    if (!value || *value < 0)
      return failure();
    epsilon = reader.getBuilder().getF64FloatAttr(*value);
  }
  reader.setResult(
      0, reader.create<tp::RmsNormOp>(type, input, *weight, epsilon, *dims));
  return setStatistics(reader, input, *dims,
                       epsilon
                           ? epsilon.getValueAsDouble()
                           : tp::getDefaultEpsilon(tp::Algebra::getComputeType(
                                 getTensor(input).getElementType())),
                       /*isCentered=*/false);
}

static LogicalResult readLayerNorm(NodeReader &reader) {
  Value input = reader.tensor("input");
  std::optional<Value> weight = getOptionalTensor(reader, "weight");
  std::optional<Value> bias = getOptionalTensor(reader, "bias");
  std::optional<int64_t> dims = getNormalizedDims(reader);
  std::optional<double> epsilon = reader.number("eps", 1e-5);
  RankedTensorType type = reader.getResultType();
  if (!input || !weight || !bias || !dims || !epsilon || *epsilon < 0 || !type)
    return failure();
  auto op = reader.create<tp::LayerNormOp>(type, input, *weight, *bias,
                                           llvm::APFloat(*epsilon), *dims);
  reader.setResult(0, op);
  return setStatistics(reader, input, *dims, *epsilon, /*isCentered=*/true);
}

/// Returns the sizes of the normalized dims, or an empty list if one is
/// symbolic.
static SmallVector<int64_t> getNormalizedShape(RankedTensorType type,
                                               int64_t dims) {
  ArrayRef<int64_t> shape = type.getShape().take_back(dims);
  if (llvm::any_of(shape, ShapedType::isDynamic))
    return {};
  return SmallVector<int64_t>(shape);
}

static LogicalResult writeRmsNorm(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::RmsNormOp>(operation);
  if (isTensorCastNorm(op, writer))
    return writeTensorCastNorm(op, writer);
  SmallVector<int64_t> shape =
      getNormalizedShape(getTensor(op.getInput()), op.getNormalizedDims());
  if (shape.empty())
    return op.emitError("cannot write a norm over symbolic sizes");
  NodeBuilder node =
      writer.node(op.getLoc(), "torch.ops.aten.rms_norm.default");
  node.tensor("input", op.getInput())
      .integers("normalized_shape", shape)
      .optionalTensor("weight", op.getWeight());
  if (op.getEpsilon())
    node.number("eps", op.getEpsilon()->convertToDouble());
  return node.finish(op.getResult());
}

static LogicalResult writeLayerNorm(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::LayerNormOp>(operation);
  SmallVector<int64_t> shape =
      getNormalizedShape(getTensor(op.getInput()), op.getNormalizedDims());
  if (shape.empty())
    return op.emitError("cannot write a norm over symbolic sizes");
  return writer.node(op.getLoc(), "torch.ops.aten.layer_norm.default")
      .tensor("input", op.getInput())
      .integers("normalized_shape", shape)
      .optionalTensor("weight", op.getWeight())
      .optionalTensor("bias", op.getBias())
      .number("eps", op.getEpsilon().convertToDouble())
      .finish(op.getResult());
}

void vocabulary::addAtenRowwise(Vocabulary &vocabulary) {
  vocabulary.add(
      {"torch.ops.aten.sum.dim_IntList", "torch.ops.aten.sum.default"},
      readReduce<ReductionKind::Sum>);
  vocabulary.add({"torch.ops.aten.mean.dim", "torch.ops.aten.mean.default"},
                 readReduce<ReductionKind::Avg>);
  vocabulary.add("torch.ops.aten.amax.default", readReduce<ReductionKind::Max>);
  vocabulary.add("torch.ops.aten.amin.default", readReduce<ReductionKind::Min>);
  vocabulary.add({"torch.ops.aten.any.dim", "torch.ops.aten.any.dims",
                  "torch.ops.aten.any.default"},
                 readTruth<ReductionKind::Max>);
  vocabulary.add({"torch.ops.aten.all.dim", "torch.ops.aten.all.dims",
                  "torch.ops.aten.all.default"},
                 readTruth<ReductionKind::Min>);
  vocabulary.add({"torch.ops.aten.prod.dim_int", "torch.ops.aten.prod.default"},
                 readReduce<ReductionKind::Product>);
  vocabulary.add(
      {"torch.ops.aten.softmax.int", "torch.ops.aten._softmax.default"},
      readRowwise<RowFunction::Softmax>);
  vocabulary.add(
      {"torch.ops.aten.log_softmax.int", "torch.ops.aten._log_softmax.default"},
      readRowwise<RowFunction::LogSoftmax>);
  vocabulary.add("torch.ops.aten.cumsum.default",
                 readRowwise<RowFunction::CumulativeSum>);
  vocabulary.add({"torch.ops.aten.rms_norm.default",
                  "torch.ops.aten._fused_rms_norm.default"},
                 readRmsNorm);
  vocabulary.add({"torch.ops.aten.layer_norm.default",
                  "torch.ops.aten.native_layer_norm.default"},
                 readLayerNorm);
  vocabulary.addWriter<tp::ReduceOp>(writeReduce);
  vocabulary.addWriter<tp::RowwiseOp>(writeRowwise);
  vocabulary.addWriter<tp::RmsNormOp>(writeRmsNorm);
  vocabulary.addWriter<tp::LayerNormOp>(writeLayerNorm);
}
