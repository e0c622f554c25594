//===- FunctionArguments.h - arguments of Python functions ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Operators have schemas, and a node names each argument as the schema does. A
// call of a Python function has positional arguments, which have no name, and
// keywords, of which there may be several for one parameter.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H
#define COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H

#include "commute/Archive/Graph.h"
#include "commute/Vocabulary/Vocabulary.h"

namespace commute::vocabulary {

/// The position among the node's inputs of the argument that the entry's
/// readers call `name`; nullopt where it was left at its default.
std::optional<size_t> findInput(const archive::Node &node,
                                const OperatorEntry *entry,
                                llvm::StringRef name);

/// Whether all arguments of a call are parameters that the entry names: others
/// may change what it computes.
bool hasKnownArguments(const archive::Node &node, const OperatorEntry &entry);

/// Whether `name` takes all further positional arguments, and these were given
/// one by one: x.permute(0, 2, 1). Then `gathered` becomes the list of them.
bool gatherRest(const archive::Node &node, const OperatorEntry *entry,
                llvm::StringRef name, archive::Argument &gathered);

/// A call of a Python function or method, or of something else that is no
/// operator with a schema.
bool isFunctionCall(const archive::Node &node);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H
