//===- ResultTypes.cpp - types that follow from operands --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ResultTypes.h"

using namespace mlir;
using namespace commute;

RankedTensorType commute::getDenseType(const tp::SymbolSpace &symbols,
                                       Type elementType,
                                       const tp::Sizes &sizes) {
  SmallVector<int64_t> shape;
  for (const tp::Size &size : sizes)
    if (std::optional<int64_t> number = size.getConstant())
      shape.push_back(*number);
  if (shape.size() == sizes.size())
    return RankedTensorType::get(shape, elementType);
  return symbols.getType(elementType, sizes, tp::getContiguousStrides(sizes));
}

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
