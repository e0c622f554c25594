//===- FieldFunctions.cpp - scalar functions over the field -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"

#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/xxhash.h"

#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

uint64_t equivalence::getConstant(TypedAttr value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    double real = number.getValueAsDouble();
    if (isFieldType(type))
      return PrimeField::fromDouble(real);
    if (isTruthType(type))
      return real != 0;
    constexpr double limit = 0x1p63;
    return real > -limit && real < limit
               ? wrapInteger(static_cast<int64_t>(real), type)
               : 0;
  }
  auto integer = cast<IntegerAttr>(value);
  int64_t number = integer.getType().isInteger(1)
                       ? integer.getValue().getBoolValue()
                       : integer.getValue().getSExtValue();
  if (isTruthType(type))
    return number != 0;
  // An integer that floats are computed with is a constant like all others.
  return isFieldType(type) ? PrimeField::fromDouble(static_cast<double>(number))
                           : wrapInteger(number, type);
}

double equivalence::getNumber(TypedAttr value) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  auto integer = cast<IntegerAttr>(value);
  return integer.getType().isInteger(1)
             ? integer.getValue().getBoolValue()
             : static_cast<double>(integer.getValue().getSExtValue());
}

uint64_t equivalence::getCastKey(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return llvm::xxh3_64bits(text);
}

uint64_t equivalence::convertElement(ScalarContext &context, uint64_t element,
                                     Type from, Type to) {
  if (isFieldType(from)) {
    // The imaginary part is cut off.
    if (isFieldType(to))
      return isa<ComplexType>(from) && !isa<ComplexType>(to)
                 ? context.getComplexParts().get(element).first
                 : element;
    // A number is true if it is not zero.
    if (isTruthType(to))
      return PrimeField::subtract(1, context.isEqual(element, 0));
    // Counts are often floats for a while. Other numbers would be cut off, so
    // that it would matter which integers they lie between.
    constexpr double largest = int64_t(1) << 53;
    if (std::optional<double> known = context.getKnownNumber(element);
        known && std::abs(*known) <= largest && std::trunc(*known) == *known)
      return wrapInteger(static_cast<int64_t>(*known), to);
    context.noteSampled();
    return context.drawInteger(PrimeField::mix(element, getCastKey(to)), to);
  }
  if (isTruthType(from)) {
    if (isTruthType(to) || isFieldType(to))
      return element;
    return context.toBit(element);
  }
  if (isFieldType(to)) {
    // Integers up to this bound have different images. Beyond it, the prime
    // itself would be zero, so a number is represented like the constant of its
    // double.
    constexpr int64_t largestExact = int64_t(1) << 60;
    auto number = static_cast<int64_t>(element);
    auto real = static_cast<double>(number);
    uint64_t image = number >= -largestExact && number <= largestExact
                         ? PrimeField::fromInteger(number)
                         : PrimeField::fromDouble(real);
    context.noteNumber(image, real);
    return image;
  }
  return isTruthType(to) ? element != 0
                         : wrapInteger(static_cast<int64_t>(element), to);
}

uint64_t equivalence::dotField(const uint64_t *lhs, const uint64_t *rhs,
                               int64_t count) {
  // A product has 122 bits, so 32 products fit in 127 bits.
  uint64_t result = 0;
  for (int64_t begin = 0; begin < count; begin += 32) {
    unsigned __int128 sum = 0;
    int64_t end = std::min<int64_t>(begin + 32, count);
    for (int64_t k = begin; k < end; ++k)
      sum += static_cast<unsigned __int128>(lhs[k]) * rhs[k];
    result = PrimeField::add(result, PrimeField::reduceWide(sum));
  }
  return result;
}

uint64_t equivalence::dotInteger(const uint64_t *lhs, const uint64_t *rhs,
                                 int64_t count) {
  uint64_t sum = 0;
  for (int64_t k = 0; k < count; ++k)
    sum += lhs[k] * rhs[k];
  return sum;
}

//===----------------------------------------------------------------------===//
// ScalarFunction
//===----------------------------------------------------------------------===//

ScalarFunction::Kind ScalarFunction::getKind(Type type) {
  return isFieldType(type)   ? Kind::Field
         : isTruthType(type) ? Kind::Truth
                             : Kind::Integer;
}

ScalarFunction::ScalarFunction(ScalarContext &context, MapFunction function,
                               ArrayRef<tp::AlgebraValue> operands, Type type)
    : context(context), function(function), type(type), kind(Kind::Truth),
      resultKind(getKind(type)) {
  // Operands are promoted: truth values to integers, and integers to floats. A
  // float result is computed in floats.
  auto promote = [&](Kind other) {
    if (other == Kind::Field || kind == Kind::Truth)
      kind = other;
  };
  for (auto [index, operand] : llvm::enumerate(operands)) {
    operandTypes[index] = operand->getElementType();
    operandKinds[index] = getKind(operandTypes[index]);
    // The condition of a select does not take part in promotion.
    if (function != MapFunction::Select || index > 0)
      promote(getKind(operandTypes[index]));
  }
  if (!tp::MapOp::isPredicate(function))
    promote(getKind(type));
  // The truth value of numbers is computed for each operand separately.
  if (function == MapFunction::LogicalAnd ||
      function == MapFunction::LogicalOr || function == MapFunction::LogicalNot)
    kind = Kind::Truth;
}

uint64_t ScalarFunction::convert(unsigned operand, uint64_t value,
                                 Kind to) const {
  if (operandKinds[operand] == to)
    return value;
  Type from = operandTypes[operand];
  MLIRContext *mlir = type.getContext();
  Type target = to == Kind::Field   ? Type(Float64Type::get(mlir))
                : to == Kind::Truth ? Type(IntegerType::get(mlir, 1))
                                    : Type(IntegerType::get(mlir, 64));
  return convertElement(context, value, from, target);
}

uint64_t ScalarFunction::finish(uint64_t value, Kind from) const {
  if (from == Kind::Integer && resultKind == Kind::Integer)
    return wrapInteger(static_cast<int64_t>(value), type);
  if (from == resultKind)
    return value;
  MLIRContext *mlir = type.getContext();
  Type source = from == Kind::Field   ? Type(Float64Type::get(mlir))
                : from == Kind::Truth ? Type(IntegerType::get(mlir, 1))
                                      : Type(IntegerType::get(mlir, 64));
  return convertElement(context, value, source, type);
}

uint64_t ScalarFunction::select(uint64_t condition, uint64_t a,
                                uint64_t b) const {
  if (condition == 1 || a == b)
    return a;
  if (condition == 0)
    return b;
  if (kind == Kind::Integer)
    return context.toBit(condition) ? a : b;
  return PrimeField::add(
      PrimeField::multiply(condition, a),
      PrimeField::multiply(PrimeField::subtract(1, condition), b));
}

uint64_t ScalarFunction::operator()(uint64_t a, uint64_t b, uint64_t c) const {
  if (function == MapFunction::Select) {
    uint64_t condition = convert(0, a, Kind::Truth);
    b = convert(1, b, kind);
    c = convert(2, c, kind);
    uint64_t chosen = select(condition, b, c);
    if (isa<ComplexType>(type) && chosen != b && chosen != c) {
      ComplexParts &parts = context.getComplexParts();
      auto [bReal, bImaginary] = getParts(1, b);
      auto [cReal, cImaginary] = getParts(2, c);
      parts.note(chosen, {select(condition, bReal, cReal),
                          select(condition, bImaginary, cImaginary)});
    }
    return finish(chosen, kind);
  }
  unsigned arity = operandTypes[1] ? 2 : 1;
  a = convert(0, a, kind);
  b = arity == 2 ? convert(1, b, kind) : 0;
  Kind resultKind = tp::MapOp::isPredicate(function) ? Kind::Truth : kind;
  switch (kind) {
  case Kind::Field: {
    uint64_t result = evaluateField(a, b);
    return finish(isa<ComplexType>(type) ? noteParts(a, b, result) : result,
                  resultKind);
  }
  case Kind::Integer:
    return finish(
        evaluateInteger(static_cast<int64_t>(a), static_cast<int64_t>(b)),
        resultKind);
  case Kind::Truth:
    return finish(evaluateTruth(a, b), resultKind);
  }
  llvm_unreachable("a kind of element that is not listed");
}

uint64_t equivalence::getNotANumber(ScalarContext &context) {
  context.noteInfinite(context.getNotANumber());
  return context.getNotANumber();
}

uint64_t ScalarFunction::noteInfinite(uint64_t element) const {
  context.noteInfinite(element);
  return element;
}

uint64_t ScalarFunction::add(uint64_t a, uint64_t b, bool subtracts) const {
  uint64_t term = subtracts ? PrimeField::negate(b) : b;
  // Adding a finite value does not change infinity: all scores that a mask
  // excludes have one value, not as many as there are scores.
  auto isInfinity = [infinity = context.getInfinity()](uint64_t element) {
    return element == infinity || element == PrimeField::negate(infinity);
  };
  if (isInfinity(a) && !context.isInfinite(b))
    return noteInfinite(a);
  if (isInfinity(term) && !context.isInfinite(a))
    return noteInfinite(term);
  uint64_t sum = PrimeField::add(a, term);
  context.getLogarithms().noteSum(a, b, subtracts, sum);
  if (!subtracts)
    context.getLogarithms().noteScaledSum({a, b}, sum);
  return keepInfinite(a, b, sum);
}

uint64_t ScalarFunction::keepInfinite(uint64_t a, uint64_t b,
                                      uint64_t result) const {
  if (!context.isInfinite(a) && !context.isInfinite(b))
    return result;
  return noteInfinite(result ? result : context.getNotANumber());
}

uint64_t ScalarFunction::noteComputed(uint64_t a, uint64_t b,
                                      uint64_t result) const {
  if (!hasKnownOperands.value_or(true))
    return result;
  std::optional<double> x = context.getNotedNumber(a);
  std::optional<double> y = context.getNotedNumber(b);
  if (!hasKnownOperands)
    hasKnownOperands = x && y;
  if (!x || !y || PrimeField::toFraction(result))
    return result;
  double number = function == MapFunction::Add   ? *x + *y
                  : function == MapFunction::Sub ? *x - *y
                                                 : *x * *y;
  if (std::isfinite(number))
    context.noteNumber(result, number);
  return result;
}

uint64_t ScalarFunction::noteProduct(uint64_t a, uint64_t b,
                                     uint64_t product) const {
  context.noteProduct(a, b, product);
  context.getLogarithms().noteScaledProduct(a, b, product);
  context.getMonotoneImages().noteProduct(a, b, product, /*isQuotient=*/false);
  context.getMonotoneImages().noteProduct(b, a, product, /*isQuotient=*/false);
  return noteComputed(a, b, keepInfinite(a, b, product));
}

uint64_t ScalarFunction::noteQuotient(uint64_t a, uint64_t b,
                                      uint64_t quotient) const {
  context.noteQuotient(a, b, quotient);
  context.getMonotoneImages().noteProduct(a, b, quotient, /*isQuotient=*/true);
  return quotient;
}

uint64_t ScalarFunction::invert(uint64_t a) const {
  if (a == context.getNotANumber())
    return a;
  return a == 0 ? noteInfinite(context.getInfinity()) : PrimeField::invert(a);
}

uint64_t ScalarFunction::evaluateSquareRoot(uint64_t a) const {
  if (a == 0)
    return 0;
  // The root of a negative number is imaginary.
  if (context.isNegative(a) && !isa<ComplexType>(type))
    return getNotANumber(context);
  // The element that the root has as a constant, which passes fold.
  if (std::optional<double> number = PrimeField::toFraction(a);
      number && *number > 0) {
    double rounded = std::sqrt(*number);
    uint64_t root = PrimeField::fromDouble(rounded);
    context.noteNumber(root, rounded);
    return root;
  }
  return PrimeField::mix(a, getKey(MapFunction::Sqrt));
}

/// x times the distribution function of the normal distribution, which gelu
/// approximates in one of its forms. The constants are those that PyTorch's
/// decompositions compute in doubles.
uint64_t ScalarFunction::evaluateGelu(uint64_t a) const {
  using F = PrimeField;
  uint64_t inner, unknown;
  if (function == MapFunction::GeluTanh) {
    uint64_t scale = context.getElement(M_SQRT2 * M_2_SQRTPI * 0.5);
    uint64_t cubic = context.getElement(0.044715);
    uint64_t cube = F::multiply(a, F::multiply(a, a));
    inner = F::multiply(scale, F::add(a, F::multiply(cubic, cube)));
    unknown = evaluateUnknown(inner, MapFunction::Tanh);
  } else {
    uint64_t scale = context.getElement(M_SQRT1_2);
    inner = F::multiply(a, scale);
    unknown = evaluateUnknown(inner, MapFunction::Erf);
  }
  uint64_t half = context.getElement(0.5);
  return F::multiply(F::multiply(a, half), F::add(1, unknown));
}

uint64_t ScalarFunction::evaluateExponential(uint64_t a) const {
  // Zero.
  if (a == PrimeField::negate(context.getInfinity()))
    return 0;
  std::optional<Logarithms::Form> known = context.getLogarithms().find(a);
  if (!known)
    context.getLogarithms().noteOpaque(a);
  Logarithms::Form form = known.value_or(Logarithms::Form{a, 1});
  uint64_t power =
      form.rest == 0 ? 1 : PrimeField::mix(form.rest, getKey(MapFunction::Exp));
  uint64_t result = PrimeField::multiply(power, form.factor);
  if (known && !isa<ComplexType>(type))
    context.getLogarithms().noteScale(
        result, {form.factor, PrimeField::subtract(a, form.rest)});
  // Of a sum with a logarithm, it is that of the rest times a positive number.
  if (!isa<ComplexType>(type))
    context.getMonotoneImages().note(
        result, form.rest,
        PrimeField::mix(form.factor, getKey(MapFunction::Exp)),
        /*isPositive=*/true);
  return result;
}

uint64_t ScalarFunction::evaluateLogarithm(uint64_t a) const {
  if (a == 0)
    return noteInfinite(PrimeField::negate(context.getInfinity()));
  // A complex number has many logarithms.
  if (isa<ComplexType>(type))
    return PrimeField::mix(a, ~getKey(MapFunction::Log));
  if (context.isNegative(a))
    return getNotANumber(context);
  if (a == 1)
    return 0;
  Logarithms &logarithms = context.getLogarithms();
  if (const uint64_t *known = logarithms.findLogarithm(a))
    return *known;
  uint64_t result;
  if (std::optional<Logarithms::Scale> scale = logarithms.findScale(a)) {
    uint64_t unscaled =
        PrimeField::multiply(a, PrimeField::invert(scale->factor));
    // Nothing is infinite here that was not before.
    result =
        PrimeField::add(evaluateUnscaledLogarithm(unscaled), scale->logarithm);
  } else {
    result = evaluateUnscaledLogarithm(a);
  }
  logarithms.noteLogarithm(a, result);
  logarithms.note(result, a);
  return result;
}

uint64_t ScalarFunction::evaluateUnscaledLogarithm(uint64_t a) {
  return a == 1 ? 0 : PrimeField::mix(a, getKey(MapFunction::Log));
}

uint64_t ScalarFunction::evaluatePower(uint64_t base, uint64_t exponent) const {
  // Small integer exponents are products, and halves are roots, so that a
  // square does not depend on its spelling.
  constexpr uint64_t largest = 64;
  if (exponent <= largest)
    return PrimeField::power(base, exponent);
  if (PrimeField::negate(exponent) <= largest)
    return invert(PrimeField::power(base, PrimeField::negate(exponent)));
  uint64_t half = PrimeField::invert(2);
  if (exponent == half)
    return evaluateSquareRoot(base);
  if (exponent == PrimeField::negate(half))
    return invert(evaluateSquareRoot(base));
  return PrimeField::mix(base,
                         PrimeField::mix(exponent, getKey(MapFunction::Pow)));
}

/// Idempotence: a rounded value does not change when it is rounded again.
static constexpr uint64_t wholeNumbers = 0x428a2f98d728ae22;

uint64_t ScalarFunction::applyOnce(uint64_t a, uint64_t key) const {
  if (context.isFixed(a, key))
    return a;
  uint64_t result = PrimeField::mix(a, key);
  context.noteFixed(result, key);
  return result;
}

/// Beyond this, the double that is known of a number may be a rounded one.
static constexpr double largestWhole = int64_t(1) << 50;

uint64_t ScalarFunction::evaluateUnknown(uint64_t a,
                                         MapFunction unknown) const {
  enum Symmetry { Asymmetric, Even, Odd, Complementary } symmetry = Asymmetric;
  double atZero = 0;
  switch (unknown) {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:                                                      \
    symmetry = Symmetry;                                                       \
    atZero = AtZero;                                                           \
    break;
#include "commute/Dialect/ScalarFunctions.def"
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  case MapFunction::Name:
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)
#include "commute/Dialect/ScalarFunctions.def"
    llvm_unreachable("a function about which more is known");
  }
  if (a == 0)
    return PrimeField::fromDouble(atZero);
  uint64_t opposite = PrimeField::negate(a);
  bool isMirrored = symmetry != Asymmetric && opposite < a;
  uint64_t result = PrimeField::mix(isMirrored ? opposite : a, getKey(unknown));
  if (isMirrored && symmetry == Odd)
    result = PrimeField::negate(result);
  else if (isMirrored && symmetry == Complementary)
    result = PrimeField::subtract(1, result);
  bool isSigmoid = unknown == MapFunction::Sigmoid;
  if ((isSigmoid || unknown == MapFunction::Tanh ||
       unknown == MapFunction::Erf) &&
      !isa<ComplexType>(type))
    context.getMonotoneImages().note(result, a, getKey(unknown),
                                     /*isPositive=*/isSigmoid);
  return result;
}

uint64_t ScalarFunction::evaluateAbsolute(uint64_t a) const {
  if (std::optional<double> known = context.getKnownNumber(a)) {
    if (*known >= 0)
      return a;
    uint64_t opposite = PrimeField::negate(a);
    context.noteNumber(opposite, -*known);
    return keepInfinite(a, a, opposite);
  }
  return context.getAbsolute(a);
}

uint64_t ScalarFunction::evaluateRounding(uint64_t a) const {
  std::optional<double> known = context.getKnownNumber(a);
  if (known && !std::isfinite(*known))
    return a;
  if (known && std::abs(*known) <= largestWhole) {
    // Ties to even: the default rounding mode of every thread.
    double whole = function == MapFunction::Round   ? std::nearbyint(*known)
                   : function == MapFunction::Floor ? std::floor(*known)
                                                    : std::ceil(*known);
    return PrimeField::fromInteger(static_cast<int64_t>(whole));
  }
  if (context.isFixed(a, wholeNumbers))
    return a;
  uint64_t result = PrimeField::mix(a, getKey(function));
  context.noteFixed(result, wholeNumbers);
  return result;
}

std::optional<uint64_t> ScalarFunction::divideToFloor(uint64_t a,
                                                      uint64_t b) const {
  if (b == 0 || !context.getKnownNumber(a) || !context.getKnownNumber(b))
    return std::nullopt;
  std::optional<double> quotient =
      context.getKnownNumber(PrimeField::multiply(a, PrimeField::invert(b)));
  if (!quotient || std::abs(*quotient) > largestWhole)
    return std::nullopt;
  return PrimeField::fromInteger(static_cast<int64_t>(std::floor(*quotient)));
}

uint64_t ScalarFunction::evaluateSign(uint64_t a) const {
  if (std::optional<double> known = context.getKnownNumber(a))
    return *known > 0 ? 1 : *known < 0 ? PrimeField::negate(1) : 0;
  return applyOnce(a, getKey(MapFunction::Sign));
}

uint64_t ScalarFunction::isEqual(uint64_t a, uint64_t b) const {
  return comparesWholeNumbers() ? context.isWholeEqual(a, b)
                                : context.isEqual(a, b);
}

uint64_t ScalarFunction::isLess(uint64_t a, uint64_t b) const {
  return comparesWholeNumbers() ? context.isWholeLess(a, b)
                                : context.isLess(a, b);
}

uint64_t ScalarFunction::evaluateField(uint64_t a, uint64_t b) const {
  using F = PrimeField;
  uint64_t notANumber = context.getNotANumber();
  if ((a == notANumber || b == notANumber) && !tp::MapOp::isPredicate(function))
    return notANumber;
  // Of the unknown functions, this one alone has a law.
  if (function == MapFunction::Exp)
    return evaluateExponential(a);
  if (function == MapFunction::Gelu || function == MapFunction::GeluTanh)
    return keepInfinite(a, a, evaluateGelu(a));
  switch (function) {
  case MapFunction::Add:
    return noteComputed(a, b, add(a, b, /*subtracts=*/false));
  case MapFunction::Sub:
    return noteComputed(a, b, add(a, b, /*subtracts=*/true));
  case MapFunction::Mul:
    return noteProduct(a, b, F::multiply(a, b));
  case MapFunction::Div:
    if (b == 0)
      return keepInfinite(a, invert(b), F::multiply(a, context.getInfinity()));
    if (b != divisor) {
      divisor = b;
      inverse = F::invert(b);
    }
    return noteQuotient(a, b, F::multiply(a, inverse));
  case MapFunction::Pow:
    return evaluatePower(a, b);
  case MapFunction::Maximum:
    return context.boundBelow(a, b);
  case MapFunction::Minimum:
    return context.boundAbove(a, b);
  case MapFunction::Relu:
    return context.boundBelow(a, 0);
  case MapFunction::Neg:
    return add(0, a, /*subtracts=*/true);
  case MapFunction::Reciprocal:
    return noteQuotient(1, a, invert(a));
  case MapFunction::Sqrt:
    return evaluateSquareRoot(a);
  case MapFunction::Rsqrt:
    return invert(evaluateSquareRoot(a));
  case MapFunction::Silu:
    return F::multiply(a, evaluateUnknown(a, MapFunction::Sigmoid));
  case MapFunction::Equal:
    return isEqual(a, b);
  case MapFunction::NotEqual:
    return F::subtract(1, isEqual(a, b));
  case MapFunction::Less:
    return isLess(a, b);
  case MapFunction::LessEqual:
    return F::subtract(1, isLess(b, a));
  case MapFunction::Greater:
    return isLess(b, a);
  case MapFunction::GreaterEqual:
    return F::subtract(1, isLess(a, b));
  case MapFunction::IsNan:
    return context.isNan(a);
  case MapFunction::IsOne:
    return a;
  case MapFunction::Weight: {
    std::optional<double> number = context.getKnownNumber(a);
    std::optional<double> integer = context.getKnownNumber(b);
    return number && integer && std::trunc(*number) == *number
               ? *number == *integer
               : F::mix(a, F::mix(b, getKey(function)));
  }
  case MapFunction::FloorDiv:
    if (std::optional<uint64_t> known = divideToFloor(a, b))
      return *known;
    return F::mix(a, F::mix(b, getKey(function)));
  case MapFunction::Remainder:
    if (std::optional<uint64_t> known = divideToFloor(a, b))
      return F::subtract(a, F::multiply(*known, b));
    return applyOnce(a, F::mix(b, getKey(function)));
  case MapFunction::BitwiseAnd:
  case MapFunction::BitwiseOr:
  case MapFunction::BitwiseXor:
    return F::mix(a, F::mix(b, getKey(function)));
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return evaluateRounding(a);
  case MapFunction::Abs:
    return evaluateAbsolute(a);
  case MapFunction::Sign:
    return evaluateSign(a);
  case MapFunction::Log:
    return evaluateLogarithm(a);
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
    return evaluateUnknown(a, function);
  case MapFunction::BitwiseNot:
    return F::mix(a, getKey(function));
  case MapFunction::Select:
  case MapFunction::LogicalAnd:
  case MapFunction::LogicalOr:
  case MapFunction::LogicalNot:
    break;
  }
  llvm_unreachable("a function that is not computed on field elements");
}
