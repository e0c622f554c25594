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

/// The quoted name of the node that an op was imported from ("'mm_1'"), or the
/// op's own name ("tp.matmul") if it has none.
std::string getNodeName(mlir::Operation *op);

/// The name that the node of an op gives its first result, or null for an op
/// that no node was imported as.
mlir::StringAttr getFirstName(mlir::Operation *op);

} // namespace commute

#endif // COMMUTE_DIALECT_NODENAME_H
