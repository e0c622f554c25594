//===- MergedRanks.h - one module for the graphs of all ranks ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_MERGEDRANKS_H
#define COMMUTE_LIB_COMPILER_MERGEDRANKS_H

#include "commute/Compiler/LoadedProgram.h"

namespace commute::compiler {

inline constexpr llvm::StringLiteral sameNodes =
    "; the programs of the ranks must have the same nodes and shapes, and may "
    "differ only in constants and in which values they use";

/// "rank1.pt2: node 'lt' (#4)"
std::string describeNode(const LoadedProgram &program, size_t node);

/// Checks that two programs can be those of two ranks: they take the same
/// inputs, and have the same groups and nodes.
llvm::Error checkRanks(const LoadedProgram &program,
                       const LoadedProgram &first);

/// Merges the modules of all ranks into the first one; program i is that of
/// rank i. Where values differ between the graphs, tp.rank_select holds those
/// of all ranks. The graphs must have the same nodes; the error names the node
/// at which they part. The other modules are used up.
llvm::Error mergeRanks(llvm::MutableArrayRef<LoadedProgram> programs);

/// The part of a merged module that one rank runs, as it was before the merge
/// where no pass has changed it. `ownNames` are the rank's own names of values.
mlir::OwningOpRef<mlir::ModuleOp>
getModuleOfRank(mlir::ModuleOp merged, int64_t rank,
                const llvm::StringMap<std::string> &ownNames);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_MERGEDRANKS_H
