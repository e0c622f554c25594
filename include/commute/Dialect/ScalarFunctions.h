//===- ScalarFunctions.h - what is known of scalar functions ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_SCALARFUNCTIONS_H
#define COMMUTE_DIALECT_SCALARFUNCTIONS_H

#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/Types.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace commute::tp {

enum class MapFunction : uint32_t {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  Name,
#include "commute/Dialect/ScalarFunctions.def"
};

/// Returns the name of a function in the IR.
llvm::StringRef stringifyMapFunction(MapFunction function);
std::optional<MapFunction> symbolizeMapFunction(llvm::StringRef name);
mlir::FailureOr<MapFunction> parseMapFunction(mlir::AsmParser &parser);

/// A row of ScalarFunctions.def.
struct ScalarFunctionInfo {
  enum class Result { Number, Truth };
  /// The operands in which the function is linear, with the others fixed.
  enum class Linearity {
    NotLinear,
    /// In both together: f(a + a', b + b') = f(a, b) + f(a', b').
    SumOfBoth,
    /// In each operand separately.
    ProductOfOne,
    /// In the first operand.
    FirstAlone,
    /// In the second and third operands together.
    EitherBranch,
  };

  unsigned arity;
  Result result;
  Linearity linearity;
  int64_t flops;
  llvm::StringLiteral aten;
};

constexpr ScalarFunctionInfo getInfo(MapFunction function) {
  switch (function) {
#define SCALAR_FUNCTION(Name, Arity, ResultKind, Elements, LinearityOf, Flops, \
                        Aten)                                                  \
  case MapFunction::Name:                                                      \
    return {Arity, ScalarFunctionInfo::Result::ResultKind,                     \
            ScalarFunctionInfo::Linearity::LinearityOf, Flops, Aten};
#include "commute/Dialect/ScalarFunctions.def"
  }
  llvm_unreachable("a scalar function that is not listed");
}

/// What a comparison of two numbers says of each order that they may have.
struct Comparison {
  bool ifBelow, ifEqual, ifAbove;
  /// The comparison of the same numbers in the opposite order.
  MapFunction mirrored;

  /// Returns true if the comparison is true of numbers whose difference has
  /// this sign.
  constexpr bool holds(int64_t difference) const {
    return difference < 0 ? ifBelow : difference == 0 ? ifEqual : ifAbove;
  }
  /// Whether it tells numbers that are equal from a first one just below the
  /// second, or just above it.
  constexpr bool changesBelow() const { return ifBelow != ifEqual; }
  constexpr bool changesAbove() const { return ifAbove != ifEqual; }
};

/// Returns nullopt if the function compares nothing.
constexpr std::optional<Comparison> getComparison(MapFunction function) {
  switch (function) {
#define SCALAR_FUNCTION(Name, Arity, Result, Elements, Linearity, Flops, Aten) \
  case MapFunction::Name:                                                      \
    return std::nullopt;
#define COMPARISON(Name, Mirrored, IfBelow, IfEqual, IfAbove, Aten)            \
  case MapFunction::Name:                                                      \
    return Comparison{IfBelow, IfEqual, IfAbove, MapFunction::Mirrored};
#include "commute/Dialect/ScalarFunctions.def"
  }
  llvm_unreachable("a scalar function that is not listed");
}

/// Wraps an integer to the range of `type` by two's complement arithmetic.
uint64_t wrapInteger(int64_t value, mlir::Type type);

/// Returns PyTorch's default epsilon of an RMS norm: the distance from 1 to the
/// next number of the type that the norm computes in.
double getDefaultEpsilon(mlir::Type computeType);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_SCALARFUNCTIONS_H
