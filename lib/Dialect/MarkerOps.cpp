//===- MarkerOps.cpp - waits and region markers -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Ops that return their operand and state a fact about the program.
//
//===----------------------------------------------------------------------===//

#include "CollectiveRule.h"
#include "ShapeChecks.h"

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// tp.wait
//===----------------------------------------------------------------------===//

LogicalResult WaitOp::inferShapes(Adaptor op, ShapeInference &inference) {
  return inference.setResultLike(op.getInput());
}

DimensionRule WaitOp::getDimensionRule() {
  return getCollectiveRule(*this, /*axis=*/-1);
}

LogicalResult WaitOp::evaluate(Algebra &algebra,
                               ArrayRef<AlgebraValue> operands,
                               SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(operands[0]);
  return success();
}

std::optional<Work> WaitOp::getWork(SymbolValues) { return Work(); }

// PyTorch records a dense result even if the operand, which is the result, has
// holes. Keep such types.
Strides WaitOp::inferStrides(Adaptor, unsigned,
                             ArrayRef<StridedShape> operandShapes,
                             ArrayRef<Size>) {
  return operandShapes[0].strides;
}

bool WaitOp::mayShareMemory() { return true; }

Value WaitOp::getBegun() { return getInput(); }

//===----------------------------------------------------------------------===//
// tp.region_marker
//===----------------------------------------------------------------------===//

LogicalResult RegionMarkerOp::inferShapes(Adaptor op,
                                          ShapeInference &inference) {
  return inference.setResultLike(op.getInput());
}

DimensionRule RegionMarkerOp::getDimensionRule() {
  return getCollectiveRule(*this, /*axis=*/-1);
}

LogicalResult RegionMarkerOp::evaluate(Algebra &algebra,
                                       ArrayRef<AlgebraValue> operands,
                                       SmallVectorImpl<AlgebraValue> &results) {
  results.push_back(operands[0]);
  return success();
}

std::optional<Work> RegionMarkerOp::getWork(SymbolValues) { return Work(); }

Strides RegionMarkerOp::inferStrides(Adaptor, unsigned,
                                     ArrayRef<StridedShape> operandShapes,
                                     ArrayRef<Size> resultSizes) {
  // Markers are clones, which keep the order of dims.
  return getPreservedStrides(operandShapes[0]);
}

bool RegionMarkerOp::mayShareMemory() { return true; }

int64_t RegionMarkerOp::getLayer() { return getId(); }

unsigned RegionMarkerOp::getBorder() { return unsigned(getKind()); }
