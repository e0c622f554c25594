//===- GraphFacts.h - facts about the values of a graph ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_GRAPHFACTS_H
#define COMMUTE_LIB_VOCABULARY_GRAPHFACTS_H

#include "commute/Archive/Graph.h"

#include "llvm/ADT/DenseSet.h"

namespace commute::vocabulary {

/// Returns the names of all values that nodes use or that the graph returns.
llvm::DenseSet<llvm::StringRef> getUsedNames(const archive::Graph &graph);

/// Returns true if two tensors have the same device and memory layout (strided
/// or sparse).
bool areOnSameDevice(const archive::Graph &graph, llvm::StringRef a,
                     llvm::StringRef b);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_GRAPHFACTS_H
