//===- ElementTypes.h - PyTorch's element types in MLIR ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_ELEMENTTYPES_H
#define COMMUTE_LIB_VOCABULARY_ELEMENTTYPES_H

#include "commute/Archive/Graph.h"

#include "mlir/IR/Types.h"

namespace commute::vocabulary {

/// Returns the MLIR element type of a PyTorch dtype, or null for `Unknown`.
/// Signed integers are signless in MLIR, unsigned integers are ui8 and so on,
/// and bool is i1.
mlir::Type getElementType(archive::ScalarType type, mlir::MLIRContext *context);
/// The inverse; returns Unknown for a type that PyTorch lacks.
archive::ScalarType getScalarType(mlir::Type type);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_ELEMENTTYPES_H
