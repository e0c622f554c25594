//===- OverwrittenMemory.h - memory that no output depends on ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_OVERWRITTENMEMORY_H
#define COMMUTE_LIB_EQUIVALENCE_OVERWRITTENMEMORY_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Replaces uninitialized memory by zeros where no output of the program, and
/// no operator with effects, depends on its content: it is written over by a
/// permutation of all indices, or masked out wherever it remains. Two programs
/// then compute the same of it, although their memory differs.
///
/// Sizes are numbers (`resolveSizes`).
void replaceOverwrittenMemory(mlir::func::FuncOp function);

/// Returns numbers between which all elements of an integer value are; nullopt
/// if none are known but those of its type.
std::optional<std::pair<int64_t, int64_t>> findBounds(mlir::Value value);

/// Returns true if a value of one dim is known to hold each index of this dim
/// once: the order of a sort, or such an order at a permutation.
bool isPermutation(mlir::Value value);

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_OVERWRITTENMEMORY_H
