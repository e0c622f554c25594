//===- Formula.cpp - operators that are formulas of others ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Formula.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

Value Formula::of(Value value) {
  return getElementType(value) == type ? value : reader.convert(value, type);
}

Value Formula::reduce(tp::ReductionKind kind, Value value,
                      ArrayRef<int64_t> dims, bool keepDims) {
  tp::Sizes all = reader.getSymbols().getSizes(getTensor(value)), sizes;
  for (auto [dim, size] : llvm::enumerate(all)) {
    bool isReduced = llvm::is_contained(dims, static_cast<int64_t>(dim));
    if (!isReduced || keepDims)
      sizes.push_back(isReduced ? tp::Size(1) : size);
  }
  return reader.create<tp::ReduceOp>(
      reader.getDenseType(getElementType(value), sizes), kind, value, dims,
      keepDims);
}

Value Formula::logSigmoid(Value x) {
  using tp::MapFunction;
  Value distance = apply(MapFunction::Abs, x);
  Value decay = apply(MapFunction::Exp, apply(MapFunction::Neg, distance));
  return subtract(apply(MapFunction::Minimum, {x, number(0)}),
                  apply(MapFunction::Log, add(number(1), decay)));
}

LogicalResult Formula::result(size_t index, Value value) {
  RankedTensorType wanted = reader.getResultType(index);
  if (!wanted)
    return failure();
  tp::StridedShape shape = reader.getSymbols().getShape(wanted);
  if (!shape.strides)
    return failure();
  bool isDense = tp::getDensity(shape) == tp::Density::Dense;
  bool isDone = value.getType() == wanted && value.getDefiningOp<tp::MapOp>();
  if (getTensor(value).getElementType() != wanted.getElementType()) {
    isDone = isDense;
    value = isDense ? Value(reader.create<tp::CastOp>(wanted, value,
                                                      /*contiguous=*/true))
                    : reader.convert(value, wanted.getElementType());
  }
  // A value that is an operand, or a view of one, would share its memory.
  if (!isDone)
    value = reader.create<tp::CopyOp>(wanted, value,
                                      /*preserves_strides=*/!isDense);
  reader.setResult(index, value);
  return success();
}
