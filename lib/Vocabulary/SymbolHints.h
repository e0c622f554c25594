//===- SymbolHints.h - values that symbols had at capture -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_SYMBOLHINTS_H
#define COMMUTE_LIB_VOCABULARY_SYMBOLHINTS_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/SymbolicSize.h"

#include <map>
#include <string>

namespace commute::vocabulary {

using SymbolHints = std::map<std::string, int64_t>;

/// Returns the values that the symbolic sizes had at capture, as far as the
/// sizes recorded in the graph determine them.
SymbolHints collectSymbolHints(const archive::Graph &graph,
                               tp::SymbolSpace &symbols);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_SYMBOLHINTS_H
