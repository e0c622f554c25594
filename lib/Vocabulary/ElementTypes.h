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

/// The element type of this PyTorch dtype; null for `Unknown`. Signed integers
/// are signless in MLIR, unsigned ones are marked, bool is i1.
mlir::Type getElementType(archive::ScalarType type, mlir::MLIRContext *context);
/// The inverse; Unknown for a type that PyTorch does not have.
archive::ScalarType getScalarType(mlir::Type type);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_ELEMENTTYPES_H
