//===- RowwiseOps.cpp - reductions, softmax, norms --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "commute/Dialect/ScalarFunctions.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// tp.reduce
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  llvm::SmallDenseSet<int64_t> reduced;
  for (int64_t dim : op.getDims()) {
    if (failed(
            inference.verifyDim("an element of `dims`", dim, input.getRank())))
      return failure();
    if (!reduced.insert(dim).second)
      return inference.emitOpError() << "dim " << dim << " is reduced twice";
  }
  Sizes sizes;
  for (auto [dim, size] : llvm::enumerate(inference.getSizes(op.getInput()))) {
    if (!reduced.contains(dim))
      sizes.push_back(size);
    else if (op.getKeepDims())
      sizes.push_back(1);
  }
  return inference.setResult(
      inference.getStatedElementType(input.getElementType()), sizes);
}

DimensionRule ReduceOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType input = getTensor(getInput());
  unsigned resultDim = 0;
  for (unsigned dim = 0; dim < input.getRank(); ++dim) {
    if (llvm::is_contained(getDims(), dim)) {
      builder.mapOperand(0, dim,
                         builder.addFactor(Factor::Kind::Reduction,
                                           input.getDimSize(dim), getKind()));
      resultDim += getKeepDims();
      continue;
    }
    unsigned factor = builder.addParallel(input.getDimSize(dim));
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, resultDim++, factor);
  }
  return std::move(builder).build();
}

LogicalResult ReduceOp::evaluate(Algebra &algebra,
                                 ArrayRef<AlgebraValue> operands,
                                 SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.reduce(getKind(), operands[0], getDims(),
                                   getKeepDims(),
                                   getTensor(getResult()).getElementType()));
  return success();
}

bool ReduceOp::isLinearIn(ArrayRef<bool> operands) {
  return operands[0] &&
         (getKind() == ReductionKind::Sum || getKind() == ReductionKind::Avg);
}

std::optional<Work> ReduceOp::getWork(SymbolValues symbols) {
  std::optional<Work> work = getStreamingWork(*this, 0, symbols);
  std::optional<int64_t> elements =
      evaluateNumElements(getTensor(getInput()), symbols);
  if (!work || !elements)
    return std::nullopt;
  work->elementwiseFlops = *elements;
  return work;
}

Strides ReduceOp::inferStrides(Adaptor, unsigned,
                               ArrayRef<StridedShape> operandShapes,
                               ArrayRef<Size> resultSizes) {
  // TensorIterator orders the dims of the result like those of the operand;
  // rely only on the row-major case.
  if (getDensity(operandShapes[0]) == Density::Dense)
    return getContiguousStrides(resultSizes);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// tp.rowwise
//===----------------------------------------------------------------------===//

LogicalResult RowwiseOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  if (failed(inference.verifyDim("dim", op.getDim(), input.getRank())))
    return failure();
  return inference.setResult(
      inference.getStatedElementType(input.getElementType()),
      inference.getSizes(op.getInput()));
}

/// Returns the rule of ops that map rows over the dims from `firstWhole` on (or
/// of the single dim `onlyWhole`), where operand 0 and all results have one
/// shape.
static DimensionRule getRowRule(Operation *op,
                                llvm::function_ref<bool(unsigned)> isWhole,
                                ArrayRef<unsigned> likeInput) {
  DimensionRuleBuilder builder(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  for (unsigned dim = 0; dim < type.getRank(); ++dim) {
    unsigned factor = isWhole(dim) ? builder.addWhole(type.getDimSize(dim))
                                   : builder.addParallel(type.getDimSize(dim));
    for (unsigned operand : likeInput)
      builder.mapOperand(operand, dim, factor);
    for (unsigned result = 0; result < op->getNumResults(); ++result)
      builder.mapResult(result, dim, factor);
    // Weight and bias have the dims that are normalized.
    for (unsigned operand = 0; operand < op->getNumOperands(); ++operand) {
      if (llvm::is_contained(likeInput, operand))
        continue;
      auto weight = cast<RankedTensorType>(op->getOperand(operand).getType());
      int64_t weightDim = int64_t(dim) - type.getRank() + weight.getRank();
      if (weightDim >= 0)
        builder.mapOperand(operand, weightDim, factor);
    }
  }
  return std::move(builder).build();
}

DimensionRule RowwiseOp::getDimensionRule() {
  int64_t whole = getDim();
  return getRowRule(*this, [&](unsigned dim) { return dim == whole; }, {0});
}

LogicalResult RowwiseOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  if (getFunction() == RowFunction::CumulativeSum) {
    results.push_back(algebra.cumulativeSum(operands[0], getDim(), type));
    return success();
  }
  Type compute = Algebra::getComputeType(type);
  int64_t dim = getDim();
  AlgebraValue input = algebra.cast(operands[0], compute);
  AlgebraValue largest =
      algebra.reduce(ReductionKind::Max, input, {dim}, true, compute);
  AlgebraValue shifted =
      algebra.map(MapFunction::Sub, {input, largest}, compute);
  AlgebraValue exponentials = algebra.map(MapFunction::Exp, {shifted}, compute);
  AlgebraValue sum =
      algebra.reduce(ReductionKind::Sum, exponentials, {dim}, true, compute);
  AlgebraValue output;
  if (getFunction() == RowFunction::Softmax)
    output = algebra.map(MapFunction::Div, {exponentials, sum}, compute);
  else
    output = algebra.map(
        MapFunction::Sub,
        {shifted, algebra.map(MapFunction::Log, {sum}, compute)}, compute);
  results.push_back(algebra.cast(output, type));
  return success();
}

bool RowwiseOp::isLinearIn(ArrayRef<bool> operands) {
  return operands[0] && getFunction() == RowFunction::CumulativeSum;
}

std::optional<Work> RowwiseOp::getWork(SymbolValues symbols) {
  // A softmax takes a maximum, a difference, an exponential (8), a sum and a
  // division.
  bool isSum = getFunction() == RowFunction::CumulativeSum;
  return getStreamingWork(*this, isSum ? 1 : 12, symbols);
}

Strides RowwiseOp::inferStrides(Adaptor, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size> resultSizes) {
  // The softmax kernels for CPU and CUDA treat strided operands differently.
  if (getDensity(operandShapes[0]) == Density::Dense)
    return getContiguousStrides(resultSizes);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// Checks the weights of a norm over the last `dims` dims. All results have the
/// shape of the input.
static LogicalResult inferNorm(ShapeInference &inference, Value input,
                               int64_t dims, ArrayRef<Value> weights) {
  RankedTensorType type = getTensor(input);
  Sizes sizes = inference.getSizes(input);
  if (dims < 1 || dims > type.getRank())
    return inference.emitOpError()
           << "normalizes " << dims << " dims of a tensor of rank "
           << type.getRank();
  for (Value weight : weights)
    if (weight && failed(inference.verifySizes(
                      "weight", weight, ArrayRef(sizes).take_back(dims))))
      return failure();
  size_t numResults = std::max<size_t>(inference.getNumStated(), 1);
  for (size_t result = 0; result < numResults; ++result) {
    Type elementType =
        inference.getStatedElementType(type.getElementType(), result);
    if (failed(inference.setResult(elementType, sizes, result)))
      return failure();
  }
  return success();
}

static DimensionRule getNormRule(Operation *op, int64_t dims,
                                 ArrayRef<unsigned> likeInput) {
  int64_t rank = cast<RankedTensorType>(op->getResult(0).getType()).getRank();
  return getRowRule(
      op, [&](unsigned dim) { return int64_t(dim) + dims >= rank; }, likeInput);
}

/// PyTorch's fused norm kernels write a dense result; the composite
/// rms_norm ends in a multiplication and keeps a dense operand's layout.
static Strides getNormStrides(const StridedShape &input,
                              ArrayRef<Size> resultSizes) {
  if (getDensity(input) == Density::Dense)
    return getContiguousStrides(resultSizes);
  return std::nullopt;
}

/// Computes x * rsqrt(mean(x^2) + epsilon) over the last `dims` dims.
static AlgebraValue evaluateRms(Algebra &algebra, const AlgebraValue &input,
                                int64_t dims, double epsilon, Type compute) {
  SmallVector<int64_t> normalized;
  for (int64_t dim = input->getRank() - dims; dim < input->getRank(); ++dim)
    normalized.push_back(dim);
  AlgebraValue square = algebra.map(MapFunction::Mul, {input, input}, compute);
  AlgebraValue mean =
      algebra.reduce(ReductionKind::Avg, square, normalized, true, compute);
  AlgebraValue shifted = algebra.map(
      MapFunction::Add, {mean, algebra.scalar(epsilon, compute)}, compute);
  AlgebraValue inverse = algebra.map(MapFunction::Rsqrt, {shifted}, compute);
  return algebra.map(MapFunction::Mul, {input, inverse}, compute);
}

double commute::tp::getDefaultEpsilon(Type type) {
  int mantissa = cast<FloatType>(type).getFPMantissaWidth();
  return std::ldexp(1.0, 1 - mantissa);
}

LogicalResult RmsNormOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inferNorm(inference, op.getInput(), op.getNormalizedDims(),
                   {op.getWeight()});
}

DimensionRule RmsNormOp::getDimensionRule() {
  return getNormRule(*this, getNormalizedDims(), {0});
}

LogicalResult RmsNormOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  Type compute = Algebra::getComputeType(type);
  double epsilon = getEpsilon() ? getEpsilon()->convertToDouble()
                                : getDefaultEpsilon(compute);
  AlgebraValue output = evaluateRms(algebra, algebra.cast(operands[0], compute),
                                    getNormalizedDims(), epsilon, compute);
  if (getWeight())
    output = algebra.map(MapFunction::Mul,
                         {output, algebra.cast(operands[1], compute)}, compute);
  results.push_back(algebra.cast(output, type));
  return success();
}

std::optional<Work> RmsNormOp::getWork(SymbolValues symbols) {
  // Square, sum, product with the inverse root, product with the weight.
  return getStreamingWork(*this, 4, symbols);
}

Strides RmsNormOp::inferStrides(Adaptor, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size> resultSizes) {
  return getNormStrides(operandShapes[0], resultSizes);
}

LogicalResult LayerNormOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inferNorm(inference, op.getInput(), op.getNormalizedDims(),
                   {op.getWeight(), op.getBias()});
}

DimensionRule LayerNormOp::getDimensionRule() {
  return getNormRule(*this, getNormalizedDims(), {0});
}

LogicalResult LayerNormOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  Type compute = Algebra::getComputeType(type);
  AlgebraValue input = algebra.cast(operands[0], compute);
  SmallVector<int64_t> normalized;
  for (int64_t dim = input->getRank() - int64_t(getNormalizedDims());
       dim < input->getRank(); ++dim)
    normalized.push_back(dim);
  AlgebraValue mean =
      algebra.reduce(ReductionKind::Avg, input, normalized, true, compute);
  AlgebraValue centered = algebra.map(MapFunction::Sub, {input, mean}, compute);
  // The variance is the mean square of the centered values.
  AlgebraValue output = evaluateRms(algebra, centered, getNormalizedDims(),
                                    getEpsilon().convertToDouble(), compute);
  unsigned next = 1;
  if (getWeight())
    output =
        algebra.map(MapFunction::Mul,
                    {output, algebra.cast(operands[next++], compute)}, compute);
  if (getBias())
    output =
        algebra.map(MapFunction::Add,
                    {output, algebra.cast(operands[next], compute)}, compute);
  results.push_back(algebra.cast(output, type));
  return success();
}

std::optional<Work> LayerNormOp::getWork(SymbolValues symbols) {
  // Mean, difference, square, sum, product, weight, bias.
  return getStreamingWork(*this, 7, symbols);
}

Strides LayerNormOp::inferStrides(Adaptor, unsigned,
                                  ArrayRef<StridedShape> operandShapes,
                                  ArrayRef<Size> resultSizes) {
  return getNormStrides(operandShapes[0], resultSizes);
}

LogicalResult AddRmsNormOp::inferShapes(Adaptor op, ShapeInference &inference) {
  if (failed(inference.verifySizes("residual", op.getResidual(),
                                   inference.getSizes(op.getInput()))))
    return failure();
  return inferNorm(inference, op.getInput(), 1, {op.getWeight()});
}

DimensionRule AddRmsNormOp::getDimensionRule() {
  return getNormRule(*this, 1, {0, 1});
}

LogicalResult AddRmsNormOp::evaluate(Algebra &algebra,
                                     ArrayRef<AlgebraValue> operands,
                                     SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getNormalized()).getElementType();
  Type compute = Algebra::getComputeType(type);
  AlgebraValue sum =
      algebra.map(MapFunction::Add, {operands[0], operands[1]}, type);
  AlgebraValue output = evaluateRms(algebra, algebra.cast(sum, compute), 1,
                                    getEpsilon().convertToDouble(), compute);
  output = algebra.map(MapFunction::Mul,
                       {output, algebra.cast(operands[2], compute)}, compute);
  results.push_back(algebra.cast(output, type));
  if (getSum())
    results.push_back(sum);
  return success();
}

std::optional<Work> AddRmsNormOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 5, symbols);
}

Strides AddRmsNormOp::inferStrides(Adaptor, unsigned resultIndex,
                                   ArrayRef<StridedShape> operandShapes,
                                   ArrayRef<Size> resultSizes) {
  if (resultIndex == 1)
    return getElementwiseStrides(operandShapes.take_front(2), resultSizes);
  return getNormStrides(operandShapes[0], resultSizes);
}
