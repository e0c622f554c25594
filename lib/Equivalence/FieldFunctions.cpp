//===- FieldFunctions.cpp - scalar functions over the field -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"

#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;
using tp::ReductionKind;

uint64_t equivalence::getConstant(TypedAttr value, bool asField) {
  if (auto number = dyn_cast<FloatAttr>(value)) {
    double real = number.getValueAsDouble();
    return asField ? PrimeField::fromDouble(real)
                   : static_cast<uint64_t>(static_cast<int64_t>(real));
  }
  auto integer = cast<IntegerAttr>(value);
  int64_t number = integer.getType().isInteger(1)
                       ? integer.getValue().getBoolValue()
                       : integer.getInt();
  return asField ? PrimeField::fromInteger(number)
                 : static_cast<uint64_t>(number);
}

uint64_t equivalence::getCastKey(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return llvm::xxh3_64bits(text);
}

uint64_t equivalence::wrapInteger(int64_t value, Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return static_cast<uint64_t>(value);
  if (integer.getWidth() == 1)
    return value != 0;
  if (integer.getWidth() >= 64)
    return static_cast<uint64_t>(value);
  unsigned unused = 64 - integer.getWidth();
  uint64_t shifted = static_cast<uint64_t>(value) << unused;
  return integer.isUnsigned()
             ? shifted >> unused
             : static_cast<uint64_t>(static_cast<int64_t>(shifted) >> unused);
}

uint64_t equivalence::dotField(const uint64_t *lhs, const uint64_t *rhs,
                               int64_t count) {
  // A product has 122 bits: 32 of them fit into 127.
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

static uint64_t getKey(MapFunction function) {
  return 0x6a09e667f3bcc908 + 977 * static_cast<uint64_t>(function);
}

ScalarFunction::ScalarFunction(MapFunction function,
                               ArrayRef<tp::AlgebraValue> operands, Type type)
    : function(function), type(type), isResultField(!isa<IntegerType>(type)) {
  isField = isResultField;
  for (auto [index, operand] : llvm::enumerate(operands)) {
    isOperandField[index] = !isa<IntegerType>(operand->getElementType());
    // The condition of a selection has no say.
    if (function != MapFunction::Select || index > 0)
      isField |= isOperandField[index];
  }
}

uint64_t ScalarFunction::toField(unsigned operand, uint64_t value) const {
  return isOperandField[operand]
             ? value
             : PrimeField::fromInteger(static_cast<int64_t>(value));
}

/// An order of field elements that is random, but consistent: a < b exactly if
/// not b < a, for a != b.
static bool isLess(uint64_t a, uint64_t b) {
  if (a == b)
    return false;
  uint64_t difference = PrimeField::subtract(b, a);
  uint64_t opposite = PrimeField::negate(difference);
  // The smaller representative decides for both directions.
  bool isSwapped = opposite < difference;
  uint64_t bit = PrimeField::mix(isSwapped ? opposite : difference,
                                 getKey(MapFunction::Less)) &
                 1;
  return (bit != 0) != isSwapped;
}

/// The larger of two elements in a random total order, which keeps maximum and
/// minimum associative, commutative and idempotent. In the order of the numbers
/// themselves 0 would be below every random value, and a bound by it would
/// never bind; here it is in the middle, and binds half of the time.
static uint64_t getLarger(uint64_t a, uint64_t b) {
  constexpr uint64_t key = 0x3c6ef372fe94f82b;
  constexpr uint64_t shift =
      PrimeField::subtract(PrimeField::prime / 2, PrimeField::mix(0, key));
  auto place = [](uint64_t x) {
    return std::pair(PrimeField::add(PrimeField::mix(x, key), shift), x);
  };
  return place(a) < place(b) ? b : a;
}

static uint64_t getSmaller(uint64_t a, uint64_t b) {
  return getLarger(a, b) == a ? b : a;
}

bool ScalarFunction::compare(uint64_t a, uint64_t b) const {
  auto less = [&](uint64_t x, uint64_t y) {
    return isField ? isLess(x, y)
                   : static_cast<int64_t>(x) < static_cast<int64_t>(y);
  };
  switch (function) {
  case MapFunction::Equal:
    return a == b;
  case MapFunction::NotEqual:
    return a != b;
  case MapFunction::Less:
    return less(a, b);
  case MapFunction::LessEqual:
    return !less(b, a);
  case MapFunction::Greater:
    return less(b, a);
  case MapFunction::GreaterEqual:
    return !less(a, b);
  case MapFunction::LogicalAnd:
    return a != 0 && b != 0;
  case MapFunction::LogicalOr:
    return a != 0 || b != 0;
  case MapFunction::LogicalNot:
    return a == 0;
  default:
    // Nothing is a NaN.
    return false;
  }
}

uint64_t ScalarFunction::finish(uint64_t value, bool fromField) const {
  if (fromField == isResultField)
    return isResultField ? value
                         : wrapInteger(static_cast<int64_t>(value), type);
  if (isResultField)
    return PrimeField::fromInteger(static_cast<int64_t>(value));
  return type.isInteger(1) ? value != 0
                           : PrimeField::mix(value, getCastKey(type)) & 0xffff;
}

uint64_t ScalarFunction::operator()(uint64_t a, uint64_t b, uint64_t c) const {
  if (function == MapFunction::Select)
    return a != 0 ? finish(isField ? toField(1, b) : b, isField)
                  : finish(isField ? toField(2, c) : c, isField);
  if (tp::MapOp::isPredicate(function)) {
    bool truth =
        isField ? compare(toField(0, a), toField(1, b)) : compare(a, b);
    return finish(truth, /*isField=*/false);
  }
  if (isField)
    return finish(evaluateField(toField(0, a), toField(1, b)), true);
  return finish(
      evaluateInteger(static_cast<int64_t>(a), static_cast<int64_t>(b)), false);
}

static uint64_t evaluateSquareRoot(uint64_t a) {
  return PrimeField::mix(a, getKey(MapFunction::Sqrt));
}

static uint64_t evaluatePower(uint64_t base, uint64_t exponent) {
  // Small whole exponents are products, and halves are roots, so that a square
  // is a square however it is written.
  constexpr uint64_t largest = 64;
  if (exponent <= largest)
    return PrimeField::power(base, exponent);
  if (PrimeField::negate(exponent) <= largest)
    return PrimeField::invert(
        PrimeField::power(base, PrimeField::negate(exponent)));
  uint64_t half = PrimeField::invert(2);
  if (exponent == half)
    return evaluateSquareRoot(base);
  if (exponent == PrimeField::negate(half))
    return PrimeField::invert(evaluateSquareRoot(base));
  return PrimeField::mix(base, exponent ^ getKey(MapFunction::Pow));
}

uint64_t ScalarFunction::evaluateField(uint64_t a, uint64_t b) const {
  using F = PrimeField;
  switch (function) {
  case MapFunction::Add:
    return F::add(a, b);
  case MapFunction::Sub:
    return F::subtract(a, b);
  case MapFunction::Mul:
    return F::multiply(a, b);
  case MapFunction::Div:
    return F::multiply(a, F::invert(b));
  case MapFunction::Pow:
    return evaluatePower(a, b);
  case MapFunction::Maximum:
    return getLarger(a, b);
  case MapFunction::Minimum:
    return getSmaller(a, b);
  case MapFunction::Neg:
    return F::negate(a);
  case MapFunction::Reciprocal:
    return F::invert(a);
  case MapFunction::Sqrt:
    return evaluateSquareRoot(a);
  case MapFunction::Rsqrt:
    return F::invert(evaluateSquareRoot(a));
  case MapFunction::Silu:
    return F::multiply(a, F::mix(a, getKey(MapFunction::Sigmoid)));
  case MapFunction::FloorDiv:
  case MapFunction::Remainder:
    return F::mix(a, F::mix(b, getKey(function)));
  default:
    return F::mix(a, getKey(function));
  }
}

uint64_t ScalarFunction::evaluateInteger(int64_t a, int64_t b) const {
  auto ua = static_cast<uint64_t>(a);
  auto ub = static_cast<uint64_t>(b);
  // Python's division: towards minus infinity. By zero it is an error there.
  auto floorDivide = [&]() -> int64_t {
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min()))
      return 0;
    int64_t quotient = a / b;
    return quotient - ((a % b != 0) && ((a < 0) != (b < 0)));
  };
  switch (function) {
  case MapFunction::Add:
    return ua + ub;
  case MapFunction::Sub:
    return ua - ub;
  case MapFunction::Mul:
    return ua * ub;
  case MapFunction::Maximum:
    return std::max(a, b);
  case MapFunction::Minimum:
    return std::min(a, b);
  case MapFunction::FloorDiv:
    return floorDivide();
  case MapFunction::Remainder:
    return ua - static_cast<uint64_t>(floorDivide()) * ub;
  case MapFunction::Neg:
    return 0 - ua;
  case MapFunction::Abs:
    return a < 0 ? 0 - ua : ua;
  case MapFunction::Sign:
    return a > 0 ? 1 : a < 0 ? ~uint64_t(0) : 0;
  case MapFunction::BitwiseAnd:
    return ua & ub;
  case MapFunction::BitwiseOr:
    return ua | ub;
  case MapFunction::BitwiseXor:
    return ua ^ ub;
  case MapFunction::BitwiseNot:
    return type.isInteger(1) ? a == 0 : ~ua;
  case MapFunction::Relu:
    return std::max<int64_t>(a, 0);
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return ua;
  default:
    return PrimeField::mix(ua, PrimeField::mix(ub, getKey(function))) & 0xffff;
  }
}

//===----------------------------------------------------------------------===//
// Combiner
//===----------------------------------------------------------------------===//

Combiner::Combiner(ReductionKind kind, Type from, Type to)
    : kind(kind), to(to), isFromField(!isa<IntegerType>(from)),
      isField(!isa<IntegerType>(to)) {}

uint64_t Combiner::getStart() const {
  return kind == ReductionKind::Product ? 1 : 0;
}

uint64_t Combiner::convert(uint64_t element) const {
  if (isField == isFromField)
    return element;
  return isField ? PrimeField::fromInteger(static_cast<int64_t>(element))
                 : uint64_t(element != 0);
}

uint64_t Combiner::combine(uint64_t a, uint64_t b) const {
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return isField ? PrimeField::add(a, b) : a + b;
  case ReductionKind::Product:
    return isField ? PrimeField::multiply(a, b) : a * b;
  case ReductionKind::Max:
    return isField ? getLarger(a, b)
                   : static_cast<uint64_t>(std::max(static_cast<int64_t>(a),
                                                    static_cast<int64_t>(b)));
  case ReductionKind::Min:
    return isField ? getSmaller(a, b)
                   : static_cast<uint64_t>(std::min(static_cast<int64_t>(a),
                                                    static_cast<int64_t>(b)));
  }
  llvm_unreachable("a reduction that is not listed");
}

uint64_t Combiner::finish(uint64_t value, int64_t count) const {
  if (kind == ReductionKind::Avg && count > 0)
    return isField
               ? PrimeField::multiply(
                     value, PrimeField::invert(PrimeField::fromInteger(count)))
               : static_cast<uint64_t>(static_cast<int64_t>(value) / count);
  return isField ? value : wrapInteger(static_cast<int64_t>(value), to);
}
