//===- RankSelectOp.cpp - a value of each rank's own ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ShapeChecks.h"

using namespace mlir;
using namespace commute::tp;

Value RankSelectOp::getValueOfRank(int64_t rank) {
  std::optional<int64_t> position = getGroup().getPosition(rank);
  return position ? getValues()[*position] : Value();
}

LogicalResult RankSelectOp::inferShapes(Adaptor op, ShapeInference &inference) {
  if (static_cast<int64_t>(op.getValues().size()) != op.getGroup().getSize())
    return inference.emitOpError()
           << "has " << op.getValues().size() << " operands, expected "
           << op.getGroup().getSize() << ", one for each member of its group";
  Value first = op.getValues().front();
  for (Value value : op.getValues()) {
    if (getTensor(value).getElementType() != getTensor(first).getElementType())
      return inference.emitOpError("operands must have the same element type");
    if (getTensor(value).getRank() != getTensor(first).getRank())
      return inference.emitOpError(
          "operands must have the same number of dims");
    if (failed(
            inference.verifySizes("operand", value, inference.getSizes(first))))
      return failure();
  }
  return inference.setResultLike(first);
}

DimensionRule RankSelectOp::getDimensionRule() {
  DimensionRuleBuilder builder(*this);
  RankedTensorType result = getTensor(getResult());
  for (int64_t dim = 0; dim < result.getRank(); ++dim) {
    unsigned factor = builder.addParallel(result.getDimSize(dim));
    for (unsigned operand = 0; operand < getNumOperands(); ++operand)
      builder.mapOperand(operand, dim, factor);
    builder.mapResult(0, dim, factor);
  }
  return std::move(builder).build();
}

LogicalResult RankSelectOp::evaluate(Algebra &algebra,
                                     ArrayRef<AlgebraValue> operands,
                                     SmallVectorImpl<AlgebraValue> &results) {
  FailureOr<int64_t> position = algebra.getPosition(getGroup());
  if (failed(position))
    return emitError("this rank is not a member of the op's group");
  results.push_back(operands[*position]);
  return success();
}

std::optional<Work> RankSelectOp::getWork(SymbolValues) { return Work(); }

Strides RankSelectOp::inferStrides(Adaptor, unsigned,
                                   ArrayRef<StridedShape> operandShapes,
                                   ArrayRef<Size>) {
  for (const StridedShape &shape : operandShapes)
    if (shape.strides != operandShapes.front().strides)
      return std::nullopt;
  return operandShapes.front().strides;
}

bool RankSelectOp::mayShareMemory() { return true; }

SmallVector<PlacementAttr>
RankSelectOp::inferPlacements(ArrayRef<PlacementAttr>) {
  return {PlacementAttr::getVarying(getContext())};
}
