//===- ReindexOps.cpp - reshape, permute, slice, concat, ... ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"

#include <numeric>

using namespace mlir;
using namespace commute::tp;

IndexAlgebra::~IndexAlgebra() = default;

/// Views move nothing.
static std::optional<Work> getViewWork() { return Work(); }

/// Returns true if an op returns its operand: sizes and layout are equal. Sizes
/// that no layout states are not known to be equal.
static bool isIdentity(Value input, Value result) {
  RankedTensorType type = getTensor(input);
  return type == result.getType() &&
         (type.hasStaticShape() || type.getEncoding());
}

//===----------------------------------------------------------------------===//
// tp.reshape
//===----------------------------------------------------------------------===//

LogicalResult ReshapeOp::inferShapes(Adaptor op, ShapeInference &inference) {
  std::optional<Sizes> sizes = inference.getStatedSizes();
  if (!sizes)
    return inference.emitOpError("the sizes of the result must be stated");
  if (failed(inference.setResult(getTensor(op.getInput()).getElementType(),
                                 *sizes)))
    return failure();
  Size before = multiply(inference.getSizes(op.getInput()));
  Size after = multiply(*sizes);
  if (!areDifferent(before, after))
    return success();
  return inference.emitOpError()
         << "operand has " << inference.toText(before)
         << " elements, but the result has " << inference.toText(after);
}

static int64_t getExtent(const Size &size) {
  return getConstant(size).value_or(ShapedType::kDynamic);
}

DimensionRule ReshapeOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  SymbolSpace space(getContext());
  Sizes before = space.getSizes(getTensor(getInput()));
  Sizes after = space.getSizes(getTensor(getResult()));

  // Walk both shapes from the major dim. `remaining` is the part of the current
  // dim that factors do not cover yet. The next factor is the smaller of the
  // two if it divides the larger one.
  size_t i = 0, j = 0;
  Size remainingBefore, remainingAfter;
  auto takeNext = [](ArrayRef<Size> sizes, size_t &index, Size &remaining) {
    while (!remaining && index < sizes.size() && isConstant(sizes[index], 1))
      ++index;
    if (!remaining && index < sizes.size())
      remaining = sizes[index];
    return index < sizes.size();
  };
  auto advance = [](size_t &index, Size &remaining, const Size &quotient) {
    remaining = quotient;
    if (isConstant(quotient, 1)) {
      remaining = {};
      ++index;
    }
  };
  while (true) {
    bool hasBefore = takeNext(before, i, remainingBefore);
    bool hasAfter = takeNext(after, j, remainingAfter);
    if (!hasBefore || !hasAfter || !remainingBefore || !remainingAfter)
      break;
    Size common;
    if (Size quotient = divideExactly(remainingBefore, remainingAfter)) {
      common = remainingAfter;
      unsigned factor = builder.addParallel(getExtent(common));
      builder.mapOperand(0, i, factor);
      builder.mapResult(0, j, factor);
      advance(i, remainingBefore, quotient);
      advance(j, remainingAfter, 1);
    } else if (Size quotient = divideExactly(remainingAfter, remainingBefore)) {
      unsigned factor = builder.addParallel(getExtent(remainingBefore));
      builder.mapOperand(0, i, factor);
      builder.mapResult(0, j, factor);
      advance(j, remainingAfter, quotient);
      advance(i, remainingBefore, 1);
    } else {
      break;
    }
  }
  // The remaining dims have no common factors, so they are whole.
  auto addRest = [&](ArrayRef<Size> sizes, size_t index, Size remaining,
                     auto map) {
    for (; index < sizes.size(); ++index) {
      Size size = remaining ? remaining : sizes[index];
      remaining = {};
      if (!isConstant(size, 1))
        map(index, builder.addWhole(getExtent(size)));
    }
  };
  addRest(before, i, remainingBefore, [&](size_t dim, unsigned factor) {
    builder.mapOperand(0, dim, factor);
  });
  addRest(after, j, remainingAfter, [&](size_t dim, unsigned factor) {
    builder.mapResult(0, dim, factor);
  });
  return std::move(builder).build();
}

LogicalResult ReshapeOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  results.push_back(algebra.reshape(operands[0], *sizes));
  return success();
}

std::optional<Work> ReshapeOp::getWork(SymbolValues symbols) {
  // The result is a copy if the operand's strides do not allow a view.
  if (isStaticDense(getTensor(getInput())))
    return getViewWork();
  SymbolSpace space(getContext());
  StridedShape input = space.getShape(getTensor(getInput()));
  Sizes sizes = space.getSizes(getTensor(getResult()));
  bool isView = getDensity(input) == Density::Dense ||
                ArrayRef(input.sizes) == ArrayRef(sizes);
  if (!isView) {
    Strides reshaped = getReshapedStrides(input, sizes);
    isView = reshaped && getContiguousStrides(sizes) &&
             *reshaped != *getContiguousStrides(sizes);
  }
  return isView ? getViewWork() : getStreamingWork(*this, 0, symbols);
}

Strides ReshapeOp::inferStrides(Adaptor, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size> resultSizes) {
  return getReshapedStrides(operandShapes[0], resultSizes);
}

bool ReshapeOp::mayShareMemory() { return true; }

IndexAlgebra::Map ReshapeOp::reindex(IndexAlgebra &algebra,
                                     ArrayRef<IndexAlgebra::Map> operands,
                                     ArrayRef<Size> sizes) {
  return algebra.reshape(operands[0], sizes);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  return isIdentity(getInput(), getResult()) ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// tp.permute
//===----------------------------------------------------------------------===//

LogicalResult PermuteOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  SmallVector<int64_t> sorted(op.getPermutation());
  llvm::sort(sorted);
  if (static_cast<int64_t>(sorted.size()) != input.getRank() ||
      !llvm::equal(sorted, llvm::seq<int64_t>(0, input.getRank())))
    return inference.emitOpError("permutation must list every dim of the "
                                 "operand exactly once");
  Sizes before = inference.getSizes(op.getInput()), sizes;
  for (int64_t dim : op.getPermutation())
    sizes.push_back(before[dim]);
  return inference.setResult(input.getElementType(), sizes);
}

DimensionRule PermuteOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  for (auto [resultDim, dim] : llvm::enumerate(getPermutation())) {
    unsigned factor =
        builder.addParallel(getTensor(getInput()).getDimSize(dim));
    builder.mapOperand(0, dim, factor);
    builder.mapResult(0, resultDim, factor);
  }
  return std::move(builder).build();
}

LogicalResult PermuteOp::evaluate(Algebra &algebra,
                                  ArrayRef<AlgebraValue> operands,
                                  SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.permute(operands[0], getPermutation()));
  return success();
}

std::optional<Work> PermuteOp::getWork(SymbolValues) { return getViewWork(); }

Strides PermuteOp::inferStrides(Adaptor op, unsigned,
                                ArrayRef<StridedShape> operandShapes,
                                ArrayRef<Size>) {
  if (!operandShapes[0].strides)
    return std::nullopt;
  SmallVector<Size, 4> strides;
  for (int64_t dim : op.getPermutation())
    strides.push_back((*operandShapes[0].strides)[dim]);
  return strides;
}

bool PermuteOp::mayShareMemory() { return true; }

IndexAlgebra::Map PermuteOp::reindex(IndexAlgebra &algebra,
                                     ArrayRef<IndexAlgebra::Map> operands,
                                     ArrayRef<Size>) {
  return algebra.permute(operands[0], getPermutation());
}

OpFoldResult PermuteOp::fold(FoldAdaptor) {
  bool keepsOrder = llvm::is_sorted(getPermutation());
  return keepsOrder && isIdentity(getInput(), getResult()) ? getInput()
                                                           : Value();
}

//===----------------------------------------------------------------------===//
// tp.slice
//===----------------------------------------------------------------------===//

LogicalResult SliceOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType input = getTensor(op.getInput());
  int64_t dim = op.getDim(), start = op.getStart(), step = op.getStep();
  if (failed(inference.verifyDim("dim", dim, input.getRank())))
    return failure();
  if (start < 0 || step < 1)
    return inference.emitOpError(
        "start must not be negative, and step must be at least 1");
  if (op.getBlocks() && step != 1)
    return inference.emitOpError("step must be 1 when `blocks` is set");
  std::optional<Sizes> stated = inference.getStatedSizes();
  if (!stated)
    return inference.emitOpError("the size of the result must be stated");
  Sizes sizes = inference.getSizes(op.getInput());
  std::optional<int64_t> available = getConstant(sizes[dim]);
  // Only the result type states the number of elements.
  if (stated->size() == sizes.size())
    sizes[dim] = (*stated)[dim];
  if (failed(inference.setResult(input.getElementType(), sizes)))
    return failure();
  std::optional<int64_t> size = getConstant(sizes[dim]);
  if (!size || !available || *size == 0)
    return success();
  int64_t first, last;
  if (llvm::MulOverflow<int64_t>(start, op.getBlocks() ? *size : 1, first) ||
      llvm::MulOverflow<int64_t>(*size - 1, step, last) ||
      llvm::AddOverflow<int64_t>(last, first, last) || last >= *available)
    return inference.emitOpError()
           << "takes " << *size << " elements starting at " << start
           << " with step " << step << ", but dim " << dim << " has size "
           << *available;
  return success();
}

void SliceOp::build(OpBuilder &builder, OperationState &state, Value input,
                    SymbolSpace &symbols, uint64_t dim, uint64_t start,
                    uint64_t step, const Size &size, bool blocks) {
  state.addOperands(input);
  auto &properties = state.getOrAddProperties<Properties>();
  properties.dim = builder.getI64IntegerAttr(dim);
  properties.start = builder.getI64IntegerAttr(start);
  properties.step = builder.getI64IntegerAttr(step);
  properties.blocks = blocks ? builder.getUnitAttr() : UnitAttr();
  Sizes sizes = symbols.getSizes(getTensor(input));
  sizes[dim] = size;
  addInferredTypes<SliceOp>(state, symbols, {{{}, sizes}});
}

DimensionRule SliceOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType input = getTensor(getInput());
  RankedTensorType result = getTensor(getResult());
  auto sliced = static_cast<int64_t>(getDim());
  for (int64_t dim = 0; dim < input.getRank(); ++dim) {
    bool isPart =
        dim == sliced && (input.isDynamicDim(dim) ||
                          input.getDimSize(dim) != result.getDimSize(dim));
    if (!isPart) {
      unsigned factor = builder.addParallel(input.getDimSize(dim));
      builder.mapOperand(0, dim, factor);
      builder.mapResult(0, dim, factor);
      continue;
    }
    // Without a step, start, size and extent count in units.
    unsigned unit =
        getStep() == 1
            ? builder.addWhole(getUnitSize(
                  {input.getDimSize(dim), result.getDimSize(dim),
                   getBlocks() ? 0 : static_cast<int64_t>(getStart())}))
            : builder.addFixed(1);
    builder.mapOperandUnits(0, dim, unit);
    builder.mapResultUnits(0, dim, unit);
  }
  return std::move(builder).build();
}

void SliceOp::scaleAttributes(const DimensionRule &rule,
                              ArrayRef<int64_t> newSizes) {
  // The unit is the minor factor of the sliced dim.
  const DimensionRule::DimFactors &dim = rule.results[0][getDim()];
  if (dim.empty() || getStart() == 0 || getBlocks())
    return;
  int64_t unit = rule.factors[dim.back()].size;
  if (unit > 0)
    setStart(getStart() / unit * newSizes[dim.back()]);
}

std::optional<Work> SliceOp::getWork(SymbolValues) { return getViewWork(); }

LogicalResult SliceOp::evaluate(Algebra &algebra,
                                ArrayRef<AlgebraValue> operands,
                                SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  // The verifier cannot check symbolic sizes, so check their values here.
  int64_t size = (*sizes)[getDim()], start, last;
  int64_t available = operands[0]->getSizes()[getDim()];
  if (llvm::MulOverflow<int64_t>(getStart(), getBlocks() ? size : 1, start) ||
      llvm::MulOverflow<int64_t>(size, getStep(), last) ||
      llvm::AddOverflow<int64_t>(last, start, last) ||
      (size > 0 && last - static_cast<int64_t>(getStep()) >= available))
    return emitError() << "takes " << size << " elements starting at "
                       << (getBlocks() ? "block " : "") << getStart()
                       << " with step " << getStep() << ", but dim " << getDim()
                       << " has size " << available;
  results.push_back(algebra.slice(operands[0], getDim(), size > 0 ? start : 0,
                                  getStep(), size));
  return success();
}

Strides SliceOp::inferStrides(Adaptor op, unsigned,
                              ArrayRef<StridedShape> operandShapes,
                              ArrayRef<Size>) {
  Strides strides = operandShapes[0].strides;
  if (strides) {
    Size &stride = (*strides)[op.getDim()];
    stride = multiply(stride, static_cast<int64_t>(op.getStep()));
    if (!stride)
      return std::nullopt;
  }
  return strides;
}

bool SliceOp::mayShareMemory() { return true; }

IndexAlgebra::Map SliceOp::reindex(IndexAlgebra &algebra,
                                   ArrayRef<IndexAlgebra::Map> operands,
                                   ArrayRef<Size> sizes) {
  auto start = static_cast<int64_t>(getStart());
  const Size &size = sizes[getDim()];
  return algebra.slice(operands[0], getDim(),
                       getBlocks() ? multiply(start, size) : Size(start),
                       getStep(), size);
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  bool isWhole = getStart() == 0 && getStep() == 1;
  return isWhole && isIdentity(getInput(), getResult()) ? getInput() : Value();
}

//===----------------------------------------------------------------------===//
// tp.concat
//===----------------------------------------------------------------------===//

LogicalResult ConcatOp::inferShapes(Adaptor op, ShapeInference &inference) {
  if (op.getInputs().empty())
    return inference.emitOpError("must have at least one operand");
  RankedTensorType first = getTensor(op.getInputs().front());
  int64_t dim = op.getDim();
  if (failed(inference.verifyDim("dim", dim, first.getRank())))
    return failure();
  Sizes sizes = inference.getSizes(op.getInputs().front());
  Size total = 0;
  for (Value input : op.getInputs()) {
    if (getTensor(input).getRank() != first.getRank())
      return inference.emitOpError(
          "operands must have the same number of dims");
    Size size = inference.getSizes(input)[dim];
    total = add(total, size);
    sizes[dim] = size;
    if (failed(inference.verifySizes("operand", input, sizes)))
      return failure();
  }
  sizes[dim] = total;
  return inference.setResult(
      inference.getStatedElementType(first.getElementType()), sizes);
}

DimensionRule ConcatOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType result = getTensor(getResult());
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    if (dim != static_cast<int64_t>(getDim())) {
      unsigned factor = builder.addParallel(result.getDimSize(dim));
      for (unsigned operand = 0; operand < getNumOperands(); ++operand)
        builder.mapOperand(operand, dim, factor);
      builder.mapResult(0, dim, factor);
      continue;
    }
    SmallVector<int64_t> sizes;
    for (Value input : getInputs())
      sizes.push_back(getTensor(input).getDimSize(dim));
    unsigned unit = builder.addWhole(getUnitSize(sizes));
    for (unsigned operand = 0; operand < getNumOperands(); ++operand)
      builder.mapOperandUnits(operand, dim, unit);
    builder.mapResultUnits(0, dim, unit);
  }
  return std::move(builder).build();
}

bool ConcatOp::isLinearIn(ArrayRef<bool> operands) {
  return llvm::all_of(operands, [](bool isSummand) { return isSummand; });
}

std::optional<Work> ConcatOp::getWork(SymbolValues symbols) {
  return getStreamingWork(*this, 0, symbols);
}

LogicalResult ConcatOp::evaluate(Algebra &algebra,
                                 ArrayRef<AlgebraValue> operands,
                                 SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(algebra.concat(operands, getDim()));
  return success();
}

Strides ConcatOp::inferStrides(Adaptor, unsigned,
                               ArrayRef<StridedShape> operandShapes,
                               ArrayRef<Size> resultSizes) {
  // cat allocates row-major memory unless its operands look like channels-last
  // images, which is possible only for tensors of rank 4 and 5. Because of the
  // stride of a channel dim of size 1, a dense operand can be both, so require
  // the exact strides of a row-major tensor.
  bool mayBeChannelsLast = resultSizes.size() == 4 || resultSizes.size() == 5;
  bool anyStrided = llvm::any_of(operandShapes, [](const StridedShape &shape) {
    return !shape.strides || shape.strides != getContiguousStrides(shape.sizes);
  });
  if (mayBeChannelsLast && anyStrided)
    return std::nullopt;
  return getContiguousStrides(resultSizes);
}

IndexAlgebra::Map ConcatOp::reindex(IndexAlgebra &algebra,
                                    ArrayRef<IndexAlgebra::Map> operands,
                                    ArrayRef<Size>) {
  return algebra.concat(operands, getDim());
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  if (getInputs().size() == 1 && isIdentity(getInputs()[0], getResult()))
    return getInputs()[0];
  return {};
}

//===----------------------------------------------------------------------===//
// tp.broadcast
//===----------------------------------------------------------------------===//

LogicalResult BroadcastOp::inferShapes(Adaptor op, ShapeInference &inference) {
  std::optional<Sizes> sizes = inference.getStatedSizes();
  if (!sizes)
    return inference.emitOpError("the sizes of the result must be stated");
  if (failed(inference.setResult(getTensor(op.getInput()).getElementType(),
                                 *sizes)))
    return failure();
  return inference.verifyBroadcastsTo("operand", op.getInput(), *sizes);
}

DimensionRule BroadcastOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  builder.addPointwise();
  return std::move(builder).build();
}

LogicalResult BroadcastOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<SmallVector<int64_t>> sizes = getResultSizes(*this, algebra);
  if (failed(sizes))
    return failure();
  results.push_back(algebra.broadcast(operands[0], *sizes));
  return success();
}

std::optional<Work> BroadcastOp::getWork(SymbolValues) { return getViewWork(); }

Strides BroadcastOp::inferStrides(Adaptor, unsigned,
                                  ArrayRef<StridedShape> operandShapes,
                                  ArrayRef<Size> resultSizes) {
  const StridedShape &input = operandShapes[0];
  if (!input.strides)
    return std::nullopt;
  // at::inferExpandGeometry: repeated dims have stride 0; a new dim of size 1
  // gets the stride that it would have in a dense tensor.
  size_t offset = resultSizes.size() - input.sizes.size();
  SmallVector<Size, 4> strides(resultSizes.size());
  for (size_t dim = resultSizes.size(); dim-- > 0;) {
    Size size = dim >= offset ? input.sizes[dim - offset] : 1;
    Size stride;
    if (dim >= offset)
      stride = (*input.strides)[dim - offset];
    else if (dim + 1 == resultSizes.size())
      stride = 1;
    else
      stride = multiply(resultSizes[dim + 1], strides[dim + 1]);
    if (!size || !resultSizes[dim] || !stride)
      return std::nullopt;
    bool isRepeated = isConstant(size, 1) && !isConstant(resultSizes[dim], 1);
    strides[dim] = isRepeated ? 0 : stride;
  }
  return strides;
}

bool BroadcastOp::mayShareMemory() { return true; }

IndexAlgebra::Map BroadcastOp::reindex(IndexAlgebra &algebra,
                                       ArrayRef<IndexAlgebra::Map> operands,
                                       ArrayRef<Size> sizes) {
  return algebra.broadcast(operands[0], sizes);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return isIdentity(getInput(), getResult()) ? getInput() : Value();
}
