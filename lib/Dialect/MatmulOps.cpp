//===- MatmulOps.cpp - matrix products and attention ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// tp.matmul
//===----------------------------------------------------------------------===//

/// Positions of the row (or column) dim and of the contraction dim in an
/// operand of an op or its adaptor.
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
    return inference.emitOpError("operands must have at least 2 dims");
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
    return inference.emitOpError(
        "batch dims cannot be broadcast to a common shape");
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
  // Maps rows, columns and batch dims as in the result, and the bias with them.
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
      // A batch dim of size 1 that is repeated has no factor.
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
  // A scale with one element per row or column is sharded with these.
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
  // The bias is a part of one summand, so it must be partial if the product is.
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
  // PyTorch computes a product plus a matrix in place: addmm first copies the
  // matrix into the result, on both CPUs (addmm_impl_cpu_) and GPUs
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
