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

#include <optional>

namespace commute::tp {

/// A string attribute of calls whose effects a vocabulary file states: "none",
/// "communication" or "random".
inline constexpr llvm::StringLiteral effectsAttrName = "tp.effects";

/// An array attribute of ops: the names of the symbolic sizes that this op
/// determines from values, such as a count that becomes a size. No input of the
/// program has these sizes.
inline constexpr llvm::StringLiteral sizesOfValuesAttrName =
    "tp.sizes_of_values";

/// An array attribute beside it: for each of these sizes, its smallest and its
/// largest number, as the program asserts.
inline constexpr llvm::StringLiteral rangesOfValuesAttrName =
    "tp.ranges_of_values";

/// What the results of an opaque operator depend on.
enum class CallEffects {
  /// On the operands alone: equal calls have equal results, on all ranks.
  None,
  /// Also on the state of a generator.
  Random,
  /// Also on the rank, and on the operands of the other members of a process
  /// group.
  Communication,
  /// Nobody says. It may be all of these.
  Unknown
};

/// Returns the effects that a vocabulary file states. Otherwise, an operator
/// that takes a process group, or is in a namespace of PyTorch's collectives,
/// communicates; PyTorch's own other operators are functions or random. All
/// other operators are unknown.
CallEffects getCallEffects(CallOp call);

/// The effects that a vocabulary file may state, by name.
std::optional<CallEffects> parseCallEffects(llvm::StringRef text);

/// Returns true if an operator draws from the state of a generator, so that
/// each call returns different numbers. PyTorch tags such operators
/// `nondeterministic_seeded`.
bool isRandomOperator(llvm::StringRef callee);

/// Returns true if an operator computes a number from sizes and numbers alone,
/// such as those for symbolic sizes.
bool isSizeComputation(CallOp call);

/// Returns true if an operator only checks something about tensors or sizes.
bool isAssertion(CallOp call);

/// Returns true for assertions, and for random operators, which advance a
/// generator: two programs that differ in these calls are different.
bool hasKnownEffects(CallOp call);

/// Returns true if an opaque op depends only on shapes and types (rand_like).
bool readsTypesAlone(CallOp call);

/// Returns true if a call may do more than compute its results, so that both
/// programs must make it. PyTorch's own operators that neither write, draw nor
/// assert do not, nor do operators that are stated to have no effects.
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
