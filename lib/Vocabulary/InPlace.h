//===- InPlace.h - which values a graph writes into -------------*- C++ -*-===//
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

/// The inputs that a node writes into, by position: the first one of an
/// in-place form ("add_"), `out` arguments, and what the vocabulary states. In
/// a graph that `holdsFunctions` one of which nothing is known may write into
/// all. With an `alias`, a user's operator writes into what the known one does.
llvm::SmallVector<size_t, 2> getMutatedInputs(const archive::Node &node,
                                              const OperatorEntry *entry,
                                              const OperatorAlias *alias,
                                              bool holdsFunctions);

/// All values of the graph that some node writes into, and all that may share
/// memory with them through views: places, not values. Not among them are those
/// whose every writer can be read as a function: an operator that the
/// vocabulary reads, after which nobody looks at the memory but through its
/// result.
llvm::DenseSet<llvm::StringRef> findMutatedValues(const archive::Graph &graph,
                                                  const Vocabulary &vocabulary);

/// The same question on the way back: whether nobody but `operand`'s op, and
/// those that read its results, will see that it writes into the operand.
bool mayWriteInto(mlir::OpOperand &operand);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_INPLACE_H
