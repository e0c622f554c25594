//===- GroupedMatmulOp.cpp - products of groups of rows ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute::tp;

static bool groupsContraction(Value rhs) {
  return getTensor(rhs).getRank() == 2;
}

bool GroupedMatmulOp::groupsContraction() {
  return ::groupsContraction(getRhs());
}

LogicalResult GroupedMatmulOp::inferShapes(Adaptor op,
                                           ShapeInference &inference) {
  Value lhs = op.getLhs(), rhs = op.getRhs(), offsets = op.getOffsets();
  if (getTensor(lhs).getRank() != 2)
    return inference.emitOpError()
           << "lhs has rank " << getTensor(lhs).getRank() << ", expected 2";
  int64_t rank = getTensor(rhs).getRank();
  if (rank != 2 && rank != 3)
    return inference.emitOpError()
           << "rhs has rank " << rank << ", expected 2 or 3";
  for (auto [name, value] : {std::pair("lhs", lhs), std::pair("rhs", rhs)})
    if (Type type = getTensor(value).getElementType(); !isa<FloatType>(type))
      return inference.emitOpError()
             << name << " has element type " << type << ", expected floats";
  Type index = getTensor(offsets).getElementType();
  if (!isa<IntegerType>(index) || index.isInteger(1))
    return inference.emitOpError()
           << "offsets have element type " << index << ", expected integers";
  if (getTensor(offsets).getRank() != 1)
    return inference.emitOpError()
           << "offsets have rank " << getTensor(offsets).getRank()
           << ", expected 1";
  Sizes lhsSizes = inference.getSizes(lhs), rhsSizes = inference.getSizes(rhs);
  Size groups = inference.getSizes(offsets)[0];
  if (areDifferent(lhsSizes[1], rhsSizes[rank - 2]))
    return inference.emitOpError()
           << "contracts dim 1 of lhs (size " << inference.toText(lhsSizes[1])
           << ") with dim " << rank - 2 << " of rhs (size "
           << inference.toText(rhsSizes[rank - 2]) << ")";
  Type type = inference.getStatedElementType(getTensor(lhs).getElementType());
  if (::groupsContraction(rhs)) {
    if (op.getRest())
      return inference.emitOpError(
          "must not have `rest` when the contraction dim is grouped");
    return inference.setResult(type, {groups, lhsSizes[0], rhsSizes[1]});
  }
  if (areDifferent(groups, rhsSizes[0]))
    return inference.emitOpError()
           << "rhs has " << inference.toText(rhsSizes[0]) << " matrices for "
           << inference.toText(groups) << " groups";
  Sizes sizes{lhsSizes[0], rhsSizes[2]};
  if (Value rest = op.getRest()) {
    if (failed(inference.verifySizes("rest", rest, sizes)))
      return failure();
    if (Type own = getTensor(rest).getElementType(); own != type)
      return inference.emitOpError()
             << "rest has element type " << own << ", expected " << type;
  }
  return inference.setResult(type, sizes);
}

DimensionRule GroupedMatmulOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  // Offsets count the rows of all groups, so groups cannot be sharded.
  unsigned groups = builder.addFixed(getTensor(getOffsets()).getDimSize(0));
  builder.mapOperand(2, 0, groups);
  if (groupsContraction()) {
    unsigned inner = builder.addFixed(lhs.getDimSize(1));
    unsigned rows = builder.addParallel(lhs.getDimSize(0));
    unsigned columns = builder.addParallel(rhs.getDimSize(1));
    builder.mapOperand(0, 0, rows);
    builder.mapOperand(0, 1, inner);
    builder.mapOperand(1, 0, inner);
    builder.mapOperand(1, 1, columns);
    builder.mapResult(0, 0, groups);
    builder.mapResult(0, 1, rows);
    builder.mapResult(0, 2, columns);
    return std::move(builder).build();
  }
  unsigned rows = builder.addFixed(lhs.getDimSize(0));
  unsigned columns = builder.addParallel(rhs.getDimSize(2));
  unsigned inner = builder.addFactor(Factor::Kind::Reduction, lhs.getDimSize(1),
                                     ReductionKind::Sum);
  builder.mapOperand(0, 0, rows);
  builder.mapOperand(0, 1, inner);
  builder.mapOperand(1, 0, groups);
  builder.mapOperand(1, 1, inner);
  builder.mapOperand(1, 2, columns);
  if (getRest()) {
    builder.mapOperand(3, 0, rows);
    builder.mapOperand(3, 1, columns);
  }
  builder.mapResult(0, 0, rows);
  builder.mapResult(0, 1, columns);
  return std::move(builder).build();
}

LogicalResult
GroupedMatmulOp::evaluate(Algebra &algebra, ArrayRef<AlgebraValue> operands,
                          SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(
      algebra.multiplyGroups(operands[0], operands[1], operands[2],
                             getRest() ? operands[3] : AlgebraValue(),
                             getTensor(getResult()).getElementType()));
  return success();
}

std::optional<Work> GroupedMatmulOp::getWork(SymbolValues symbols) {
  RankedTensorType lhs = getTensor(getLhs()), rhs = getTensor(getRhs());
  std::optional<int64_t> elements = evaluateNumElements(lhs, symbols);
  std::optional<int64_t> columns =
      evaluateSize(rhs, rhs.getRank() - 1, symbols);
  std::optional<int64_t> groups =
      evaluateSize(getTensor(getOffsets()), 0, symbols);
  std::optional<int64_t> rows = evaluateSize(lhs, 0, symbols);
  std::optional<int64_t> lhsBytes = getNumBytes(lhs, symbols);
  std::optional<int64_t> rhsBytes = getNumBytes(rhs, symbols);
  std::optional<int64_t> offsetBytes =
      getNumBytes(getOffsets().getType(), symbols);
  std::optional<int64_t> resultBytes =
      getNumBytes(getResult().getType(), symbols);
  if (!elements || !columns || !groups || !rows || !lhsBytes || !rhsBytes ||
      !offsetBytes || !resultBytes)
    return std::nullopt;
  // Each row is multiplied by a single matrix.
  std::optional<int64_t> products = llvm::checkedMul(*elements, *columns);
  std::optional<int64_t> flops =
      products ? llvm::checkedMul<int64_t>(2, *products) : std::nullopt;
  if (!flops)
    return std::nullopt;
  // Matrices of empty groups are not read.
  if (!groupsContraction() && *rows < *groups)
    *rhsBytes = *rhsBytes / *groups * *rows;
  Work work;
  work.matmulFlops = *flops;
  if (llvm::AddOverflow(*lhsBytes, *rhsBytes, work.bytesRead) ||
      llvm::AddOverflow(work.bytesRead, *offsetBytes, work.bytesRead))
    return std::nullopt;
  work.bytesWritten = *resultBytes;
  return work;
}

Strides GroupedMatmulOp::inferStrides(Adaptor, unsigned, ArrayRef<StridedShape>,
                                      ArrayRef<Size> resultSizes) {
  // On GPUs, rows may be padded to 16 bytes; the recorded type states whether
  // they are.
  return getContiguousStrides(resultSizes);
}
