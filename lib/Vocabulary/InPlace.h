//===- InPlace.h - values that a graph writes into --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_INPLACE_H
#define COMMUTE_LIB_VOCABULARY_INPLACE_H

#include "commute/Archive/Graph.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/ADT/DenseSet.h"

namespace commute::vocabulary {

/// Returns the indices of the inputs that a node writes into: the first input
/// of an in-place form ("add_"), `out` arguments, and arguments that the
/// vocabulary marks as mutated. If `holdsFunctions`, an unknown function may
/// write into every input. An operator with an `alias` writes into the same
/// arguments as the known operator.
llvm::SmallVector<size_t, 2> getMutatedInputs(const archive::Node &node,
                                              const OperatorEntry *entry,
                                              const OperatorAlias *alias,
                                              bool holdsFunctions);

/// Returns all values of the graph that some node writes into, and all values
/// that may share memory with them through views. These are places, not values.
/// A written value is excluded if each of its writers can be read as a
/// function: the vocabulary reads the operator, and all later uses of the
/// memory go through the operator's result.
llvm::DenseSet<llvm::StringRef> findMutatedValues(const archive::Graph &graph,
                                                  const Vocabulary &vocabulary);

/// The same question on export: returns true if only `operand`'s op and the
/// users of its results can observe a write into the operand.
bool mayWriteInto(mlir::OpOperand &operand);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_INPLACE_H
