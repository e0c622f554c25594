//===- Respelling.h - writing a whole graph anew ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// On the way back nodes are kept as they stand in the file wherever possible,
// so the writers of the vocabularies are hardly used. Here all nodes are
// forgotten, and everything is written from the tp ops.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_UNITTESTS_VOCABULARY_RESPELLING_H
#define COMMUTE_UNITTESTS_VOCABULARY_RESPELLING_H

#include "commute/Vocabulary/Translation.h"

namespace commute::test {

/// Makes exporting `imported` write every node anew, but for those that no
/// vocabulary can write: opaque calls, and views to symbolic sizes. Gives the
/// number of nodes that are written anew.
size_t forgetNodes(vocabulary::ImportedProgram &imported);

/// The module without what ties it to the graph that it was read from.
std::string printWithoutNames(mlir::ModuleOp module);

} // namespace commute::test

#endif // COMMUTE_UNITTESTS_VOCABULARY_RESPELLING_H
