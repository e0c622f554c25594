//===- ThresholdNumbers.cpp - numbers that results may be -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ThresholdNumbers.h"

#include "FieldFunctions.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

std::optional<double> equivalence::getUniformNumber(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto constant = dyn_cast<tp::ConstantOp>(op))
      return getNumber(constant.getValue());
    if (!isa<tp::CastOp, tp::BroadcastOp, tp::ReshapeOp, tp::CopyOp>(op))
      return std::nullopt;
    value = op->getOperand(0);
  }
  return std::nullopt;
}

SmallVector<double> equivalence::getFewNumbers(Value value) {
  constexpr double few = 32;
  auto op = value.getDefiningOp<tp::MapOp>();
  bool isRemainder = op && op.getFunction() == MapFunction::Remainder;
  if (!isRemainder && !(op && op.getFunction() == MapFunction::BitwiseAnd))
    return {};
  std::optional<double> bound = getUniformNumber(op.getOperand(1));
  if (!bound && !isRemainder)
    bound = getUniformNumber(op.getOperand(0));
  if (!bound || std::abs(*bound) > few || std::floor(*bound) != *bound ||
      (!isRemainder && *bound < 0))
    return {};
  SmallVector<double> numbers;
  for (double k = std::min(*bound, 0.0); k <= std::max(*bound, 0.0); ++k)
    numbers.push_back(k);
  return numbers;
}

IntegerType equivalence::getNarrowType(Value value) {
  auto type = dyn_cast<IntegerType>(tp::getTensor(value).getElementType());
  return type && type.getWidth() > 1 && type.getWidth() <= 16 ? type
                                                              : IntegerType();
}

SmallVector<double> equivalence::getUnwrapped(tp::MapOp op,
                                              ArrayRef<double> numbers) {
  SmallVector<double> all(numbers);
  IntegerType type = getNarrowType(op.getResult());
  if (!type || numbers.empty())
    return all;
  constexpr double mostPeriods = 8;
  MapFunction function = op.getFunction();
  double numPeriods = 1;
  if (function == MapFunction::Mul) {
    std::optional<double> factor = getUniformNumber(op.getOperand(1));
    if (!factor)
      factor = getUniformNumber(op.getOperand(0));
    // Exact results are below as many periods.
    numPeriods = std::clamp(std::abs(factor.value_or(1)), 1.0, mostPeriods);
  } else if (function != MapFunction::Add && function != MapFunction::Sub &&
             function != MapFunction::Neg && function != MapFunction::Abs) {
    return all;
  }
  double period = std::exp2(type.getWidth());
  for (double shift = period; shift <= numPeriods * period; shift += period) {
    for (double number : numbers) {
      all.push_back(number - shift);
      all.push_back(number + shift);
    }
    // Unsigned integers wrap around at whole periods, others between them.
    double edge = type.isUnsigned() ? shift : shift - period / 2;
    all.push_back(-edge);
    all.push_back(edge);
  }
  return all;
}
