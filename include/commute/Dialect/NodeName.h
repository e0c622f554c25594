//===- NodeName.h - what a person calls an op -------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_NODENAME_H
#define COMMUTE_DIALECT_NODENAME_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

namespace commute {

/// Returns the quoted name of the node that an op was imported from ("'mm_1'"),
/// or the name of the op ("tp.matmul") if there is no such node.
std::string getNodeName(mlir::Operation *op);

/// Returns "all_reduce" for tp.all_reduce, or the PyTorch operator of an opaque
/// op.
std::string getKindName(mlir::Operation *op);

/// Returns the name of the op's first result in the graph, or null for an op
/// that was not imported from a node.
mlir::StringAttr getFirstName(mlir::Operation *op);

} // namespace commute

#endif // COMMUTE_DIALECT_NODENAME_H
