//===- OperatorEffects.h - what opaque operators depend on -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_OPERATOREFFECTS_H
#define COMMUTE_LIB_EQUIVALENCE_OPERATOREFFECTS_H

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/StringRef.h"

namespace commute::equivalence {

/// Returns true if an operator draws from the state of a generator, so that
/// each call returns different numbers. PyTorch tags such operators
/// `nondeterministic_seeded`.
bool isRandomOperator(llvm::StringRef callee);

/// Returns true if an operator computes a number from sizes and numbers alone,
/// such as those for symbolic sizes.
bool isSizeComputation(tp::CallOp call);

/// Returns true if an opaque op depends only on shapes and types (rand_like).
bool readsTypesAlone(tp::CallOp call);

/// Returns true if a call may do more than compute its results, so that both
/// programs must make it. PyTorch's own operators that neither write, draw nor
/// assert do not.
bool mayHaveEffects(tp::CallOp call);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_OPERATOREFFECTS_H
