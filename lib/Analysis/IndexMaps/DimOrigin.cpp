//===- DimOrigin.cpp - what a dim of a value comes from ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/DimOrigin.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

std::optional<DimOrigin> commute::analysis::findDimOrigin(
    Value value, unsigned dim,
    llvm::function_ref<bool(Value, unsigned)> isOrigin) {
  SmallVector<DimStep> steps;
  while (Operation *op = value.getDefiningOp()) {
    if (isOrigin(value, dim)) {
      std::reverse(steps.begin(), steps.end());
      return DimOrigin{value, dim, std::move(steps)};
    }
    std::optional<DimStep> step = findStepTo(op, dim);
    if (!step || steps.size() >= maxDimSteps)
      return std::nullopt;
    steps.push_back(*step);
    value = op->getOperand(0);
    dim = step->operandDim;
  }
  return std::nullopt;
}
