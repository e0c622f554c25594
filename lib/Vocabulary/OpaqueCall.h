//===- OpaqueCall.h - nodes imported as opaque calls ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_OPAQUECALL_H
#define COMMUTE_LIB_VOCABULARY_OPAQUECALL_H

#include "NodeReader.h"

#include "commute/Archive/Program.h"

namespace commute::vocabulary {

/// Returns the type of any value of a graph: tensor, number, or opaque.
mlir::Type getValueType(GraphReader &graph, const archive::Argument &value,
                        mlir::MLIRContext *context);

/// Creates the tp.call for a node that was not read. The call's memory effects
/// come from the operator's `entry`, if it has one; with an alias, `entry` is
/// that of the known operator.
tp::CallOp createOpaqueCall(GraphReader &graph, const archive::Program &program,
                            const archive::Node &node,
                            const OperatorEntry *entry,
                            const OperatorAlias *alias,
                            mlir::OpBuilder &builder, mlir::Location location);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_OPAQUECALL_H
