//===- FieldFunctions.h - scalar functions over the field -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H
#define COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H

#include "commute/Equivalence/FieldAlgebra.h"

namespace commute::equivalence {

/// A constant as a field element or as an integer.
uint64_t getConstant(mlir::TypedAttr value, bool asField);
/// The key of the random function that a rounding cast to `type` is.
uint64_t getCastKey(mlir::Type type);
/// An integer in the range of `type`, as two's complement arithmetic leaves it.
uint64_t wrapInteger(int64_t value, mlir::Type type);

uint64_t dotField(const uint64_t *lhs, const uint64_t *rhs, int64_t count);
uint64_t dotInteger(const uint64_t *lhs, const uint64_t *rhs, int64_t count);

/// One function of tp.map for operands of given kinds.
class ScalarFunction {
public:
  ScalarFunction(tp::MapFunction function,
                 llvm::ArrayRef<tp::AlgebraValue> operands, mlir::Type type);

  uint64_t operator()(uint64_t a, uint64_t b, uint64_t c) const;

private:
  uint64_t toField(unsigned operand, uint64_t value) const;
  uint64_t evaluateField(uint64_t a, uint64_t b) const;
  uint64_t evaluateInteger(int64_t a, int64_t b) const;
  bool compare(uint64_t a, uint64_t b) const;
  /// Into the result's kind.
  uint64_t finish(uint64_t value, bool isField) const;

  tp::MapFunction function;
  mlir::Type type;
  bool isResultField;
  /// Whether operands are combined as field elements.
  bool isField;
  bool isOperandField[3] = {false, false, false};
};

/// One reduction kind for elements of a type.
class Combiner {
public:
  Combiner(tp::ReductionKind kind, mlir::Type from, mlir::Type to);

  /// The value of an empty reduction.
  uint64_t getStart() const;
  uint64_t convert(uint64_t element) const;
  uint64_t combine(uint64_t a, uint64_t b) const;
  /// After all `count` elements: the mean's division.
  uint64_t finish(uint64_t value, int64_t count) const;

private:
  tp::ReductionKind kind;
  mlir::Type to;
  bool isFromField;
  bool isField;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H
