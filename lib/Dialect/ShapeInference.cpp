//===- ShapeInference.cpp - result types from operands ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/ShapeInference.h"

#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace commute::tp;

//===----------------------------------------------------------------------===//
// ShapeInference
//===----------------------------------------------------------------------===//

std::string ShapeInference::toText(const Size &size) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printSize(os, size, symbols.getNames());
  return text;
}

LogicalResult ShapeInference::setResult(Type elementType, ArrayRef<Size> sizes,
                                        unsigned result, StringRef name) {
  if (results.size() <= result)
    results.resize(result + 1);
  ResultShape &shape = results[result];
  if (shape.elementType && shape.elementType != elementType)
    return emitError() << name << " has element type " << shape.elementType
                       << ", expected " << elementType;
  shape.elementType = elementType;
  if (shape.sizes)
    return verifySizes(name, *shape.sizes, sizes);
  shape.sizes = Sizes(sizes);
  return success();
}

LogicalResult ShapeInference::setResultLike(Value value, unsigned result) {
  return setResult(cast<RankedTensorType>(value.getType()).getElementType(),
                   getSizes(value), result);
}

LogicalResult ShapeInference::verifySizes(StringRef name, ArrayRef<Size> sizes,
                                          ArrayRef<Size> expected) {
  if (sizes.size() != expected.size())
    return emitError() << name << " has " << sizes.size() << " dims, expected "
                       << expected.size();
  for (auto [dim, size, wanted] : llvm::enumerate(sizes, expected))
    if (areDifferent(size, wanted))
      return emitError() << name << " has size " << toText(size)
                         << " along dim " << dim << ", expected "
                         << toText(wanted);
  return success();
}

LogicalResult ShapeInference::verifyBroadcastsTo(StringRef name, Value value,
                                                 ArrayRef<Size> target) {
  Sizes sizes = getSizes(value);
  if (sizes.size() > target.size())
    return emitError() << name << " has " << sizes.size()
                       << " dims, more than the result's " << target.size();
  size_t offset = target.size() - sizes.size();
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    if (!isConstant(sizes[dim], 1) &&
        areDifferent(sizes[dim], target[offset + dim]))
      return emitError() << name << " has size " << toText(sizes[dim])
                         << " along dim " << dim
                         << ", which cannot be broadcast to "
                         << toText(target[offset + dim]);
  return success();
}

LogicalResult ShapeInference::verifyDim(StringRef name, int64_t dim,
                                        int64_t rank) {
  if (dim >= 0 && dim < rank)
    return success();
  return emitError() << name << " is " << dim
                     << ", expected a dim of a tensor of rank " << rank;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

InFlightDiagnostic commute::tp::emitOpError(Location location,
                                            StringRef opName) {
  return std::move(emitError(location) << '\'' << opName << "' op ");
}

void commute::tp::addResultTypes(
    SymbolSpace &symbols, ValueRange operands, ArrayRef<ResultShape> shapes,
    llvm::function_ref<Strides(unsigned, ArrayRef<StridedShape>,
                               ArrayRef<Size>)>
        inferStrides,
    SmallVectorImpl<Type> &types) {
  SmallVector<StridedShape> operandShapes;
  operandShapes.reserve(operands.size());
  for (Value operand : operands) {
    StridedShape &shape = operandShapes.emplace_back();
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      shape = symbols.getShape(type);
  }
  for (auto [index, shape] : llvm::enumerate(shapes)) {
    assert(shape.elementType && shape.sizes &&
           "shape inference must determine every result type");
    types.push_back(
        symbols.getType(shape.elementType, *shape.sizes,
                        inferStrides(index, operandShapes, *shape.sizes)));
  }
}

void commute::tp::reportInferenceFailure(OperationState &state) {
  mlir::detail::reportFatalInferReturnTypesError(state);
  llvm_unreachable("a fatal error must not return");
}

void commute::tp::stateElementTypes(OperationState &state,
                                    TypeRange elementTypes) {
  for (auto [type, elementType] : llvm::zip_equal(
           MutableArrayRef<Type>(state.types).take_back(elementTypes.size()),
           elementTypes)) {
    auto tensor = cast<RankedTensorType>(type);
    // Usually they are the inferred ones, and to look up a type takes time.
    if (tensor.getElementType() != elementType)
      type = tensor.clone(elementType);
  }
}

SmallVector<ResultShape, 2> commute::tp::getStatedShapes(SymbolSpace &symbols,
                                                         TypeRange types) {
  SmallVector<ResultShape, 2> shapes;
  for (Type type : types) {
    auto tensor = cast<RankedTensorType>(type);
    shapes.push_back({tensor.getElementType(), symbols.getSizes(tensor)});
  }
  return shapes;
}
