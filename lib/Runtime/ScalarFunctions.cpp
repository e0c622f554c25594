//===- ScalarFunctions.cpp - functions of tp.map on arrays ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Vectorized.h"

#include "llvm/Support/ErrorHandling.h"

#include <bit>
#include <cmath>
#include <type_traits>

using namespace commute;
using namespace commute::runtime;
using tp::MapFunction;

template <typename Compute, typename Function>
COMMUTE_INLINED static inline void forAll(const Compute *a, Compute *result,
                                          size_t count, Function function) {
  for (size_t index = 0; index < count; ++index)
    result[index] = static_cast<Compute>(function(a[index]));
}

template <typename Compute, typename Function>
COMMUTE_INLINED static inline void forAll(const Compute *a, const Compute *b,
                                          Compute *result, size_t count,
                                          Function function) {
  for (size_t index = 0; index < count; ++index)
    result[index] = static_cast<Compute>(function(a[index], b[index]));
}

//===----------------------------------------------------------------------===//
// Functions of all element types
//===----------------------------------------------------------------------===//

/// Returns false for a function that is not defined for all types.
template <typename C>
COMMUTE_INLINED static inline bool
computeCommon(MapFunction function, const C *a, const C *b, const C *c,
              C *result, size_t count) {
  switch (function) {
  case MapFunction::Maximum:
    // NaN takes precedence, as in PyTorch.
    forAll(a, b, result, count,
           [](C x, C y) { return x > y || x != x ? x : y; });
    return true;
  case MapFunction::Minimum:
    forAll(a, b, result, count,
           [](C x, C y) { return x < y || x != x ? x : y; });
    return true;
  case MapFunction::Relu:
    forAll(a, result, count, [](C x) { return x < 0 ? C(0) : x; });
    return true;
  case MapFunction::Sign:
    forAll(a, result, count, [](C x) { return (x > 0) - (x < 0); });
    return true;
  case MapFunction::Select:
    for (size_t index = 0; index < count; ++index)
      result[index] = a[index] != 0 ? b[index] : c[index];
    return true;
  case MapFunction::Equal:
    forAll(a, b, result, count, [](C x, C y) { return x == y; });
    return true;
  case MapFunction::NotEqual:
    forAll(a, b, result, count, [](C x, C y) { return x != y; });
    return true;
  case MapFunction::Less:
    forAll(a, b, result, count, [](C x, C y) { return x < y; });
    return true;
  case MapFunction::LessEqual:
    forAll(a, b, result, count, [](C x, C y) { return x <= y; });
    return true;
  case MapFunction::Greater:
    forAll(a, b, result, count, [](C x, C y) { return x > y; });
    return true;
  case MapFunction::GreaterEqual:
    forAll(a, b, result, count, [](C x, C y) { return x >= y; });
    return true;
  case MapFunction::LogicalAnd:
    forAll(a, b, result, count, [](C x, C y) { return x != 0 && y != 0; });
    return true;
  case MapFunction::LogicalOr:
    forAll(a, b, result, count, [](C x, C y) { return x != 0 || y != 0; });
    return true;
  case MapFunction::LogicalNot:
    forAll(a, result, count, [](C x) { return x == 0; });
    return true;
  case MapFunction::IsNan:
    forAll(a, result, count, [](C x) { return x != x; });
    return true;
  case MapFunction::IsOne:
    forAll(a, result, count, [](C x) { return x == 1; });
    return true;
  case MapFunction::Weight:
    forAll(a, b, result, count, [](C x, C y) {
      return std::trunc(static_cast<double>(x)) == static_cast<double>(y);
    });
    return true;
#define CASE_Common(Name)
#define CASE_Numbers(Name) case MapFunction::Name:
#define CASE_Floats(Name) case MapFunction::Name:
#define CASE_Integers(Name) case MapFunction::Name:
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  CASE_##Elements(Name)
#include "commute/Dialect/ScalarFunctions.def"
    return false;
  }
  llvm_unreachable("unknown scalar function");
}
#undef CASE_Common
#undef CASE_Integers

//===----------------------------------------------------------------------===//
// Functions of floats
//===----------------------------------------------------------------------===//

/// Computes e^x to about one unit in the last place, without branches or calls,
/// so that the compiler can vectorize it.
COMMUTE_INLINED static inline float exponential(float x) {
  // Outside these bounds the result is infinite or zero. NaN is preserved.
  x = x > 89.0f ? 89.0f : x;
  x = x < -104.0f ? -104.0f : x;
  // x = n ln 2 + r. Adding `shifter` rounds to an integer and leaves n in the
  // low bits.
  constexpr float shifter = 0x1.8p23f;
  float shifted = x * 0x1.715476p0f + shifter;
  float n = shifted - shifter;
  int32_t power =
      std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(shifter);
  // ln 2 is split in two parts, so that the first one times n is exact.
  float r = (x - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  // A nearly minimax polynomial: the Taylor series with adjusted high terms.
  float p = 0x1.6850e4p-10f;
  p = p * r + 0x1.123bccp-7f;
  p = p * r + 0x1.555b98p-5f;
  p = p * r + 0x1.55548ep-3f;
  p = p * r + 0x1.fffff8p-2f;
  p = (p * r) * r + r;
  p = p + 1.0f;
  // Split 2^n into two factors, because n may exceed the exponent range.
  int32_t half = power >> 1;
  float first = std::bit_cast<float>((half + 127) << 23);
  float second = std::bit_cast<float>((power - half + 127) << 23);
  return p * first * second;
}
static double exponential(double x) { return std::exp(x); }

/// PyTorch's floor division, which is defined by the remainder.
template <typename F>
static F divideToFloor(F x, F y) {
  if (y == 0)
    return x / y;
  F rest = std::fmod(x, y);
  F quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0))
    quotient -= 1;
  if (quotient == 0)
    return std::copysign(F(0), x / y);
  F floor = std::floor(quotient);
  return quotient - floor > F(0.5) ? floor + 1 : floor;
}

/// The remainder, with the sign of the divisor.
template <typename F>
static F getRemainder(F x, F y) {
  F rest = std::fmod(x, y);
  return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;
}

template <typename F>
COMMUTE_INLINED static inline bool computeFloats(MapFunction function,
                                                 const F *a, const F *b,
                                                 F *result, size_t count) {
  auto unary = [&](auto scalar) COMMUTE_INLINED {
    forAll(a, result, count, scalar);
    return true;
  };
  auto binary = [&](auto scalar) COMMUTE_INLINED {
    forAll(a, b, result, count, scalar);
    return true;
  };
  switch (function) {
  case MapFunction::Add:
    return binary([](F x, F y) { return x + y; });
  case MapFunction::Sub:
    return binary([](F x, F y) { return x - y; });
  case MapFunction::Mul:
    return binary([](F x, F y) { return x * y; });
  case MapFunction::Div:
    return binary([](F x, F y) { return x / y; });
  case MapFunction::Pow:
    return binary([](F x, F y) { return y == 2 ? x * x : std::pow(x, y); });
  case MapFunction::FloorDiv:
    return binary(divideToFloor<F>);
  case MapFunction::Remainder:
    return binary(getRemainder<F>);
  case MapFunction::Neg:
    return unary([](F x) { return -x; });
  case MapFunction::Abs:
    return unary([](F x) { return std::fabs(x); });
  case MapFunction::Log:
    return unary([](F x) { return std::log(x); });
  case MapFunction::Sqrt:
    return unary([](F x) { return std::sqrt(x); });
  case MapFunction::Rsqrt:
    return unary([](F x) { return 1 / std::sqrt(x); });
  case MapFunction::Reciprocal:
    return unary([](F x) { return 1 / x; });
  case MapFunction::Silu:
    return unary([](F x) { return x / (1 + exponential(-x)); });
  case MapFunction::Round:
    // Ties to even: the default rounding mode of every thread.
    return unary([](F x) { return std::nearbyint(x); });
  case MapFunction::Floor:
    return unary([](F x) { return std::floor(x); });
  case MapFunction::Ceil:
    return unary([](F x) { return std::ceil(x); });
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten)
#define UNKNOWN_FUNCTION(Name, Aten, Symmetry, AtZero, Expression)             \
  case MapFunction::Name:                                                      \
    return unary([](F x) { return Expression; });
#include "commute/Dialect/ScalarFunctions.def"
#define CASE_Common(Name) case MapFunction::Name:
#define CASE_Integers(Name) case MapFunction::Name:
#undef CASE_Numbers
#undef CASE_Floats
#define CASE_Numbers(Name)
#define CASE_Floats(Name)
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  CASE_##Elements(Name)
#include "commute/Dialect/ScalarFunctions.def"
    return false;
  }
  llvm_unreachable("unknown scalar function");
}

//===----------------------------------------------------------------------===//
// Functions of integers, with wrapping
//===----------------------------------------------------------------------===//

static uint64_t raise(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1) {
    if (exponent & 1)
      result *= base;
    base *= base;
  }
  return result;
}

static int64_t raise(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  return static_cast<int64_t>(
      raise(static_cast<uint64_t>(base), static_cast<uint64_t>(exponent)));
}

static int64_t divideToFloor(int64_t x, int64_t y) {
  // The only quotient that overflows.
  if (y == -1)
    return static_cast<int64_t>(-static_cast<uint64_t>(x));
  return x / y - (x % y != 0 && (x < 0) != (y < 0));
}

static int64_t getRemainder(int64_t x, int64_t y) {
  if (y == -1)
    return 0;
  int64_t rest = x % y;
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

static uint64_t divideToFloor(uint64_t x, uint64_t y) { return x / y; }
static uint64_t getRemainder(uint64_t x, uint64_t y) { return x % y; }

template <typename I>
COMMUTE_INLINED static inline bool computeIntegers(MapFunction function,
                                                   const I *a, const I *b,
                                                   I *result, size_t count) {
  using U = uint64_t;
  auto unary = [&](auto scalar) COMMUTE_INLINED {
    forAll(a, result, count, scalar);
    return true;
  };
  auto binary = [&](auto scalar) COMMUTE_INLINED {
    forAll(a, b, result, count, scalar);
    return true;
  };
  auto divide = [&](auto scalar) COMMUTE_INLINED {
    return std::find(b, b + count, 0) == b + count && binary(scalar);
  };
  switch (function) {
  case MapFunction::Add:
    return binary([](I x, I y) { return U(x) + U(y); });
  case MapFunction::Sub:
    return binary([](I x, I y) { return U(x) - U(y); });
  case MapFunction::Mul:
    return binary([](I x, I y) { return U(x) * U(y); });
  case MapFunction::Pow:
    return binary([](I x, I y) { return raise(x, y); });
  case MapFunction::Div:
  case MapFunction::FloorDiv:
    return divide([](I x, I y) { return divideToFloor(x, y); });
  case MapFunction::Remainder:
    return divide([](I x, I y) { return getRemainder(x, y); });
  case MapFunction::Neg:
    return unary([](I x) { return -U(x); });
  case MapFunction::Abs:
    return unary([](I x) { return x < 0 ? -U(x) : U(x); });
  case MapFunction::BitwiseAnd:
    return binary([](I x, I y) { return x & y; });
  case MapFunction::BitwiseOr:
    return binary([](I x, I y) { return x | y; });
  case MapFunction::BitwiseXor:
    return binary([](I x, I y) { return x ^ y; });
  case MapFunction::BitwiseNot:
    return unary([](I x) { return ~x; });
  case MapFunction::Round:
  case MapFunction::Floor:
  case MapFunction::Ceil:
    return unary([](I x) { return x; });
#undef CASE_Integers
#undef CASE_Floats
#define CASE_Integers(Name)
#define CASE_Floats(Name) case MapFunction::Name:
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  CASE_##Elements(Name)
#include "commute/Dialect/ScalarFunctions.def"
    return false;
  }
  llvm_unreachable("unknown scalar function");
}
#undef CASE_Common
#undef CASE_Numbers
#undef CASE_Floats
#undef CASE_Integers

template <typename Compute>
COMMUTE_INLINED static inline bool
computeAny(MapFunction function, const Compute *a, const Compute *b,
           const Compute *c, Compute *result, size_t count) {
  if (computeCommon(function, a, b, c, result, count))
    return true;
  if constexpr (std::is_integral_v<Compute>)
    return computeIntegers(function, a, b, result, count);
  else
    return computeFloats(function, a, b, result, count);
}

template <typename Compute>
bool runtime::computeFunction(MapFunction function, const Compute *a,
                              const Compute *b, const Compute *c,
                              Compute *result, size_t count) {
  return vectorized([=]() COMMUTE_INLINED {
    return computeAny(function, a, b, c, result, count);
  });
}

namespace commute::runtime {
template bool computeFunction(MapFunction, const int64_t *, const int64_t *,
                              const int64_t *, int64_t *, size_t);
template bool computeFunction(MapFunction, const uint64_t *, const uint64_t *,
                              const uint64_t *, uint64_t *, size_t);
template bool computeFunction(MapFunction, const float *, const float *,
                              const float *, float *, size_t);
template bool computeFunction(MapFunction, const double *, const double *,
                              const double *, double *, size_t);
} // namespace commute::runtime
