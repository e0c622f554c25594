//===- ElementKind.h - how elements lie in memory ---------------*- C++ -*-===//
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

/// The element types that the runtime computes with. Truth values take a byte,
/// 0 or 1, as in PyTorch.
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

/// nullopt for types that the runtime does not know: complex numbers.
std::optional<ElementKind> getElementKind(mlir::Type type);
unsigned getNumBytes(ElementKind kind);
bool isFloat(ElementKind kind);

/// The C++ types that kernels compute in: uint64_t for u64, int64_t for all
/// other integers and truth values, double for f64, float for all other floats.
/// Of two, the later one stands for both.
enum class ComputeKind : uint8_t { Integer, Unsigned, Single, Double };
ComputeKind getComputeKind(ElementKind kind);

/// Calls `visit` with a value of the C++ type that stands for `kind`.
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

/// Whether elements of `kind` lie in memory as numbers of type Compute.
template <typename Compute>
bool isStoredAs(ElementKind kind) {
  if (std::is_same_v<Compute, float>)
    return kind == ElementKind::F32;
  if (std::is_same_v<Compute, double>)
    return kind == ElementKind::F64;
  // Both wrap, so that their bits are the same.
  return kind == ElementKind::I64 || kind == ElementKind::U64;
}

/// Reads `count` elements as numbers of type Compute (int64_t, uint64_t, float,
/// double).
template <typename Compute>
void loadElements(ElementKind kind, const void *source, size_t count,
                  Compute *target);
/// Writes numbers as elements: floats rounded to nearest, ties to even;
/// integers wrapped; any number that is not zero is true.
template <typename Compute>
void storeElements(ElementKind kind, const Compute *source, size_t count,
                   void *target);

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_ELEMENTKIND_H
