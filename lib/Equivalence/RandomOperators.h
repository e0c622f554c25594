//===- RandomOperators.h - operators that draw random numbers ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_RANDOMOPERATORS_H
#define COMMUTE_LIB_EQUIVALENCE_RANDOMOPERATORS_H

#include "llvm/ADT/StringRef.h"

namespace commute::equivalence {

/// Whether an operator draws from the state of a generator, so that each call
/// returns other numbers: those that PyTorch tags `nondeterministic_seeded`.
bool isRandomOperator(llvm::StringRef callee);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_RANDOMOPERATORS_H
