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

/// Returns, for example, "rank1.pt2: node 'lt' (#4)".
std::string describeNode(const LoadedProgram &program, size_t node);

/// Checks that two programs can belong to two ranks of one model, as far as
/// callers see: they have the same inputs, signature, groups and symbolic
/// sizes.
llvm::Error checkInterfaces(const LoadedProgram &program,
                            const LoadedProgram &first);

/// Checks that two programs can belong to two ranks of one model: they have the
/// same inputs, groups and nodes.
llvm::Error checkRanks(const LoadedProgram &program,
                       const LoadedProgram &first);

/// Checks that the members of each group issue the same collectives in the same
/// order. Returns a RanksDisagreeError if they do not.
llvm::Error checkCollectives(llvm::ArrayRef<LoadedProgram> programs);

/// Merges the modules of all ranks into the first one. `LoadedProgram::rank`
/// states the rank of each; groups whose members are known must have no other
/// ranks. A tp.rank_select represents values that differ between the graphs.
/// The graphs must have the same nodes; the error names the first node that
/// differs. The other modules are consumed.
llvm::Error mergeRanks(llvm::MutableArrayRef<LoadedProgram> programs);

/// Returns the part of a merged module that one rank runs. Where no pass has
/// changed it, it equals the module before the merge. `ownNames` contains the
/// rank's own names of values.
mlir::OwningOpRef<mlir::ModuleOp>
getModuleOfRank(mlir::ModuleOp merged, int64_t rank,
                const llvm::StringMap<std::string> &ownNames);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_MERGEDRANKS_H
