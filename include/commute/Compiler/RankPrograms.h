//===- RankPrograms.h - the archives of all ranks ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Captured programs may differ between ranks in constants that depend on the
// rank. The archives of all ranks are read as one module, in which
// tp.rank_select ops represent the differences, so that every pass makes one
// decision for all ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_RANKPROGRAMS_H
#define COMMUTE_COMPILER_RANKPROGRAMS_H

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Dialect/TPDialect.h"

namespace commute::compiler {

/// The error of programs whose ranks issue different collectives in a group, or
/// issue them in different orders: they would wait for each other, or exchange
/// the wrong data.
class RanksDisagreeError : public llvm::ErrorInfo<RanksDisagreeError> {
public:
  static char ID;

  explicit RanksDisagreeError(std::string text) : text(std::move(text)) {}

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

private:
  std::string text;
};

/// Returns "rank3.pt2".
std::string getRankFileName(size_t rank);

/// Returns the paths of the archives of all ranks in a folder: rank0.pt2,
/// rank1.pt2 and so on. The error names the missing one.
llvm::Expected<std::vector<std::string>> findRankFiles(llvm::StringRef folder);

/// Reads the archives of all ranks. File i is the program of rank i. Errors
/// name a file that is missing, given twice, in the wrong position or of a
/// different program. Messages refer to the files together as `origin`.
llvm::Expected<LoadedProgram>
readRankFiles(llvm::ArrayRef<std::string> paths, llvm::StringRef origin,
              const vocabulary::Vocabulary &vocabulary,
              const StatedFacts &stated, const archive::ContainerLimits &limits,
              mlir::MLIRContext &context);

/// Merges the programs of several ranks into one. `LoadedProgram::rank` states
/// the rank of each, and groups must have no other ranks. Errors name the
/// program, and the node, at which they first differ in more than what a merged
/// module can represent; a RanksDisagreeError says that the ranks cannot run
/// together.
llvm::Expected<LoadedProgram> mergePrograms(std::vector<LoadedProgram> programs,
                                            llvm::StringRef origin);

/// Returns true if these paths are not one file that all ranks run, but the
/// archives of all ranks, or the folder that contains them.
bool areOfRanks(llvm::ArrayRef<std::string> paths);
/// Reads a program from one file, from the archives of all ranks, or from the
/// folder that contains these.
llvm::Expected<LoadedProgram>
readProgram(llvm::ArrayRef<std::string> paths,
            const vocabulary::Vocabulary &vocabulary, const StatedFacts &stated,
            const archive::ContainerLimits &limits, mlir::MLIRContext &context);

/// Returns a warning about the program of one rank that is given for all ranks,
/// if it holds constants of its rank.
std::optional<std::string>
describeConstantsOfRank(const LoadedProgram &program);

/// Returns the module of program `rank` among the ranks of a merged program.
mlir::OwningOpRef<mlir::ModuleOp> getModuleOfRank(const LoadedProgram &program,
                                                  size_t rank);
/// The same for another version of the program's merged module.
mlir::OwningOpRef<mlir::ModuleOp> getModuleOfRank(const LoadedProgram &program,
                                                  mlir::ModuleOp merged,
                                                  size_t rank);

/// Writes the archives of all ranks, or none, into a folder, which is created
/// if it does not exist. `edits` are those of the ranks, if they are known
/// already, or empty.
llvm::Expected<WriteSummary>
writeRankFiles(LoadedProgram &program, llvm::StringRef folder,
               const vocabulary::Vocabulary &vocabulary,
               llvm::ArrayRef<archive::ProgramEdits> edits = {});

/// Returns, for example, "0 on rank 0, 128 on rank 1", or nullopt for an op
/// that selects values other than constants.
std::optional<std::string> describeConstants(tp::RankSelectOp op);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_RANKPROGRAMS_H
