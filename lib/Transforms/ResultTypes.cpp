//===- ResultTypes.cpp - types that follow from operands --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace commute;

void commute::inferStrides(tp::SymbolSpace &symbols, Operation *op) {
  SmallVector<tp::StridedShape> shapes;
  for (Type operand : op->getOperandTypes()) {
    auto type = dyn_cast<RankedTensorType>(operand);
    shapes.push_back(type ? symbols.getShape(type) : tp::StridedShape());
  }
  auto strided = cast<tp::StrideOpInterface>(op);
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    tp::Sizes sizes = symbols.getSizes(type);
    tp::Strides strides =
        strided.inferStrides(result.getResultNumber(), shapes, sizes);
    bool isRight = strides && tp::isStaticDense(type) &&
                   tp::areContiguousStrides(*strides, sizes);
    if (!isRight)
      result.setType(symbols.getType(type.getElementType(), sizes, strides));
  }
}

/// Whether two types describe the same dense tensor.
static bool areOneDenseTensor(Type a, Type b) {
  auto first = dyn_cast<RankedTensorType>(a);
  auto second = dyn_cast<RankedTensorType>(b);
  if (!first || !second || first.getElementType() != second.getElementType())
    return false;
  tp::SymbolSpace symbols(first.getContext());
  tp::StridedShape x = symbols.getShape(first), y = symbols.getShape(second);
  return x.sizes == y.sizes && tp::getDensity(x) == tp::Density::Dense &&
         tp::getDensity(y) == tp::Density::Dense;
}

void commute::replaceValue(Value before, Value after) {
  if (before.getType() != after.getType() &&
      areOneDenseTensor(before.getType(), after.getType()))
    for (OpOperand &use : before.getUses()) {
      auto terminator = dyn_cast<func::ReturnOp>(use.getOwner());
      if (!terminator)
        continue;
      auto function = cast<func::FuncOp>(terminator->getParentOp());
      SmallVector<Type> results(function.getResultTypes());
      results[use.getOperandNumber()] = after.getType();
      function.setFunctionType(FunctionType::get(
          function.getContext(), function.getArgumentTypes(), results));
    }
  before.replaceAllUsesWith(after);
}
