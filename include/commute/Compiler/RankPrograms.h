//===- RankPrograms.h - the archives of all ranks ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Captured programs may differ between ranks, in constants of the rank. The
// archives of all ranks are read as one module, in which tp.rank_select holds
// what differs, so that every pass takes one decision for all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_RANKPROGRAMS_H
#define COMMUTE_COMPILER_RANKPROGRAMS_H

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Dialect/TPDialect.h"

namespace commute::compiler {

/// "rank3.pt2"
std::string getRankFileName(size_t rank);

/// The archives of all ranks in a folder: rank0.pt2, rank1.pt2 and so on.
/// The error says which one is missing.
llvm::Expected<std::vector<std::string>> findRankFiles(llvm::StringRef folder);

/// Reads the archives of all ranks, file i being the program of rank i. Errors
/// name the file that is missing, given twice, in the wrong place or of another
/// program. `origin` is what messages call all files.
llvm::Expected<LoadedProgram>
readRankFiles(llvm::ArrayRef<std::string> paths, llvm::StringRef origin,
              const vocabulary::Vocabulary &vocabulary,
              const StatedFacts &stated, const archive::ContainerLimits &limits,
              mlir::MLIRContext &context);

/// The module that rank `rank` runs, of a program read by `readRankFiles`.
mlir::OwningOpRef<mlir::ModuleOp> getModuleOfRank(const LoadedProgram &program,
                                                  size_t rank);

/// Writes the archive of every rank into a folder, which is created if it is
/// not there: all of them, or none.
llvm::Expected<WriteSummary>
writeRankFiles(LoadedProgram &program, llvm::StringRef folder,
               const vocabulary::Vocabulary &vocabulary, bool checkResult);

/// "0 on rank 0, 128 on rank 1"; nullopt for an op that selects anything but
/// constants.
std::optional<std::string> describeConstants(tp::RankSelectOp op);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_RANKPROGRAMS_H
