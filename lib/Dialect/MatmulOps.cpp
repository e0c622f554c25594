//===- MatmulOps.cpp - matrix products and attention ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/CheckedArithmetic.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// tp.matmul
//===----------------------------------------------------------------------===//

/// Positions of the rows (or columns) and of the contraction dim in an operand
/// of an op or its adaptor: the outer one of its matrix, then K.
template <typename Op>
static std::pair<int64_t, int64_t> getLhsDims(Op op) {
  int64_t rank = getTensor(op.getLhs()).getRank();
  return op.getTransposeLhs() ? std::pair(rank - 1, rank - 2)
                              : std::pair(rank - 2, rank - 1);
}

template <typename Op>
static std::pair<int64_t, int64_t> getRhsDims(Op op) {
  int64_t rank = getTensor(op.getRhs()).getRank();
  return op.getTransposeRhs() ? std::pair(rank - 2, rank - 1)
                              : std::pair(rank - 1, rank - 2);
}

LogicalResult MatmulOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType lhs = getTensor(op.getLhs());
  RankedTensorType rhs = getTensor(op.getRhs());
  if (lhs.getRank() < 2 || rhs.getRank() < 2)
    return inference.emitOpError("an operand has fewer than 2 dims");
  Sizes lhsSizes = inference.getSizes(op.getLhs());
  Sizes rhsSizes = inference.getSizes(op.getRhs());
  auto [rowDim, lhsInner] = getLhsDims(op);
  auto [columnDim, rhsInner] = getRhsDims(op);
  if (areDifferent(lhsSizes[lhsInner], rhsSizes[rhsInner]))
    return inference.emitOpError()
           << "contracts dim " << lhsInner << " of lhs (size "
           << lhs.getDimSize(lhsInner) << ") with dim " << rhsInner
           << " of rhs (size " << rhs.getDimSize(rhsInner) << ")";
  std::optional<Sizes> sizes = broadcastSizes(ArrayRef(lhsSizes).drop_back(2),
                                              ArrayRef(rhsSizes).drop_back(2));
  if (!sizes)
    return inference.emitOpError("batch dims cannot be broadcast to one shape");
  sizes->push_back(lhsSizes[rowDim]);
  sizes->push_back(rhsSizes[columnDim]);
  if (op.getBias() &&
      failed(inference.verifyBroadcastsTo("bias", op.getBias(), *sizes)))
    return failure();
  return inference.setResult(
      inference.getStatedElementType(lhs.getElementType()), *sizes);
}

DimensionRule MatmulOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  // Rows, columns and batch dims as in the result; the bias goes along.
  SmallVector<unsigned> likeResult;
  unsigned firstScale = 2;
  if (getBias())
    likeResult.push_back(firstScale++);
  builder.addPointwise(ArrayRef<unsigned>(likeResult));
  RankedTensorType result = getTensor(getResult());
  int64_t rank = result.getRank();
  auto mapBatchDims = [&](unsigned operand) {
    RankedTensorType type = getTensor(getOperand(operand));
    for (int64_t dim = 0; dim + 2 < type.getRank(); ++dim) {
      int64_t resultDim = rank - type.getRank() + dim;
      // A repeated batch dim of size 1 has no factor.
      if (type.getDimSize(dim) == 1 && result.getDimSize(resultDim) != 1)
        continue;
      builder.mapOperand(operand, dim, resultDim);
    }
  };
  auto [rowDim, lhsInner] = getLhsDims(*this);
  auto [columnDim, rhsInner] = getRhsDims(*this);
  mapBatchDims(0);
  mapBatchDims(1);
  builder.mapOperand(0, rowDim, rank - 2);
  builder.mapOperand(1, columnDim, rank - 1);
  unsigned inner = builder.addFactor(Factor::Kind::Reduction,
                                     getTensor(getLhs()).getDimSize(lhsInner),
                                     ReductionKind::Sum);
  builder.mapOperand(0, lhsInner, inner);
  builder.mapOperand(1, rhsInner, inner);
  // A scale with one element a row or column is cut with it.
  auto mapScale = [&](Value scale, unsigned operand, unsigned factor) {
    RankedTensorType type = getTensor(scale);
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) != 1 &&
          type.getDimSize(dim) == result.getDimSize(factor))
        builder.mapOperand(operand, dim, factor);
  };
  if (getLhsScale())
    mapScale(getLhsScale(), firstScale++, rank - 2);
  if (getRhsScale())
    mapScale(getRhsScale(), firstScale, rank - 1);
  return std::move(builder).build();
}

/// 2 * elements of `result` * `inner`.
static std::optional<int64_t> getProductFlops(RankedTensorType result,
                                              std::optional<int64_t> inner,
                                              SymbolValues symbols) {
  std::optional<int64_t> elements = evaluateNumElements(result, symbols);
  if (!elements || !inner)
    return std::nullopt;
  std::optional<int64_t> products = llvm::checkedMul(*elements, *inner);
  return products ? llvm::checkedMul<int64_t>(2, *products) : std::nullopt;
}

LogicalResult MatmulOp::evaluate(Algebra &algebra,
                                 ArrayRef<AlgebraValue> operands,
                                 SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  AlgebraValue lhs = operands[0];
  AlgebraValue rhs = operands[1];
  if (getTransposeLhs())
    lhs = algebra.transpose(lhs);
  if (getTransposeRhs())
    rhs = algebra.transpose(rhs);
  unsigned next = 2;
  AlgebraValue bias = getBias() ? operands[next++] : AlgebraValue();
  AlgebraValue lhsScale = getLhsScale() ? operands[next++] : AlgebraValue();
  AlgebraValue rhsScale = getRhsScale() ? operands[next] : AlgebraValue();
  results.push_back(algebra.linear(lhs, rhs, lhsScale, rhsScale, bias, type));
  return success();
}

bool MatmulOp::isLinearIn(ArrayRef<bool> operands) {
  // A bias belongs to one summand: it must be partial with the product.
  if (getBias() && !operands[2])
    return false;
  bool anyScale =
      llvm::is_contained(operands.drop_front(getBias() ? 3 : 2), true);
  return operands[0] != operands[1] && !anyScale;
}

bool MatmulOp::addsOperands(ArrayRef<bool> operands) {
  return getBias() && operands[2];
}

std::optional<Work> MatmulOp::getWork(SymbolValues symbols) {
  bool hasBias = bool(getBias());
  std::optional<Work> work = getStreamingWork(*this, hasBias, symbols);
  std::optional<int64_t> inner =
      evaluateSize(getTensor(getLhs()), getLhsDims(*this).second, symbols);
  std::optional<int64_t> flops =
      getProductFlops(getTensor(getResult()), inner, symbols);
  if (!work || !flops)
    return std::nullopt;
  work->matmulFlops = *flops;
  // A product is added to a matrix in place: PyTorch's addmm copies the matrix
  // into the result first, on CPUs (addmm_impl_cpu_) as on GPUs
  // (addmm_out_cuda_impl). A vector is added by the product's own kernel.
  if (hasBias && getTensor(getBias()).getRank() > 1) {
    std::optional<int64_t> bytes = getNumBytes(getBias().getType(), symbols);
    if (!bytes || llvm::AddOverflow(work->bytesRead, *bytes, work->bytesRead) ||
        llvm::AddOverflow(work->bytesWritten, *bytes, work->bytesWritten))
      return std::nullopt;
  }
  return work;
}

Strides MatmulOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                               ArrayRef<Size> resultSizes) {
  // mm, addmm, bmm, linear and matmul allocate their result dense, whatever
  // the operands' strides. matmul with batch dims on both sides folds or
  // expands into bmm and reshapes its dense result.
  return getContiguousStrides(resultSizes);
}

//===----------------------------------------------------------------------===//
// tp.attention
//===----------------------------------------------------------------------===//

LogicalResult AttentionOp::inferShapes(Adaptor op, ShapeInference &inference) {
  RankedTensorType query = getTensor(op.getQuery());
  RankedTensorType key = getTensor(op.getKey());
  RankedTensorType value = getTensor(op.getValue());
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() != rank || value.getRank() != rank)
    return inference.emitOpError(
        "query, key and value must have the same number of "
        "dims, at least 2");
  Sizes querySizes = inference.getSizes(op.getQuery());
  Sizes keySizes = inference.getSizes(op.getKey());
  Sizes valueSizes = inference.getSizes(op.getValue());
  if (areDifferent(querySizes[rank - 1], keySizes[rank - 1]))
    return inference.emitOpError("query and key differ in width (last dim)");
  if (areDifferent(keySizes[rank - 2], valueSizes[rank - 2]))
    return inference.emitOpError(
        "key and value differ in length (dim before the last)");
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    if (areDifferent(keySizes[dim], valueSizes[dim]))
      return inference.emitOpError() << "key and value differ in dim " << dim;
    bool isHeads = dim + 3 == rank;
    if (!(isHeads && op.getGroupedHeads())) {
      if (areDifferent(querySizes[dim], keySizes[dim]))
        return inference.emitOpError()
               << "query and key differ in dim " << dim
               << (isHeads ? "; several query heads may share a "
                             "key head only with grouped_heads"
                           : "");
      continue;
    }
    std::optional<int64_t> heads = getConstant(querySizes[dim]);
    std::optional<int64_t> keyHeads = getConstant(keySizes[dim]);
    if (heads && keyHeads && (*keyHeads == 0 || *heads % *keyHeads != 0))
      return inference.emitOpError() << *heads << " query heads cannot share "
                                     << *keyHeads << " key heads evenly";
  }
  Sizes sizes = querySizes;
  sizes[rank - 1] = valueSizes[rank - 1];
  if (op.getMask()) {
    Sizes scores = querySizes;
    scores[rank - 1] = keySizes[rank - 2];
    if (failed(inference.verifyBroadcastsTo("mask", op.getMask(), scores)))
      return failure();
  }
  return inference.setResult(
      inference.getStatedElementType(query.getElementType()), sizes);
}

DimensionRule AttentionOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType query = getTensor(getQuery());
  RankedTensorType key = getTensor(getKey());
  int64_t rank = query.getRank();
  auto mapMask = [&](int64_t dim, unsigned factor) {
    if (!getMask())
      return;
    RankedTensorType mask = getTensor(getMask());
    int64_t maskDim = dim - rank + mask.getRank();
    if (maskDim >= 0 && mask.getDimSize(maskDim) != 1)
      builder.mapOperand(3, maskDim, factor);
  };
  for (int64_t dim = 0; dim + 2 < rank; ++dim) {
    bool isGrouped = dim + 3 == rank && getGroupedHeads() &&
                     query.getDimSize(dim) != key.getDimSize(dim);
    if (!isGrouped) {
      unsigned factor = builder.addParallel(query.getDimSize(dim));
      for (unsigned operand = 0; operand < 3; ++operand)
        builder.mapOperand(operand, dim, factor);
      builder.mapResult(0, dim, factor);
      mapMask(dim, factor);
      continue;
    }
    // Query heads are (key head, head within its group), major to minor.
    int64_t keyHeads = key.getDimSize(dim);
    int64_t groupSize = ShapedType::kDynamic;
    if (!query.isDynamicDim(dim) && !key.isDynamicDim(dim))
      groupSize = query.getDimSize(dim) / keyHeads;
    unsigned head = builder.addParallel(keyHeads);
    unsigned within = builder.addParallel(groupSize);
    for (unsigned factor : {head, within}) {
      builder.mapOperand(0, dim, factor);
      builder.mapResult(0, dim, factor);
      mapMask(dim, factor);
    }
    builder.mapOperand(1, dim, head);
    builder.mapOperand(2, dim, head);
  }
  // Query rows are independent of each other, but with a causal mask their
  // position counts.
  unsigned rows = getIsCausal()
                      ? builder.addWhole(query.getDimSize(rank - 2))
                      : builder.addParallel(query.getDimSize(rank - 2));
  builder.mapOperand(0, rank - 2, rows);
  builder.mapResult(0, rank - 2, rows);
  mapMask(rank - 2, rows);
  unsigned positions = builder.addWhole(key.getDimSize(rank - 2));
  builder.mapOperand(1, rank - 2, positions);
  builder.mapOperand(2, rank - 2, positions);
  mapMask(rank - 1, positions);
  unsigned width = builder.addWhole(query.getDimSize(rank - 1));
  builder.mapOperand(0, rank - 1, width);
  builder.mapOperand(1, rank - 1, width);
  unsigned valueWidth =
      builder.addParallel(getTensor(getValue()).getDimSize(rank - 1));
  builder.mapOperand(2, rank - 1, valueWidth);
  builder.mapResult(0, rank - 1, valueWidth);
  return std::move(builder).build();
}

LogicalResult AttentionOp::evaluate(Algebra &algebra,
                                    ArrayRef<AlgebraValue> operands,
                                    SmallVectorImpl<AlgebraValue> &results) {
  Type type = getTensor(getResult()).getElementType();
  Type compute = Algebra::getComputeType(type);
  AlgebraValue query = operands[0];
  AlgebraValue key = operands[1];
  AlgebraValue value = operands[2];
  // Each head of key and value repeated for the query heads that share it.
  auto repeatHeads = [&](const AlgebraValue &input) {
    SmallVector<int64_t> sizes(input->getSizes());
    int64_t heads = input->getRank() - 3;
    int64_t repeats = query->getSizes()[heads] / sizes[heads];
    if (repeats == 1)
      return input;
    SmallVector<int64_t> single(sizes), repeated(sizes);
    single.insert(single.begin() + heads + 1, 1);
    repeated.insert(repeated.begin() + heads + 1, repeats);
    sizes[heads] *= repeats;
    return algebra.reshape(
        algebra.broadcast(algebra.reshape(input, single), repeated), sizes);
  };
  if (getGroupedHeads() && query->getRank() >= 3) {
    key = repeatHeads(key);
    value = repeatHeads(value);
  }
  double scale = getScale() ? getScale()->convertToDouble()
                            : 1 / std::sqrt(double(query->getSizes().back()));
  AlgebraValue scores =
      algebra.matmul(algebra.cast(query, compute),
                     algebra.transpose(algebra.cast(key, compute)), compute);
  scores = algebra.map(MapFunction::Mul,
                       {scores, algebra.scalar(scale, compute)}, compute);
  Builder builder(getContext());
  AlgebraValue minusInfinity =
      algebra.scalar(-std::numeric_limits<double>::infinity(), compute);
  auto keep = [&](const AlgebraValue &mask) {
    scores = algebra.map(MapFunction::Select, {mask, scores, minusInfinity},
                         compute);
  };
  if (getMask()) {
    if (operands[3]->getElementType().isInteger(1))
      keep(operands[3]);
    else
      scores =
          algebra.map(MapFunction::Add,
                      {scores, algebra.cast(operands[3], compute)}, compute);
  }
  if (getIsCausal()) {
    Type position = builder.getI64Type();
    auto count = [&](int64_t size) {
      return algebra.iota(builder.getI64IntegerAttr(0),
                          builder.getI64IntegerAttr(1), size, position);
    };
    int64_t rows = query->getSizes()[query->getRank() - 2];
    int64_t columns = key->getSizes()[key->getRank() - 2];
    keep(algebra.map(MapFunction::LessEqual,
                     {count(columns), algebra.reshape(count(rows), {rows, 1})},
                     builder.getI1Type()));
  }
  int64_t last = scores->getRank() - 1;
  AlgebraValue largest =
      algebra.reduce(ReductionKind::Max, scores, {last}, true, compute);
  AlgebraValue exponentials = algebra.map(
      MapFunction::Exp,
      {algebra.map(MapFunction::Sub, {scores, largest}, compute)}, compute);
  AlgebraValue sum =
      algebra.reduce(ReductionKind::Sum, exponentials, {last}, true, compute);
  AlgebraValue weights =
      algebra.map(MapFunction::Div, {exponentials, sum}, compute);
  results.push_back(algebra.cast(
      algebra.matmul(weights, algebra.cast(value, compute), compute), type));
  return success();
}

std::optional<Work> AttentionOp::getWork(SymbolValues symbols) {
  RankedTensorType query = getTensor(getQuery());
  RankedTensorType key = getTensor(getKey());
  int64_t rank = query.getRank();
  std::optional<Work> work = getStreamingWork(*this, 0, symbols);
  std::optional<int64_t> positions = evaluateSize(key, rank - 2, symbols);
  std::optional<int64_t> width = evaluateSize(query, rank - 1, symbols);
  std::optional<int64_t> scores = getProductFlops(query, positions, symbols);
  std::optional<int64_t> values =
      getProductFlops(getTensor(getResult()), positions, symbols);
  std::optional<int64_t> elements = evaluateNumElements(query, symbols);
  if (!work || !positions || !width || !scores || !values || !elements)
    return std::nullopt;
  if (llvm::AddOverflow(*scores, *values, work->matmulFlops))
    return std::nullopt;
  // Half of the scores are masked when causal, as fused kernels skip them.
  if (getIsCausal())
    work->matmulFlops /= 2;
  if (*width > 0 && (llvm::MulOverflow(*elements / *width, *positions,
                                       work->elementwiseFlops) ||
                     llvm::MulOverflow<int64_t>(work->elementwiseFlops, 12,
                                                work->elementwiseFlops)))
    return std::nullopt;
  return work;
}

Strides AttentionOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                  ArrayRef<Size>) {
  // Depends on the kernel that the device dispatches to: flash kernels write
  // [batch, length, heads, width] memory, the composite form is dense.
  return std::nullopt;
}
