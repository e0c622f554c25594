//===- IntegerFunctions.cpp - scalar functions of exact elements *- C++ -*-===//
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

uint64_t ScalarFunction::evaluateInteger(int64_t a, int64_t b) const {
  auto ua = static_cast<uint64_t>(a);
  auto ub = static_cast<uint64_t>(b);
  // Python's division, which rounds towards minus infinity.
  auto floorDivide = [&]() -> int64_t {
    if (b == -1 && a == std::numeric_limits<int64_t>::min())
      return a;
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
  case MapFunction::Remainder:
    // Division by zero: an error in PyTorch, and a value that equals no other.
    if (b == 0) {
      context.noteDivisionByZero();
      return PrimeField::mix(ua, getKey(function));
    }
    if (function == MapFunction::FloorDiv)
      return floorDivide();
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
    return ~ua;
  case MapFunction::Relu:
    return std::max<int64_t>(a, 0);
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return ua;
  case MapFunction::Equal:
    return a == b;
  case MapFunction::NotEqual:
    return a != b;
  case MapFunction::Less:
    return a < b;
  case MapFunction::LessEqual:
    return a <= b;
  case MapFunction::Greater:
    return a > b;
  case MapFunction::GreaterEqual:
    return a >= b;
  case MapFunction::IsNan:
    return 0;
  case MapFunction::IsOne:
    return a == 1;
  case MapFunction::Weight:
    return a == b;
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
  case MapFunction::Pow:
    // Negative exponents are an error in PyTorch.
    if (b >= 0) {
      uint64_t power = 1;
      for (; ub; ub >>= 1, ua *= ua)
        if (ub & 1)
          power *= ua;
      return power;
    }
    [[fallthrough]];
  case MapFunction::Div:
  case MapFunction::Log:
  case MapFunction::Sqrt:
  case MapFunction::Rsqrt:
  case MapFunction::Reciprocal:
  case MapFunction::Silu:
    // These functions return their operand for integers.
    return static_cast<uint64_t>(context.drawInteger(
        PrimeField::mix(ua, PrimeField::mix(ub, getKey(function))), type));
  case MapFunction::Select:
  case MapFunction::LogicalAnd:
  case MapFunction::LogicalOr:
  case MapFunction::LogicalNot:
    break;
  }
  llvm_unreachable("a function that is not computed on integers");
}

uint64_t ScalarFunction::evaluateTruth(uint64_t a, uint64_t b) const {
  using F = PrimeField;
  auto negate = [](uint64_t x) { return F::subtract(1, x); };
  uint64_t both = F::multiply(a, b);
  uint64_t any = F::subtract(F::add(a, b), both);
  uint64_t one = F::subtract(any, both);
  switch (function) {
  case MapFunction::Add:
  case MapFunction::Maximum:
  case MapFunction::LogicalOr:
  case MapFunction::BitwiseOr:
    return any;
  case MapFunction::Mul:
  case MapFunction::Minimum:
  case MapFunction::LogicalAnd:
  case MapFunction::BitwiseAnd:
    return both;
  case MapFunction::BitwiseXor:
  case MapFunction::Sub:
  case MapFunction::NotEqual:
    return one;
  case MapFunction::Equal:
    return negate(one);
  case MapFunction::Less:
    return F::multiply(negate(a), b);
  case MapFunction::LessEqual:
    return negate(F::multiply(a, negate(b)));
  case MapFunction::Greater:
    return F::multiply(a, negate(b));
  case MapFunction::GreaterEqual:
    return negate(F::multiply(negate(a), b));
  case MapFunction::LogicalNot:
  case MapFunction::BitwiseNot:
    return negate(a);
  case MapFunction::IsNan:
    return 0;
  case MapFunction::IsOne:
    return a;
  case MapFunction::Weight:
    return negate(one);
  case MapFunction::Abs:
  case MapFunction::Sign:
  case MapFunction::Relu:
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return a;
  case MapFunction::Div:
  case MapFunction::Pow:
  case MapFunction::FloorDiv:
  case MapFunction::Remainder:
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:
#include "commute/Dialect/ScalarFunctions.def"
  case MapFunction::Neg:
  case MapFunction::Log:
  case MapFunction::Sqrt:
  case MapFunction::Rsqrt:
  case MapFunction::Reciprocal:
  case MapFunction::Silu:
    return context.drawTruth(F::mix(a, F::mix(b, getKey(function))));
  case MapFunction::Select:
    break;
  }
  llvm_unreachable("a function that is not computed on truth values");
}
