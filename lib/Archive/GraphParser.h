//===- GraphParser.h - parsing of graphs ------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H
#define COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H

#include "SchemaReader.h"

#include "commute/Archive/Graph.h"

namespace commute::archive {

/// Parses a union Argument.
llvm::LogicalResult parseArgument(SchemaReader &reader, JsonValue value,
                                  const Location &location, Argument &result);
/// Parses an array of arguments.
llvm::LogicalResult parseArguments(SchemaReader &reader, JsonValue value,
                                   const Location &location,
                                   std::vector<Argument> &result);
/// Parses an object with a name: TensorArgument, TokenArgument or
/// CustomObjArgument, depending on `tag`.
llvm::LogicalResult parseNamedValue(SchemaReader &reader, JsonValue value,
                                    const Location &location, ArgumentTag tag,
                                    Argument &result);
/// Parses a device into `type` and, if present, `index`.
llvm::LogicalResult parseDevice(SchemaReader &reader, JsonValue value,
                                const Location &location, llvm::StringRef &type,
                                std::optional<int64_t> &index);
/// Parses the number of an element type, memory format or layout, and checks
/// its range.
llvm::LogicalResult parseEnumeration(SchemaReader &reader, JsonValue value,
                                     const Location &location, ArgumentTag tag,
                                     int64_t &result);

/// Checks that names are unique and defined before use, and that every tensor
/// has metadata.
llvm::LogicalResult checkNames(SchemaReader &reader, const Graph &graph,
                               const Location &location);

/// Parses and checks a Graph: names are unique and defined before use, and
/// every tensor has metadata.
llvm::LogicalResult parseGraph(SchemaReader &reader, JsonValue value,
                               const Location &location, Graph &result);

} // namespace commute::archive

#endif // COMMUTE_LIB_ARCHIVE_GRAPHPARSER_H
