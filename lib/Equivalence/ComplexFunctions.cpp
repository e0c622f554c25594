//===- ComplexFunctions.cpp - parts of complex results --------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"

#include "commute/Equivalence/PrimeField.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

ComplexParts::Parts ScalarFunction::getParts(unsigned operand,
                                             uint64_t element) const {
  return isComplex(operand) ? context.getComplexParts().get(element)
                            : ComplexParts::Parts{element, 0};
}

uint64_t ScalarFunction::noteParts(uint64_t a, uint64_t b,
                                   uint64_t result) const {
  using F = PrimeField;
  using Parts = ComplexParts::Parts;
  auto multiply = [](Parts x, Parts y) {
    return Parts{
        F::subtract(F::multiply(x.first, y.first),
                    F::multiply(x.second, y.second)),
        F::add(F::multiply(x.first, y.second), F::multiply(x.second, y.first))};
  };
  // The conjugate, divided by the square of the magnitude.
  auto invert = [](Parts x) {
    uint64_t square = F::invert(
        F::add(F::multiply(x.first, x.first), F::multiply(x.second, x.second)));
    return Parts{F::multiply(x.first, square),
                 F::negate(F::multiply(x.second, square))};
  };
  Parts x = getParts(0, a);
  Parts y = operandTypes[1] ? getParts(1, b) : Parts{0, 0};
  Parts parts;
  switch (function) {
  case MapFunction::Add:
    parts = {F::add(x.first, y.first), F::add(x.second, y.second)};
    break;
  case MapFunction::Sub:
    parts = {F::subtract(x.first, y.first), F::subtract(x.second, y.second)};
    break;
  case MapFunction::Neg:
    parts = {F::negate(x.first), F::negate(x.second)};
    break;
  case MapFunction::Mul:
    parts = multiply(x, y);
    break;
  case MapFunction::Div:
    parts = multiply(x, invert(y));
    break;
  case MapFunction::Reciprocal:
    parts = invert(x);
    break;
  default:
    return result;
  }
  if (!context.isInfinite(result))
    context.getComplexParts().note(result, parts);
  return result;
}
