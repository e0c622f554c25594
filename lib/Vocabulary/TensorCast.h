//===- TensorCast.h - collectives of groups without a name ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_TENSORCAST_H
#define COMMUTE_LIB_VOCABULARY_TENSORCAST_H

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace commute::vocabulary {

class NodeWriter;

/// Writes a collective whose group is known by its ranks alone.
mlir::LogicalResult writeTensorCastCollective(mlir::Operation *op,
                                              NodeWriter &writer);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORCAST_H
