//===- FieldFunctions.h - scalar functions over the field -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H
#define COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H

#include "commute/Dialect/ScalarFunctions.h"
#include "commute/Equivalence/FieldAlgebra.h"

namespace commute::equivalence {

using tp::wrapInteger;

/// A constant as an element of a tensor of type `type`.
uint64_t getConstant(mlir::TypedAttr value, mlir::Type type);
/// A constant as a number.
double getNumber(mlir::TypedAttr value);
/// The key of the random function that a rounding cast to `type` is.
uint64_t getCastKey(mlir::Type type);
/// An element of type `from` as an element of type `to`, as a cast that does
/// not round.
uint64_t convertElement(ScalarContext &context, uint64_t element,
                        mlir::Type from, mlir::Type to);

uint64_t dotField(const uint64_t *lhs, const uint64_t *rhs, int64_t count);
uint64_t dotInteger(const uint64_t *lhs, const uint64_t *rhs, int64_t count);

/// One function of tp.map for operands of given kinds.
class ScalarFunction {
public:
  ScalarFunction(ScalarContext &context, tp::MapFunction function,
                 llvm::ArrayRef<tp::AlgebraValue> operands, mlir::Type type);

  uint64_t operator()(uint64_t a, uint64_t b, uint64_t c) const;

private:
  /// What elements are while they are computed with.
  enum class Kind { Field, Integer, Truth };
  static Kind getKind(mlir::Type type);

  uint64_t convert(unsigned operand, uint64_t value, Kind to) const;
  uint64_t finish(uint64_t value, Kind from) const;
  uint64_t select(uint64_t condition, uint64_t a, uint64_t b) const;
  uint64_t evaluateField(uint64_t a, uint64_t b) const;
  /// Of known numbers below zero, that is no number.
  uint64_t evaluateSquareRoot(uint64_t a) const;
  uint64_t evaluatePower(uint64_t base, uint64_t exponent) const;
  /// 1/a, which is infinite for zero.
  uint64_t invert(uint64_t a) const;
  /// Notes that an element is infinite or no number, and returns it.
  uint64_t noteInfinite(uint64_t element) const;
  uint64_t add(uint64_t a, uint64_t b, bool subtracts) const;
  /// What a sum or a product of `a` and `b` comes to, if one is infinite.
  uint64_t keepInfinite(uint64_t a, uint64_t b, uint64_t result) const;
  /// A function that is known by `key` and changes no result of its own.
  uint64_t applyOnce(uint64_t a, uint64_t key) const;
  uint64_t evaluateInteger(int64_t a, int64_t b) const;
  uint64_t evaluateTruth(uint64_t a, uint64_t b) const;

  ScalarContext &context;
  tp::MapFunction function;
  mlir::Type type;
  Kind kind;
  Kind resultKind;
  mlir::Type operandTypes[3];
  Kind operandKinds[3];
  /// The last divisor and its inverse: rows are divided by one number.
  mutable uint64_t divisor = 1, inverse = 1;
};

/// One reduction kind for elements of a type.
class Combiner {
public:
  Combiner(ScalarContext &context, tp::ReductionKind kind, mlir::Type from,
           mlir::Type to);

  /// An element of the operand as one that is combined, standing for `weight`
  /// equal ones.
  uint64_t prepare(uint64_t element, int64_t weight) const;
  uint64_t combine(uint64_t a, uint64_t b) const;
  /// All elements, in order.
  uint64_t combine(llvm::ArrayRef<uint64_t> elements) const;
  /// After all `count` elements: the mean's division.
  uint64_t finish(uint64_t value, int64_t count) const;

private:
  ScalarContext &context;
  tp::ReductionKind kind;
  mlir::Type from, to;
  bool isTruth;
  bool isField;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H
