//===- OpaqueCall.h - nodes that are carried whole --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_OPAQUECALL_H
#define COMMUTE_LIB_VOCABULARY_OPAQUECALL_H

#include "NodeReader.h"

#include "commute/Archive/Program.h"

namespace commute::vocabulary {

/// The type of any value of a graph: tensor, number, or opaque.
mlir::Type getValueType(GraphReader &graph, const archive::Argument &value,
                        mlir::MLIRContext *context);

/// The tp.call that a node becomes of which nothing more is known than its
/// operator's entry says, if there is one; with an alias, that of the operator
/// which a user's is like. `json` is the node.
tp::CallOp createOpaqueCall(GraphReader &graph, const archive::Program &program,
                            const archive::Node &node,
                            const OperatorEntry *entry,
                            const OperatorAlias *alias, archive::JsonValue json,
                            mlir::OpBuilder &builder, mlir::Location location);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OPAQUECALL_H
