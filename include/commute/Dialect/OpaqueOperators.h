//===- OpaqueOperators.h - what calls do besides computing -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// What is known, by name, of operators that tp.call carries and no op models.
// PyTorch states part of it in tags and schemas, which graphs do not contain.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_OPAQUEOPERATORS_H
#define COMMUTE_DIALECT_OPAQUEOPERATORS_H

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/StringRef.h"

namespace commute::tp {

/// Returns true if an operator draws from the state of a generator, so that
/// each call returns different numbers. PyTorch tags such operators
/// `nondeterministic_seeded`.
bool isRandomOperator(llvm::StringRef callee);

/// Returns true if an operator computes a number from sizes and numbers alone,
/// such as those for symbolic sizes.
bool isSizeComputation(CallOp call);

/// Returns true if an operator only checks something about tensors or sizes.
bool isAssertion(CallOp call);

/// Returns true if an opaque op depends only on shapes and types (rand_like).
bool readsTypesAlone(CallOp call);

/// Returns true if a call may do more than compute its results, so that both
/// programs must make it. PyTorch's own operators that neither write, draw nor
/// assert do not.
bool mayHaveEffects(CallOp call);

/// Returns true if a call starts communication whose results may be used only
/// after a wait, as those of an asynchronous collective.
bool startsCommunication(CallOp call);

/// Returns the value that a call waits for, or null if it waits for none. Only
/// a wait that no op can model is a call: one that touches memory that a graph
/// writes into.
mlir::Value getAwaited(CallOp call);

/// Returns true if a call computes nothing from the elements of its operands:
/// it uses their sizes and types alone, or states a fact about them.
bool readsNoElements(CallOp call);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_OPAQUEOPERATORS_H
