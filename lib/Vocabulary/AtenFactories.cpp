//===- AtenFactories.cpp - ATen operators that create tensors ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeReader.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;

/// Returns a number argument as an attribute, or null for anything else.
static TypedAttr getNumber(NodeReader &reader, StringRef name) {
  const Argument *argument = reader.find(name);
  if (!argument)
    return {};
  Builder &builder = reader.getBuilder();
  switch (argument->tag) {
  case ArgumentTag::Int:
    return builder.getI64IntegerAttr(argument->integer);
  case ArgumentTag::Bool:
    return builder.getIntegerAttr(builder.getI1Type(), argument->integer);
  case ArgumentTag::Float:
    return builder.getF64FloatAttr(argument->real);
  default:
    return {};
  }
}

static LogicalResult setConstant(NodeReader &reader, TypedAttr value) {
  RankedTensorType type = reader.getResultType();
  if (!type || !value)
    return failure();
  return reader.result(reader.create<tp::ConstantOp>(type, value));
}

static LogicalResult readFull(NodeReader &reader) {
  return setConstant(reader, getNumber(reader, "fill_value"));
}

/// fill(self, value), the functionalized form of `self.fill_(value)`.
static LogicalResult readFill(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  TypedAttr number = getNumber(reader, "value");
  Value value = reader.tensor("value");
  if (!self || !type)
    return failure();
  // Only floats can hold any number.
  if (!isa<FloatType>(type.getElementType())) {
    Type from = number  ? number.getType()
                : value ? getElementType(value)
                        : Type();
    bool keepsNumbers = type.getElementType().isInteger(1)
                            ? from && from.isInteger(1)
                            : isa_and_present<IntegerType>(from);
    if (!keepsNumbers)
      return failure();
  }
  if (number)
    return setConstant(reader, number);
  if (!value || getTensor(value).getRank() != 0)
    return failure();
  Formula f(reader, type.getElementType());
  return f.result(0,
                  reader.broadcast(reader.convert(value, type.getElementType()),
                                   reader.getSymbols().getSizes(type)));
}

static LogicalResult readScalarTensor(NodeReader &reader) {
  return setConstant(reader, getNumber(reader, "s"));
}

static LogicalResult readZeros(NodeReader &reader) {
  return setConstant(reader, reader.getBuilder().getI64IntegerAttr(0));
}

static LogicalResult readOnes(NodeReader &reader) {
  return setConstant(reader, reader.getBuilder().getI64IntegerAttr(1));
}

static LogicalResult readEmpty(NodeReader &reader) {
  RankedTensorType type = reader.getResultType();
  return type ? reader.result(reader.create<tp::EmptyOp>(type)) : failure();
}

static LogicalResult readArange(NodeReader &reader) {
  RankedTensorType type = reader.getResultType();
  Builder &builder = reader.getBuilder();
  TypedAttr start = reader.isAbsent("start") ? builder.getI64IntegerAttr(0)
                                             : getNumber(reader, "start");
  TypedAttr step = reader.isAbsent("step") ? builder.getI64IntegerAttr(1)
                                           : getNumber(reader, "step");
  // Model integers only: for floats, the number of elements and their rounding
  // depend on how the kernel computes them.
  if (!type || !isa_and_present<IntegerAttr>(start) ||
      !isa_and_present<IntegerAttr>(step))
    return failure();
  return reader.result(reader.create<tp::IotaOp>(type, start, step));
}

template <bool upper>
static LogicalResult readTriangular(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  std::optional<int64_t> diagonal = reader.integer("diagonal", 0);
  if (!self || !type || !diagonal)
    return failure();
  return reader.result(
      reader.create<tp::TriangularOp>(type, self, upper, *diagonal));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

static void addNumber(NodeBuilder &node, StringRef name, TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    node.number(name, number.getValueAsDouble());
    return;
  }
  auto integer = cast<IntegerAttr>(value);
  if (integer.getType().isInteger(1))
    node.boolean(name, integer.getValue().getBoolValue());
  else
    node.integer(name, integer.getInt());
}

static LogicalResult writeConstant(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::ConstantOp>(operation);
  auto type = cast<RankedTensorType>(op.getType());
  if (!type.hasStaticShape())
    return op.emitError("cannot write a constant with symbolic sizes");
  NodeBuilder node = writer.node(op.getLoc(), "torch.ops.aten.full.default");
  node.integers("size", type.getShape());
  addNumber(node, "fill_value", op.getValue());
  node.keywords().scalarType("dtype", type.getElementType()).device();
  return node.finish(op.getResult());
}

static LogicalResult writeEmpty(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::EmptyOp>(operation);
  auto type = cast<RankedTensorType>(op.getType());
  tp::SymbolSpace symbols(type.getContext());
  tp::StridedShape shape = symbols.getShape(type);
  if (tp::getDensity(shape) == tp::Density::Dense)
    return writer.node(op.getLoc(), "torch.ops.aten.empty.memory_format")
        .sizes("size", type)
        .keywords()
        .scalarType("dtype", type.getElementType())
        .device()
        .finish(op.getResult());
  FailureOr<NodeBuilder> node = writer.emptyStrided(op.getLoc(), type);
  if (failed(node))
    return op.emitError("cannot write a tensor whose strides are not known");
  return node->finish(op.getResult());
}

static LogicalResult writeIota(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::IotaOp>(operation);
  auto type = cast<RankedTensorType>(op.getType());
  auto start = dyn_cast<IntegerAttr>(op.getStart());
  auto step = dyn_cast<IntegerAttr>(op.getStep());
  if (!type.hasStaticShape() || !start || !step)
    return op.emitError("cannot write a range with a symbolic end or with "
                        "floating-point steps");
  int64_t end;
  if (llvm::MulOverflow(type.getDimSize(0), step.getInt(), end) ||
      llvm::AddOverflow(end, start.getInt(), end))
    return op.emitError(
        "cannot write a range whose end does not fit in 64 bits");
  return writer.node(op.getLoc(), "torch.ops.aten.arange.start_step")
      .integer("start", start.getInt())
      .integer("end", end)
      .integer("step", step.getInt())
      .keywords()
      .scalarType("dtype", type.getElementType())
      .device()
      .finish(op.getResult());
}

static LogicalResult writeTriangular(Operation *operation, NodeWriter &writer) {
  auto op = cast<tp::TriangularOp>(operation);
  return writer
      .node(op.getLoc(), op.getUpper() ? "torch.ops.aten.triu.default"
                                       : "torch.ops.aten.tril.default")
      .tensor("self", op.getInput())
      .integer("diagonal", op.getDiagonal())
      .finish(op.getResult());
}

void vocabulary::addAtenFactories(Vocabulary &vocabulary) {
  vocabulary.add({"torch.ops.aten.full.default",
                  "torch.ops.aten.full_like.default",
                  "torch.ops.aten.new_full.default"},
                 readFull);
  vocabulary.add({"torch.ops.aten.fill.Scalar", "torch.ops.aten.fill.Tensor"},
                 readFill);
  vocabulary.add("torch.ops.aten.scalar_tensor.default", readScalarTensor);
  vocabulary.add({"torch.ops.aten.zeros.default",
                  "torch.ops.aten.zeros_like.default",
                  "torch.ops.aten.new_zeros.default"},
                 readZeros);
  vocabulary.add({"torch.ops.aten.ones.default",
                  "torch.ops.aten.ones_like.default",
                  "torch.ops.aten.new_ones.default"},
                 readOnes);
  vocabulary.add({"torch.ops.aten.empty.memory_format",
                  "torch.ops.aten.empty_like.default",
                  "torch.ops.aten.empty_permuted.default",
                  "torch.ops.aten.empty_strided.default",
                  "torch.ops.aten.new_empty.default",
                  "torch.ops.aten.new_empty_strided.default"},
                 readEmpty);
  vocabulary.add(
      {"torch.ops.aten.arange.default", "torch.ops.aten.arange.start",
       "torch.ops.aten.arange.start_step", "torch.ops.prims.iota.default"},
      readArange);
  vocabulary.add("torch.ops.aten.triu.default", readTriangular<true>);
  vocabulary.add("torch.ops.aten.tril.default", readTriangular<false>);
  vocabulary.addWriter<tp::ConstantOp>(writeConstant);
  vocabulary.addWriter<tp::EmptyOp>(writeEmpty);
  vocabulary.addWriter<tp::IotaOp>(writeIota);
  vocabulary.addWriter<tp::TriangularOp>(writeTriangular);
}
