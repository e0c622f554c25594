//===- GroupNames.h - whether a graph names process groups ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_GROUPNAMES_H
#define COMMUTE_VOCABULARY_GROUPNAMES_H

#include "commute/Archive/Program.h"
#include "commute/Vocabulary/Vocabulary.h"

#include <map>

namespace commute::vocabulary {

/// Returns true if some node names a process group or lists its ranks. Without
/// such a node, a graph has no collectives.
bool namesGroups(const archive::Graph &graph, const Vocabulary &vocabulary);

/// Replaces the names of process groups in the arguments of all nodes; a group
/// that `names` does not have keeps its name. Each process names the groups of
/// a mesh axis in its own way. Only for programs that are not written back: the
/// text of a document is unchanged.
void renameGroups(archive::Program &program,
                  const std::map<std::string, std::string> &names);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_GROUPNAMES_H
