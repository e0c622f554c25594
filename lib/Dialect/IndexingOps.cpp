//===- IndexingOps.cpp - look-ups, sorting, gather and scatter --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::tp;

static LogicalResult verifyIndices(ShapeInference &inference, Value indices) {
  Type element = getTensor(indices).getElementType();
  if (isa<IntegerType>(element) && !element.isInteger(1))
    return success();
  return inference.emitOpError()
         << "indices have element type " << element << ", expected integers";
}

/// Checks that `value` has the rank and, along all dims but `dim`, the sizes of
/// `expected`.
static LogicalResult verifySizesBeside(ShapeInference &inference,
                                       StringRef name, Value value,
                                       Value expected, int64_t dim) {
  int64_t rank = getTensor(value).getRank();
  Sizes sizes = inference.getSizes(expected);
  if (rank != static_cast<int64_t>(sizes.size()))
    return inference.emitOpError()
           << name << " has rank " << rank << ", expected " << sizes.size();
  sizes[dim] = inference.getSizes(value)[dim];
  return inference.verifySizes(name, value, sizes);
}

/// Returns the total number of bytes of several values, or nullopt for an
/// unknown size.
static std::optional<int64_t> getTotalBytes(ValueRange values,
                                            SymbolValues symbols) {
  int64_t total = 0;
  for (Value value : values) {
    std::optional<int64_t> bytes = getNumBytes(value.getType(), symbols);
    if (!bytes || llvm::AddOverflow(total, *bytes, total))
      return std::nullopt;
  }
  return total;
}

static Strides getDenseStrides(ArrayRef<StridedShape> operandShapes,
                               ArrayRef<Size> resultSizes) {
  for (const StridedShape &shape : operandShapes)
    if (getDensity(shape) != Density::Dense)
      return std::nullopt;
  return getContiguousStrides(resultSizes);
}

//===----------------------------------------------------------------------===//
// tp.take
//===----------------------------------------------------------------------===//

LogicalResult TakeOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType table = getTensor(op.getTable());
  int64_t dim = op.getDim();
  if (failed(inference.verifyDim("dim", dim, table.getRank())) ||
      failed(verifyIndices(inference, op.getIndices())))
    return failure();
  Sizes sizes = inference.getSizes(op.getTable());
  Sizes indices = inference.getSizes(op.getIndices());
  sizes.erase(sizes.begin() + dim);
  sizes.insert(sizes.begin() + dim, indices.begin(), indices.end());
  return inference.setResult(table.getElementType(), sizes);
}

DimensionRule TakeOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType table = getTensor(getTable());
  RankedTensorType indices = getTensor(getIndices());
  int64_t dim = getDim();
  for (int64_t tableDim = 0; tableDim < table.getRank(); ++tableDim) {
    if (tableDim == dim) {
      // The dim is whole, because an index may refer to any row of the table.
      builder.mapOperand(0, dim, builder.addWhole(table.getDimSize(dim)));
      for (int64_t indexDim = 0; indexDim < indices.getRank(); ++indexDim) {
        unsigned factor = builder.addParallel(indices.getDimSize(indexDim));
        builder.mapOperand(1, indexDim, factor);
        builder.mapResult(0, dim + indexDim, factor);
      }
      continue;
    }
    unsigned factor = builder.addParallel(table.getDimSize(tableDim));
    builder.mapOperand(0, tableDim, factor);
    int64_t shift = tableDim > dim ? indices.getRank() - 1 : 0;
    builder.mapResult(0, tableDim + shift, factor);
  }
  return std::move(builder).build();
}

LogicalResult TakeOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(
      algebra.take(operands[0], operands[1], getDim(), getWrapsNegative()));
  return success();
}

bool TakeOp::isLinearIn(ArrayRef<bool> operands) {
  return operands[0] && !operands[1];
}

std::optional<Work> TakeOp::getWork(SymbolValues symbols) {
  // Only the selected rows are read.
  std::optional<int64_t> bytes = getNumBytes(getResult().getType(), symbols);
  std::optional<int64_t> indices = getNumBytes(getIndices().getType(), symbols);
  if (!bytes || !indices)
    return std::nullopt;
  Work work;
  if (llvm::AddOverflow(*bytes, *indices, work.bytesRead))
    return std::nullopt;
  work.bytesWritten = *bytes;
  return work;
}

Strides TakeOp::inferStrides(Adaptor, unsigned,
                             ArrayRef<StridedShape> operandShapes,
                             ArrayRef<Size> resultSizes) {
  if (getDensity(operandShapes[0]) == Density::Dense &&
      getDensity(operandShapes[1]) == Density::Dense)
    return getContiguousStrides(resultSizes);
  return std::nullopt;
}

Value TakeOp::getIndexed() { return getTable(); }
unsigned TakeOp::getIndexedDim() { return getDim(); }
Value TakeOp::getIndexValues() { return getIndices(); }
bool TakeOp::wrapsNegativeIndices() { return getWrapsNegative(); }

//===----------------------------------------------------------------------===//
// tp.take_along
//===----------------------------------------------------------------------===//

LogicalResult TakeAlongOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType table = getTensor(op.getTable());
  int64_t dim = op.getDim();
  if (failed(inference.verifyDim("dim", dim, table.getRank())) ||
      failed(verifyIndices(inference, op.getIndices())) ||
      failed(verifySizesBeside(inference, "indices", op.getIndices(),
                               op.getTable(), dim)))
    return failure();
  return inference.setResult(table.getElementType(),
                             inference.getSizes(op.getIndices()));
}

DimensionRule TakeAlongOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType table = getTensor(getTable());
  RankedTensorType indices = getTensor(getIndices());
  for (int64_t dim = 0; dim < table.getRank(); ++dim) {
    unsigned factor = builder.addParallel(indices.getDimSize(dim));
    builder.mapOperand(1, dim, factor);
    builder.mapResult(0, dim, factor);
    // The dim is whole, because an index may refer to any element of the table.
    bool isIndexed = dim == static_cast<int64_t>(getDim());
    builder.mapOperand(
        0, dim, isIndexed ? builder.addWhole(table.getDimSize(dim)) : factor);
  }
  return std::move(builder).build();
}

LogicalResult TakeAlongOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.takeAlong(operands[0], operands[1], getDim()));
  return success();
}

std::optional<Work> TakeAlongOp::getWork(SymbolValues symbols) {
  // Only the selected elements are read.
  std::optional<int64_t> bytes = getTotalBytes(getResult(), symbols);
  std::optional<int64_t> indices = getTotalBytes(getIndices(), symbols);
  Work work;
  if (!bytes || !indices || llvm::AddOverflow(*bytes, *indices, work.bytesRead))
    return std::nullopt;
  work.bytesWritten = *bytes;
  return work;
}

Strides TakeAlongOp::inferStrides(Adaptor, unsigned,
                                  ArrayRef<StridedShape> operandShapes,
                                  ArrayRef<Size> resultSizes) {
  return getDenseStrides(operandShapes, resultSizes);
}

Value TakeAlongOp::getIndexed() { return getTable(); }
unsigned TakeAlongOp::getIndexedDim() { return getDim(); }
Value TakeAlongOp::getIndexValues() { return getIndices(); }
bool TakeAlongOp::wrapsNegativeIndices() { return false; }

//===----------------------------------------------------------------------===//
// tp.scatter
//===----------------------------------------------------------------------===//

LogicalResult ScatterOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  Type updates = getTensor(op.getUpdates()).getElementType();
  int64_t dim = op.getDim();
  if (failed(inference.verifyDim("dim", dim, input.getRank())) ||
      failed(verifyIndices(inference, op.getIndices())) ||
      failed(verifySizesBeside(inference, "indices", op.getIndices(),
                               op.getInput(), dim)) ||
      failed(inference.verifySizes("updates", op.getUpdates(),
                                   inference.getSizes(op.getIndices()))))
    return failure();
  if (updates != input.getElementType())
    return inference.emitOpError() << "updates have element type " << updates
                                   << ", expected " << input.getElementType();
  return inference.setResultLike(op.getInput());
}

DimensionRule ScatterOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType input = getTensor(getInput());
  RankedTensorType indices = getTensor(getIndices());
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    bool isIndexed = dim == static_cast<int64_t>(getDim());
    int64_t size = input.getDimSize(dim);
    unsigned factor =
        isIndexed ? builder.addWhole(size) : builder.addParallel(size);
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, dim, factor);
    unsigned updated = factor;
    // Accumulation may be split into parts. Replacement may not: which update
    // comes last depends on all of them.
    if (isIndexed && getAccumulate())
      updated = builder.addFactor(Factor::Kind::Reduction,
                                  indices.getDimSize(dim), ReductionKind::Sum);
    else if (isIndexed)
      updated = builder.addFixed(indices.getDimSize(dim));
    builder.mapOperand(1, dim, updated);
    builder.mapOperand(2, dim, updated);
  }
  return std::move(builder).build();
}

LogicalResult ScatterOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.scatter(operands[0], operands[1], operands[2],
                                    getDim(), getAccumulate(),
                                    getWrapsNegative()));
  return success();
}

std::optional<Work> ScatterOp::getWork(SymbolValues symbols) {
  // The input is copied, and then the updated elements are written again.
  std::optional<int64_t> read = getTotalBytes(getOperands(), symbols);
  std::optional<int64_t> written =
      getTotalBytes({getResult(), getUpdates()}, symbols);
  if (!read || !written)
    return std::nullopt;
  Work work;
  work.bytesRead = *read;
  work.bytesWritten = *written;
  return work;
}

Strides ScatterOp::inferStrides(Adaptor, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size> resultSizes) {
  return getDenseStrides(operandShapes.front(), resultSizes);
}

Value ScatterOp::getIndexed() { return getInput(); }
unsigned ScatterOp::getIndexedDim() { return getDim(); }
Value ScatterOp::getIndexValues() { return getIndices(); }
bool ScatterOp::wrapsNegativeIndices() { return getWrapsNegative(); }

//===----------------------------------------------------------------------===//
// tp.sort
//===----------------------------------------------------------------------===//

LogicalResult SortOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  Sizes sizes = inference.getSizes(op.getInput());
  if (failed(inference.verifyDim("dim", op.getDim(), input.getRank())))
    return failure();
  if (op.getUnordered() && !op.getAlgorithm())
    return inference.emitOpError(
        "leaves the order of its elements open, but names no algorithm");
  if (op.getFirst()) {
    auto count = static_cast<int64_t>(*op.getFirst());
    std::optional<int64_t> available = getConstant(sizes[op.getDim()]);
    if (count < 0)
      return inference.emitOpError()
             << "returns the first " << count << " elements of each row";
    if (available && count > *available)
      return inference.emitOpError()
             << "returns the first " << count << " elements of each row, but "
             << "dim " << op.getDim() << " has size " << *available;
    sizes[op.getDim()] = count;
  }
  if (failed(inference.setResult(input.getElementType(), sizes, 0, "values")))
    return failure();
  return inference.setResult(IntegerType::get(input.getContext(), 64), sizes, 1,
                             "order");
}

DimensionRule SortOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType input = getTensor(getInput());
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    // The order within a shard does not determine the order of the whole row.
    int64_t size = input.getDimSize(dim);
    unsigned factor = dim == static_cast<int64_t>(getDim())
                          ? builder.addFixed(size)
                          : builder.addParallel(size);
    builder.mapOperand(0, dim, factor);
    if (getFirst() && dim == static_cast<int64_t>(getDim()))
      factor = builder.addFixed(static_cast<int64_t>(*getFirst()));
    builder.mapResult(0, dim, factor);
    builder.mapResult(1, dim, factor);
  }
  return std::move(builder).build();
}

LogicalResult SortOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  SortOrder how;
  how.isDescending = getDescending();
  how.algorithm = getAlgorithm().value_or("");
  how.count = getFirst();
  how.isUnordered = getUnordered();
  AlgebraValue order = algebra.sortedOrder(
      operands[0], getDim(), how, getTensor(getOrder()).getElementType());
  results.push_back(algebra.takeAlong(operands[0], order, getDim()));
  results.push_back(order);
  return success();
}

std::optional<Work> SortOp::getWork(SymbolValues symbols) {
  // One pass over memory, and log2(size) comparisons for each element.
  std::optional<int64_t> size =
      evaluateSize(getTensor(getInput()), getDim(), symbols);
  if (!size)
    return std::nullopt;
  return getStreamingWork(
      *this, llvm::Log2_64_Ceil(std::max<int64_t>(*size, 1)), symbols);
}

Strides SortOp::inferStrides(Adaptor op, unsigned,
                             ArrayRef<StridedShape> operandShapes,
                             ArrayRef<Size> resultSizes) {
  // topk and argmax always return dense tensors.
  if (op.getFirst())
    return getContiguousStrides(resultSizes);
  return getDenseStrides(operandShapes, resultSizes);
}
