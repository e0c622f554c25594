//===- FunctionArguments.h - arguments of Python functions ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A node of an operator names each argument as the operator's schema does. A
// call of a Python function instead has positional arguments without names, and
// keywords, of which one parameter may have several.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H
#define COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H

#include "commute/Archive/Graph.h"
#include "commute/Vocabulary/Vocabulary.h"

namespace commute::vocabulary {

/// Returns the index in the node's inputs of the argument that the entry's
/// readers call `name`, or nullopt if the argument was left at its default.
std::optional<size_t> findInput(const archive::Node &node,
                                const OperatorEntry *entry,
                                llvm::StringRef name);

/// Returns true if all arguments of a call are parameters of the entry. Any
/// other argument may change what the call computes.
bool hasKnownArguments(const archive::Node &node, const OperatorEntry &entry);

/// Returns true if the parameter `name` takes all further positional arguments
/// and they were passed one by one, as in x.permute(0, 2, 1). If so, sets
/// `gathered` to the list of these arguments.
bool gatherRest(const archive::Node &node, const OperatorEntry *entry,
                llvm::StringRef name, archive::Argument &gathered);

/// Returns true for a call of a Python function or method, or of anything else
/// that is not an operator with a schema.
bool isFunctionCall(const archive::Node &node);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_FUNCTIONARGUMENTS_H
