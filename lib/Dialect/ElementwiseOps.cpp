//===- ElementwiseOps.cpp - elementwise ops and factories -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// tp.map
//===----------------------------------------------------------------------===//

unsigned MapOp::getArity(MapFunction function) {
  return getInfo(function).arity;
}

bool MapOp::isPredicate(MapFunction function) {
  return getInfo(function).result == ScalarFunctionInfo::Result::Truth;
}

/// Returns the element type of a result for which none is stated: that of the
/// operands if they agree, else null.
static Type getDefaultElementType(MapOp::Adaptor op) {
  if (MapOp::isPredicate(op.getFunction()))
    return IntegerType::get(op.getFunctionAttr().getContext(), 1);
  ValueRange operands = op.getOperands();
  if (op.getFunction() == MapFunction::Select)
    operands = operands.drop_front();
  Type first = getTensor(operands.front()).getElementType();
  return llvm::all_of(operands,
                      [&](Value operand) {
                        return getTensor(operand).getElementType() == first;
                      })
             ? first
             : Type();
}

LogicalResult MapOp::inferShapes(Adaptor op, ShapeInference &inference) {
  MapFunction function = op.getFunction();
  unsigned arity = getArity(function);
  if (op.getOperands().size() != arity)
    return inference.emitOpError()
           << stringifyMapFunction(function) << " takes " << arity
           << " operands, but got " << op.getOperands().size();
  Sizes sizes;
  for (Value operand : op.getOperands()) {
    std::optional<Sizes> broadcast =
        broadcastSizes(sizes, inference.getSizes(operand));
    if (!broadcast)
      return inference.emitOpError(
          "operands cannot be broadcast to a common shape");
    sizes = std::move(*broadcast);
  }
  Type elementType = inference.getStatedElementType(getDefaultElementType(op));
  if (!elementType)
    return inference.emitOpError("operands have different element types, so "
                                 "the element type of the result must be "
                                 "stated");
  if (isPredicate(function) && !elementType.isInteger(1))
    return inference.emitOpError()
           << stringifyMapFunction(function)
           << " returns i1, but the result has element type " << elementType;
  return inference.setResult(elementType, sizes);
}

DimensionRule MapOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  builder.addPointwise();
  return std::move(builder).build();
}

bool MapOp::isLinearIn(ArrayRef<bool> operands) {
  using Linearity = ScalarFunctionInfo::Linearity;
  switch (getInfo(getFunction()).linearity) {
  case Linearity::NotLinear:
    return false;
  case Linearity::SumOfBoth:
    return operands[0] && operands[1];
  case Linearity::ProductOfOne:
    return operands[0] != operands[1];
  case Linearity::FirstAlone:
    return operands[0] &&
           llvm::none_of(operands.drop_front(), [](bool is) { return is; });
  case Linearity::EitherBranch:
    return !operands[0] && operands[1] && operands[2];
  }
  llvm_unreachable("unknown linearity");
}

LogicalResult MapOp::evaluate(Algebra &algebra, ArrayRef<AlgebraValue> operands,
                              SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.map(getFunction(), operands,
                                getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> MapOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, getInfo(getFunction()).flops, symbols);
}

Strides MapOp::inferStrides(Adaptor, unsigned,
                            ArrayRef<StridedShape> operandShapes,
                            ArrayRef<Size> resultSizes) {
  return getElementwiseStrides(operandShapes, resultSizes);
}

//===----------------------------------------------------------------------===//
// tp.cast and tp.copy
//===----------------------------------------------------------------------===//

LogicalResult CastOp::inferShapes(Adaptor op, ShapeInference &inference) {
  Type input = getTensor(op.getInput()).getElementType();
  return inference.setResult(inference.getStatedElementType(input),
                             inference.getSizes(op.getInput()));
}

DimensionRule CastOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  builder.addPointwise();
  return std::move(builder).build();
}

LogicalResult CastOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(
      algebra.cast(operands[0], getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> CastOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 1, symbols);
}

Strides CastOp::inferStrides(Adaptor op, unsigned,
                             ArrayRef<StridedShape> operandShapes,
                             ArrayRef<Size> resultSizes) {
  if (op.getContiguous())
    return getContiguousStrides(resultSizes);
  return getPreservedStrides(operandShapes[0]);
}

// `to` returns its operand if there is nothing to convert.
bool CastOp::mayShareMemory() { return true; }

OpFoldResult CastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// tp.bitcast
//===----------------------------------------------------------------------===//

/// Complex numbers are stored as pairs of floats, which are the elements along
/// one more dim of the view as floats.
static ComplexType getComplexOf(Type type, Type part) {
  auto complex = dyn_cast<ComplexType>(type);
  return complex && complex.getElementType() == part ? complex : ComplexType();
}

LogicalResult BitcastOp::inferShapes(Adaptor op, ShapeInference &inference) {
  Type from = getTensor(op.getInput()).getElementType();
  Type to = inference.getStatedElementType(from);
  Sizes sizes = inference.getSizes(op.getInput());
  if (getComplexOf(to, from)) {
    if (sizes.empty() || sizes.back() != Size(2))
      return inference.emitOpError()
             << "cannot reinterpret a tensor of " << from << " as " << to
             << ": its last dim must have size 2";
    sizes.pop_back();
    return inference.setResult(to, sizes);
  }
  if (getComplexOf(from, to)) {
    sizes.push_back(2);
    return inference.setResult(to, sizes);
  }
  if (!from.isIntOrFloat() || !to.isIntOrFloat() ||
      from.getIntOrFloatBitWidth() != to.getIntOrFloatBitWidth() ||
      (!isa<FloatType>(from) && !isa<FloatType>(to)))
    return inference.emitOpError()
           << "cannot reinterpret the bits of " << from << " as " << to
           << ": the element types must have the same width, and at least one "
              "must be a float";
  return inference.setResult(to, sizes);
}

DimensionRule BitcastOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  int64_t inputRank = getTensor(getInput()).getRank();
  int64_t resultRank = getTensor(getResult()).getRank();
  if (inputRank == resultRank) {
    builder.addPointwise();
    return std::move(builder).build();
  }
  for (int64_t dim = 0; dim < std::min(inputRank, resultRank); ++dim) {
    unsigned factor =
        builder.addParallel(getTensor(getResult()).getDimSize(dim));
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, dim, factor);
  }
  // Real and imaginary parts.
  unsigned parts = builder.addFixed(2);
  if (inputRank > resultRank)
    builder.mapOperand(0, inputRank - 1, parts);
  else
    builder.mapResult(0, resultRank - 1, parts);
  return std::move(builder).build();
}

LogicalResult BitcastOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(
      algebra.bitcast(operands[0], getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> BitcastOp::getWork(SymbolValues) { return Work(); }

Strides BitcastOp::inferStrides(Adaptor op, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size> resultSizes) {
  Strides strides = operandShapes[0].strides;
  size_t inputRank = operandShapes[0].sizes.size();
  if (!strides || inputRank == resultSizes.size())
    return strides;
  // In units of pairs, or of parts of pairs.
  if (inputRank < resultSizes.size()) {
    for (Size &stride : *strides)
      stride = multiply(stride, 2);
    strides->push_back(1);
    return strides;
  }
  strides->pop_back();
  for (Size &stride : *strides) {
    stride = divideExactly(stride, 2);
    if (!stride)
      return std::nullopt;
  }
  return strides;
}

bool BitcastOp::mayShareMemory() { return true; }

LogicalResult CopyOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inference.setResultLike(op.getInput());
}

LogicalResult CopyOp::verifyLayout() {
  SymbolSpace space(getContext());
  StridedShape shape = space.getShape(getTensor(getResult()));
  // A type without sizes does not state a layout either.
  bool knowsSizes =
      llvm::all_of(shape.sizes, [](const Size &size) { return bool(size); });
  if (!getPreserveStrides() && knowsSizes &&
      getDensity(shape) != Density::Dense)
    return emitOpError(
        "result is not dense: without `preserve_strides`, a copy has the "
        "dense row-major layout");
  return success();
}

DimensionRule CopyOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  builder.addPointwise();
  return std::move(builder).build();
}

LogicalResult CopyOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  // The same values, because layouts are not part of the semantics.
  results.push_back(operands[0]);
  return success();
}

std::optional<Work> CopyOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

Strides CopyOp::inferStrides(Adaptor op, unsigned,
                             ArrayRef<StridedShape> operandShapes,
                             ArrayRef<Size> resultSizes) {
  if (!op.getPreserveStrides())
    return getContiguousStrides(resultSizes);
  return getPreservedStrides(operandShapes[0]);
}

// `contiguous` returns its operand if that is dense.
bool CopyOp::mayShareMemory() { return true; }

OpFoldResult CopyOp::fold(FoldAdaptor) {
  // copy(copy(x)) -> copy(x), because the inner copy already is fresh memory.
  auto inner = getInput().getDefiningOp<CopyOp>();
  if (inner && inner.getType() == getType())
    return inner.getResult();
  return {};
}

//===----------------------------------------------------------------------===//
// Factories
//===----------------------------------------------------------------------===//

/// Returns the rule of an op without tensor operands: all dims of the result
/// are parallel.
static DimensionRule getFactoryRule(Operation *op) {
  DimensionRuleBuilder builder(op);
  builder.addPointwise();
  return std::move(builder).build();
}

LogicalResult ConstantOp::inferShapes(Adaptor op, ShapeInference &inference) {
  if (!isa<IntegerAttr, FloatAttr>(op.getValue()))
    return inference.emitOpError("value must be an integer or a float");
  Type elementType = inference.getStatedElementType(op.getValue().getType());
  return inference.setResult(elementType,
                             inference.getStatedSizes().value_or(Sizes()));
}

DimensionRule ConstantOp::getDimensionRule() { return getFactoryRule(*this); }

LogicalResult ConstantOp::evaluate(Algebra &algebra,
                                   ArrayRef<AlgebraValue> operands,
                                   SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  results.push_back(algebra.constant(getValue(), *sizes,
                                     getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> ConstantOp::getWork(SymbolValues symbols) {
  // A Python scalar is an argument of the kernel that uses it, so it costs
  // nothing.
  if (getTensor(getResult()).getRank() == 0)
    return Work();
  return getStreamingWork(*this, 0, symbols);
}

Strides ConstantOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                 ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

LogicalResult IotaOp::inferShapes(Adaptor op, ShapeInference &inference) {
  std::optional<Sizes> sizes = inference.getStatedSizes();
  if (!sizes)
    return inference.emitOpError("the size of the result must be stated");
  if (sizes->size() != 1)
    return inference.emitOpError()
           << "result has " << sizes->size() << " dims, expected 1";
  if (op.getStart().getType() != op.getStep().getType() ||
      !isa<IntegerAttr, FloatAttr>(op.getStart()))
    return inference.emitOpError(
        "start and step must be numbers of the same type");
  return inference.setResult(
      inference.getStatedElementType(op.getStart().getType()), *sizes);
}

DimensionRule IotaOp::getDimensionRule() {
  // The dim is whole, because a shard would not start at `start`.
  DimensionRuleBuilder builder(*this);
  builder.mapResult(0, 0,
                    builder.addWhole(getTensor(getResult()).getDimSize(0)));
  return std::move(builder).build();
}

LogicalResult IotaOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  results.push_back(algebra.iota(getStart(), getStep(), sizes->front(),
                                 getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> IotaOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 1, symbols);
}

Strides IotaOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                             ArrayRef<Size> resultSizes) {
  return getContiguousStrides(resultSizes);
}

LogicalResult EmptyOp::inferShapes(Adaptor, ShapeInference &inference) {
  std::optional<Sizes> sizes = inference.getStatedSizes();
  Type elementType = inference.getStatedElementType(Type());
  if (!sizes || !elementType)
    return inference.emitOpError("the type of the result must be stated");
  return inference.setResult(elementType, *sizes);
}

DimensionRule EmptyOp::getDimensionRule() { return getFactoryRule(*this); }

LogicalResult EmptyOp::evaluate(Algebra &algebra,
                                ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  results.push_back(algebra.uninitialized(
      *this, *sizes, getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> EmptyOp::getWork(SymbolValues) { return Work(); }

Strides EmptyOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                              ArrayRef<Size>) {
  // torch.empty_like keeps the strides of a tensor that is not an operand of
  // this op.
  return std::nullopt;
}

LogicalResult TriangularOp::inferShapes(Adaptor op, ShapeInference &inference) {
  if (getTensor(op.getInput()).getRank() < 2)
    return inference.emitOpError("operand must have at least 2 dims");
  return inference.setResultLike(op.getInput());
}

DimensionRule TriangularOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType type = getTensor(getInput());
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    // The result depends on positions in the last two dims.
    unsigned factor = dim + 2 < type.getRank()
                          ? builder.addParallel(type.getDimSize(dim))
                          : builder.addWhole(type.getDimSize(dim));
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, dim, factor);
  }
  return std::move(builder).build();
}

LogicalResult TriangularOp::evaluate(Algebra &algebra,
                                     ArrayRef<AlgebraValue> operands,
                                     SmallVectorImpl<AlgebraValue> &results) {
  // select(column - row >= diagonal, x, 0), or <= for the lower triangle.
  ArrayRef<int64_t> sizes = operands[0]->getSizes();
  Type type = getTensor(getResult()).getElementType();
  Builder builder(getContext());
  Type position = builder.getI64Type();
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  AlgebraValue rows = algebra.reshape(
      algebra.iota(number(0), number(1), sizes[sizes.size() - 2], position),
      {sizes[sizes.size() - 2], 1});
  AlgebraValue columns =
      algebra.iota(number(0), number(1), sizes.back(), position);
  AlgebraValue distance =
      algebra.map(MapFunction::Sub, {columns, rows}, position);
  AlgebraValue keeps = algebra.map(
      getUpper() ? MapFunction::GreaterEqual : MapFunction::LessEqual,
      {distance, algebra.constant(number(getDiagonal()), {}, position)},
      builder.getI1Type());
  AlgebraValue zero = algebra.constant(number(0), {}, type);
  results.push_back(
      algebra.map(MapFunction::Select, {keeps, operands[0], zero}, type));
  return success();
}

std::optional<Work> TriangularOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 1, symbols);
}

Strides TriangularOp::inferStrides(Adaptor, unsigned,
                                   ArrayRef<StridedShape> shapes,
                                   ArrayRef<Size> resultSizes) {
  // at::tril and at::triu use the operand's layout only if it is row-major; do
  // not rely on other layouts.
  if (getDensity(shapes[0]) == Density::Dense)
    return getContiguousStrides(resultSizes);
  return std::nullopt;
}
