//===- GroupNames.h - whether a graph names process groups ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_GROUPNAMES_H
#define COMMUTE_VOCABULARY_GROUPNAMES_H

#include "commute/Archive/Graph.h"
#include "commute/Vocabulary/Vocabulary.h"

namespace commute::vocabulary {

/// Returns true if some node names a process group or lists its ranks. Without
/// such a node, a graph has no collectives.
bool namesGroups(const archive::Graph &graph, const Vocabulary &vocabulary);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_GROUPNAMES_H
