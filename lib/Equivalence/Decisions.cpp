//===- Decisions.cpp - ops whose results have a few outcomes ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Decisions.h"

#include "FieldFunctions.h"
#include "ThresholdNumbers.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

Decision equivalence::getDecision(tp::MapOp op) {
  bool isOfTruth = llvm::all_of(op.getOperands(), [](Value operand) {
    return isTruthType(getElementTypeOrSelf(operand));
  });
  bool isOfIntegers = llvm::none_of(op.getOperands(), [](Value operand) {
    return isFieldType(getElementTypeOrSelf(operand));
  });
  MapFunction function = op.getFunction();
  auto isOneOf = [&](auto... functions) {
    return ((function == functions) || ...);
  };
  if (tp::getComparison(function))
    return isOfTruth      ? Decision::None
           : isOfIntegers ? Decision::Comparison
                          : Decision::ComparisonOfFloats;
  if (isOfTruth && isOneOf(MapFunction::LogicalAnd, MapFunction::BitwiseAnd))
    return Decision::Conjunction;
  if (isOfTruth && isOneOf(MapFunction::LogicalOr, MapFunction::BitwiseOr))
    return Decision::Disjunction;
  if (getNarrowType(op.getResult()) && isOfIntegers &&
      isOneOf(MapFunction::Add, MapFunction::Sub, MapFunction::Mul))
    return Decision::Arithmetic;
  return Decision::None;
}
