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

inline bool isTruthType(mlir::Type type) { return type.isInteger(1); }
/// Whether values of the type are field elements: floats are.
inline bool isFieldType(mlir::Type type) {
  return !mlir::isa<mlir::IntegerType>(type);
}

/// Returns a constant as an element of a tensor of type `type`.
uint64_t getConstant(mlir::TypedAttr value, mlir::Type type);
/// Returns a constant as a number.
double getNumber(mlir::TypedAttr value);
/// Returns the key of the random function that represents a rounding cast to
/// `type`.
uint64_t getCastKey(mlir::Type type);
/// Converts an element of type `from` to type `to`, by a cast that does not
/// round.
uint64_t convertElement(ScalarContext &context, uint64_t element,
                        mlir::Type from, mlir::Type to);

/// Returns NaN, of which zero times it and its difference from itself are NaN.
uint64_t getNotANumber(ScalarContext &context);

uint64_t dotField(const uint64_t *lhs, const uint64_t *rhs, int64_t count);
uint64_t dotInteger(const uint64_t *lhs, const uint64_t *rhs, int64_t count);

/// A function of tp.map for operands of given kinds.
class ScalarFunction {
public:
  ScalarFunction(ScalarContext &context, tp::MapFunction function,
                 llvm::ArrayRef<tp::AlgebraValue> operands, mlir::Type type);

  uint64_t operator()(uint64_t a, uint64_t b, uint64_t c) const;

private:
  /// The kind of elements that the function computes with.
  enum class Kind { Field, Integer, Truth };
  static Kind getKind(mlir::Type type);
  /// The key of a function of which only that is known that equal operands have
  /// equal results.
  static uint64_t getKey(tp::MapFunction function) {
    return 0x6a09e667f3bcc908 + 977 * static_cast<uint64_t>(function);
  }

  uint64_t convert(unsigned operand, uint64_t value, Kind to) const;
  uint64_t finish(uint64_t value, Kind from) const;
  uint64_t select(uint64_t condition, uint64_t a, uint64_t b) const;
  uint64_t evaluateField(uint64_t a, uint64_t b) const;
  /// Returns the parts of an operand, which may be real beside complex ones.
  ComplexParts::Parts getParts(unsigned operand, uint64_t element) const;
  /// Records the parts of a complex result.
  uint64_t noteParts(uint64_t a, uint64_t b, uint64_t result) const;
  bool isComplex(unsigned operand) const {
    return mlir::isa_and_present<mlir::ComplexType>(operandTypes[operand]);
  }
  /// Compare the operands, which are whole numbers if both have the type of
  /// those.
  uint64_t isEqual(uint64_t a, uint64_t b) const;
  uint64_t isLess(uint64_t a, uint64_t b) const;
  bool comparesWholeNumbers() const {
    return operandTypes[1] && operandTypes[0].isF128() &&
           operandTypes[1].isF128();
  }
  /// The root of a number that is known to be negative is not a number.
  uint64_t evaluateSquareRoot(uint64_t a) const;
  uint64_t evaluateGelu(uint64_t a) const;
  uint64_t evaluatePower(uint64_t base, uint64_t exponent) const;
  /// exp(x + log(s)) is exp(x) s; exp(0) is one, and log(1) zero.
  uint64_t evaluateExponential(uint64_t a) const;
  uint64_t evaluateLogarithm(uint64_t a) const;
  static uint64_t evaluateUnscaledLogarithm(uint64_t a);
  /// A function of which only its symmetry and its value at zero are known.
  uint64_t evaluateUnknown(uint64_t a, tp::MapFunction unknown) const;
  uint64_t evaluateAbsolute(uint64_t a) const;
  uint64_t evaluateSign(uint64_t a) const;
  /// The largest whole number up to a/b, of two numbers that are known.
  std::optional<uint64_t> divideToFloor(uint64_t a, uint64_t b) const;
  /// round, floor and ceil.
  uint64_t evaluateRounding(uint64_t a) const;
  /// 1/a, which is infinite for zero.
  uint64_t invert(uint64_t a) const;
  /// Records that an element is infinite or not a number, and returns it.
  uint64_t noteInfinite(uint64_t element) const;
  uint64_t add(uint64_t a, uint64_t b, bool subtracts) const;
  /// Returns the result of a sum or product of `a` and `b` if one of them is
  /// infinite.
  uint64_t keepInfinite(uint64_t a, uint64_t b, uint64_t result) const;
  /// Records what is known of a product or a quotient, and returns it.
  uint64_t noteProduct(uint64_t a, uint64_t b, uint64_t product) const;
  uint64_t noteQuotient(uint64_t a, uint64_t b, uint64_t quotient) const;
  /// Records the number that `result`, a sum or product of `a` and `b`, is if
  /// both are known: a position times 0.2500001 is not a small fraction.
  uint64_t noteComputed(uint64_t a, uint64_t b, uint64_t result) const;
  /// An idempotent function, identified by `key`.
  uint64_t applyOnce(uint64_t a, uint64_t key) const;
  /// Of exact elements; see IntegerFunctions.cpp.
  uint64_t evaluateInteger(int64_t a, int64_t b) const;
  uint64_t evaluateTruth(uint64_t a, uint64_t b) const;

  ScalarContext &context;
  tp::MapFunction function;
  mlir::Type type;
  Kind kind;
  Kind resultKind;
  mlir::Type operandTypes[3];
  Kind operandKinds[3];
  /// The last divisor and its inverse, because rows are divided by the same
  /// number.
  mutable uint64_t divisor = 1, inverse = 1;
  /// Whether the first operands were known numbers: where these are not, hardly
  /// any are, and looking up each would take longer than computing it.
  mutable std::optional<bool> hasKnownOperands;
};

/// A reduction kind for elements of one type.
class Combiner {
public:
  Combiner(ScalarContext &context, tp::ReductionKind kind, mlir::Type from,
           mlir::Type to);

  /// Converts an element of the operand to a summand that represents `weight`
  /// equal elements.
  uint64_t prepare(uint64_t element, int64_t weight) const;
  uint64_t combine(uint64_t a, uint64_t b) const;
  /// Combines all elements, in order.
  uint64_t combine(llvm::ArrayRef<uint64_t> elements) const;
  /// Finishes a reduction of `count` elements: the division of a mean.
  uint64_t finish(uint64_t value, int64_t count) const;

private:
  /// A multiple of an element, and the sum of some.
  uint64_t multiply(uint64_t value, uint64_t number) const;
  uint64_t add(llvm::ArrayRef<uint64_t> elements) const;

  ScalarContext &context;
  tp::ReductionKind kind;
  mlir::Type from, to;
  bool isTruth;
  bool isField;
  bool isComplex;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_FIELDFUNCTIONS_H
