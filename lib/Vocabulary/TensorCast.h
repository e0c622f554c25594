//===- TensorCast.h - writers of TensorCast's operators ---------*- C++ -*-===//
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

/// Writes a collective whose group is identified only by its ranks.
mlir::LogicalResult writeTensorCastCollective(mlir::Operation *op,
                                              NodeWriter &writer);

/// Returns true if a norm was imported from TensorCast's operator or an alias
/// of it, and can still be written in this form.
bool isTensorCastNorm(tp::RmsNormOp op, const NodeWriter &writer);
mlir::LogicalResult writeTensorCastNorm(tp::RmsNormOp op, NodeWriter &writer);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_TENSORCAST_H
