//===- GraphParser.h - graphs from JSON -------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H
#define COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H

#include "SchemaReader.h"

#include "commute/Archive/Graph.h"

namespace commute::archive {

/// An object of the union Argument.
llvm::LogicalResult parseArgument(SchemaReader &reader, JsonValue value,
                                  const Location &location, Argument &result);
/// An array of such objects.
llvm::LogicalResult parseArguments(SchemaReader &reader, JsonValue value,
                                   const Location &location,
                                   std::vector<Argument> &result);
/// TensorArgument, TokenArgument, CustomObjArgument: an object with a name.
/// `tag` says which.
llvm::LogicalResult parseNamedValue(SchemaReader &reader, JsonValue value,
                                    const Location &location, ArgumentTag tag,
                                    Argument &result);
/// A device, into `type` and, where there is one, `index`.
llvm::LogicalResult parseDevice(SchemaReader &reader, JsonValue value,
                                const Location &location, llvm::StringRef &type,
                                std::optional<int64_t> &index);
/// An element type, memory format or layout: the number, if it is one.
llvm::LogicalResult parseEnumeration(SchemaReader &reader, JsonValue value,
                                     const Location &location, ArgumentTag tag,
                                     int64_t &result);

/// A struct Graph, checked: names are defined once and before their use, and
/// every tensor has its metadata.
llvm::LogicalResult parseGraph(SchemaReader &reader, JsonValue value,
                               const Location &location, Graph &result);

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H
