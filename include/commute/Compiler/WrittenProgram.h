//===- WrittenProgram.h - what a reader makes of a result -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A module is written as edits of the graph from which it was read. The proof
// of a rewrite compares the original with the program that a reader makes of
// the edited graph: it covers the writing, too.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_WRITTENPROGRAM_H
#define COMMUTE_COMPILER_WRITTENPROGRAM_H

#include "commute/Compiler/LoadedProgram.h"

namespace commute::compiler {

/// Edits by rank: one item for a program that all ranks run, or for a live
/// graph.
using EditsOfRanks = std::vector<archive::ProgramEdits>;

/// Returns true if the program, or that of each rank, was read from a PyTorch
/// graph.
bool hasGraphs(const LoadedProgram &program);

/// Returns the edits that turn the graph of `program`, or the graphs of all its
/// ranks, into its module. Requires graphs.
llvm::Expected<EditsOfRanks>
getEditsOfRanks(LoadedProgram &program,
                const vocabulary::Vocabulary &vocabulary);

/// Returns the module that a reader makes of the edited graphs of `program`,
/// with the facts that are stated of it, in the context of its module. Sets
/// `edits` to these edits. For archives, the reader gets the very text that is
/// written. Returns an error if the module cannot be written, or if the result
/// is not a legal program, which is a bug in Commute. Requires graphs.
llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>>
readWritten(LoadedProgram &program, const vocabulary::Vocabulary &vocabulary,
            EditsOfRanks &edits);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_WRITTENPROGRAM_H
