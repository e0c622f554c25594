//===- AtenComplex.cpp - complex numbers as pairs of floats -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Sums, products and views of complex numbers are the ops that they are of
// floats. What is defined by real and imaginary parts is read as a formula of
// these: the last dim of a bitcast.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"
#include "NodeWriter.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;
using tp::MapFunction;

static ComplexType getComplex(Value value) {
  return value ? dyn_cast<ComplexType>(getElementType(value)) : ComplexType();
}

/// Real or imaginary parts, as a view.
static Value getPart(NodeReader &reader, Value value, bool isImaginary) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::StridedShape shape = symbols.getShape(getTensor(value));
  tp::Sizes sizes = shape.sizes;
  auto rank = static_cast<int64_t>(sizes.size());
  shape.sizes.push_back(2);
  if (shape.strides) {
    for (tp::Size &stride : *shape.strides)
      stride = tp::multiply(stride, 2);
    shape.strides->push_back(1);
  }
  Value parts = reader.create<tp::BitcastOp>(
      symbols.getType(getComplex(value).getElementType(), shape.sizes,
                      shape.strides),
      value);
  return reader.reshape(reader.slice(parts, rank, isImaginary, 1), sizes);
}

/// A dense tensor of complex numbers of these parts.
static Value join(NodeReader &reader, Value real, Value imaginary) {
  tp::SymbolSpace &symbols = reader.getSymbols();
  tp::Sizes sizes = symbols.getSizes(getTensor(real));
  tp::Sizes column = sizes;
  column.push_back(1);
  Value parts[] = {reader.reshape(real, column),
                   reader.reshape(imaginary, column)};
  Value pairs = reader.concat(parts, static_cast<int64_t>(sizes.size()));
  return reader.create<tp::BitcastOp>(
      reader.getDenseType(ComplexType::get(getElementType(real)), sizes),
      pairs);
}

/// A float tensor, repeated to the sizes of the node's result.
static Value getOperand(NodeReader &reader, StringRef name) {
  Value value = reader.tensor(name);
  RankedTensorType type = reader.getResultType();
  if (!value || !type || !isFloat(value))
    return {};
  return reader.broadcast(value, reader.getSymbols().getSizes(type));
}

static LogicalResult readViewAsComplex(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!self || !type || !isFloat(self))
    return failure();
  return reader.result(reader.create<tp::BitcastOp>(type, self));
}

static LogicalResult readViewAsReal(NodeReader &reader) {
  Value self = reader.tensor("self");
  RankedTensorType type = reader.getResultType();
  if (!getComplex(self) || !type)
    return failure();
  return reader.result(reader.create<tp::BitcastOp>(type, self));
}

template <bool isImaginary>
static LogicalResult readPart(NodeReader &reader) {
  Value self = reader.tensor("self");
  if (!getComplex(self))
    return failure();
  return reader.result(getPart(reader, self, isImaginary));
}

static LogicalResult readComplex(NodeReader &reader) {
  Value real = getOperand(reader, "real");
  Value imaginary = getOperand(reader, "imag");
  if (!real || !imaginary)
    return failure();
  Formula f(reader, getElementType(real));
  return f.result(0, join(reader, real, imaginary));
}

/// polar(r, a): r cos(a) + i r sin(a)
static LogicalResult readPolar(NodeReader &reader) {
  Value radius = getOperand(reader, "abs");
  Value angle = getOperand(reader, "angle");
  if (!radius || !angle || getElementType(radius) != getElementType(angle))
    return failure();
  Formula f(reader, getElementType(radius));
  auto getSide = [&](MapFunction function) {
    return f.multiply(radius, f.apply(function, angle));
  };
  return f.result(
      0, join(reader, getSide(MapFunction::Cos), getSide(MapFunction::Sin)));
}

static LogicalResult readConjugate(NodeReader &reader) {
  Value self = reader.tensor("self");
  ComplexType type = getComplex(self);
  if (!type)
    return failure();
  Formula f(reader, type.getElementType());
  Value imaginary =
      f.apply(MapFunction::Neg, getPart(reader, self, /*isImaginary=*/true));
  return f.result(
      0, join(reader, getPart(reader, self, /*isImaginary=*/false), imaginary));
}

void vocabulary::addAtenComplex(Vocabulary &vocabulary) {
  vocabulary.addView({"torch.ops.aten.view_as_complex.default"},
                     readViewAsComplex);
  vocabulary.addView({"torch.ops.aten.view_as_real.default"}, readViewAsReal);
  vocabulary.addView({"torch.ops.aten.real.default"},
                     readPart</*isImaginary=*/false>);
  vocabulary.addView({"torch.ops.aten.imag.default"},
                     readPart</*isImaginary=*/true>);
  vocabulary.add("torch.ops.aten.complex.default", readComplex);
  vocabulary.add("torch.ops.aten.polar.default", readPolar);
  vocabulary.add("torch.ops.aten.conj_physical.default", readConjugate);
}
