//===- TensorCast.h - collectives of groups without a name ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_TENSORCAST_H
#define COMMUTE_LIB_VOCABULARY_TENSORCAST_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/IR/Operation.h"
#include "mlir/Support/LLVM.h"

namespace commute::vocabulary {

class NodeWriter;

/// Writes a collective whose group is known by its ranks alone.
mlir::LogicalResult writeTensorCastCollective(mlir::Operation *op,
                                              NodeWriter &writer);

/// Whether a norm was read from TensorCast's, or from one that is said to be
/// like it, and can still be written so.
bool isTensorCastNorm(tp::RmsNormOp op, const NodeWriter &writer);
mlir::LogicalResult writeTensorCastNorm(tp::RmsNormOp op, NodeWriter &writer);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORCAST_H
