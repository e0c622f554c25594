//===- ElementKind.h - element types of the runtime -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_ELEMENTKIND_H
#define COMMUTE_RUNTIME_ELEMENTKIND_H

#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <type_traits>

namespace commute::runtime {

/// The element types that the runtime supports. A boolean takes one byte, which
/// is 0 or 1, as in PyTorch.
enum class ElementKind : uint8_t {
  Bool,
  I8,
  I16,
  I32,
  I64,
  U8,
  U16,
  U32,
  U64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E5M2,
  F8E4M3FNUZ,
  F8E5M2FNUZ,
  F8E8M0FNU,
};

/// Returns nullopt for unsupported types, such as complex numbers.
std::optional<ElementKind> getElementKind(mlir::Type type);
/// Returns the size of an element in memory.
unsigned getNumBytes(ElementKind kind);
bool isFloat(ElementKind kind);

/// The C++ type that kernels compute in: uint64_t for u64, int64_t for all
/// other integers and booleans, double for f64, float for all other floats. For
/// operands of two kinds, kernels use the later one.
enum class ComputeKind : uint8_t { Integer, Unsigned, Single, Double };
ComputeKind getComputeKind(ElementKind kind);

/// Calls `visit` with a value of the C++ type of `kind`.
template <typename Visitor>
auto dispatch(ComputeKind kind, Visitor visit) {
  switch (kind) {
  case ComputeKind::Integer:
    return visit(int64_t());
  case ComputeKind::Unsigned:
    return visit(uint64_t());
  case ComputeKind::Single:
    return visit(float());
  case ComputeKind::Double:
    break;
  }
  return visit(double());
}

/// Returns true if elements of `kind` are stored as numbers of type Compute.
template <typename Compute>
bool isStoredAs(ElementKind kind) {
  if (std::is_same_v<Compute, float>)
    return kind == ElementKind::F32;
  if (std::is_same_v<Compute, double>)
    return kind == ElementKind::F64;
  // Arithmetic wraps in both types, so the bits are the same.
  return kind == ElementKind::I64 || kind == ElementKind::U64;
}

/// Converts `count` elements to numbers of type Compute (int64_t, uint64_t,
/// float or double).
template <typename Compute>
void loadElements(ElementKind kind, const void *source, size_t count,
                  Compute *target);
/// Converts numbers to elements. Floats round to nearest, ties to even;
/// integers wrap; every nonzero number is true.
template <typename Compute>
void storeElements(ElementKind kind, const Compute *source, size_t count,
                   void *target);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_ELEMENTKIND_H
