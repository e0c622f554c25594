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

/// Whether an operator draws from the state of a generator, so that each call
/// returns other numbers: those that PyTorch tags `nondeterministic_seeded`.
bool isRandomOperator(llvm::StringRef callee);

/// Whether an operator computes a number from sizes and numbers alone, as those
/// of symbolic sizes do.
bool isSizeComputation(tp::CallOp call);

/// Whether an opaque op reads no elements, only shapes and types: rand_like.
bool readsTypesAlone(tp::CallOp call);

/// Whether a call may do more than compute its results, so that both programs
/// have to make it. PyTorch's own operators that write to nothing, draw nothing
/// and assert nothing do not.
bool mayHaveEffects(tp::CallOp call);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_OPERATOREFFECTS_H
