//===- ProgramOptions.h - options of all commands ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H
#define COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H

#include "OptionParsers.h"

#include "commute/Archive/Container.h"
#include "commute/Compiler/LoadedProgram.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/Support/CommandLine.h"

namespace commute::tool {

/// The user's statements about a program on the command line: groups, rank,
/// placements, assumptions and vocabularies.
class ProgramOptions {
public:
  explicit ProgramOptions(llvm::cl::SubCommand &command);

  /// Returns the built-in vocabularies, extended by the user's.
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>>
  loadVocabulary() const;
  /// Reads a program with all statements about it, from one file, from the
  /// archives of all ranks, or from the folder that contains these.
  llvm::Expected<compiler::LoadedProgram>
  read(llvm::ArrayRef<std::string> paths,
       const vocabulary::Vocabulary &vocabulary,
       mlir::MLIRContext &context) const;
  /// The same for commands that do not write the program.
  llvm::Expected<compiler::LoadedProgram>
  read(llvm::ArrayRef<std::string> paths, mlir::MLIRContext &context) const;

  /// Reads the programs of ranks, each on its own: one that all ranks run, or
  /// that of each rank, or those in a folder. They may differ. Groups are known
  /// from elsewhere, too.
  llvm::Expected<std::vector<compiler::LoadedProgram>>
  readEach(llvm::ArrayRef<std::string> paths,
           const std::map<std::string, vocabulary::GroupRanks> &knownGroups,
           const vocabulary::Vocabulary &vocabulary,
           mlir::MLIRContext &context) const;
  /// Reads the program of one device, about which nothing is stated but what is
  /// assumed of sizes.
  llvm::Expected<compiler::LoadedProgram>
  readReference(llvm::StringRef path, const vocabulary::Vocabulary &vocabulary,
                mlir::MLIRContext &context) const;

private:
  compiler::StatedFacts getFacts() const;
  /// Resource limits for archives.
  archive::ContainerLimits getArchiveLimits() const;

  llvm::cl::list<std::string> groups;
  NumberOption<int64_t> rank;
  llvm::cl::list<std::string> placements;
  llvm::cl::list<std::string> assumptions;
  llvm::cl::list<std::string> vocabularies;
  NumberOption<uint64_t> maxInflation;
  NumberOption<uint64_t> maxInflatedBytes;
};

/// Returns an error if a file to write is one of the inputs, or the folder that
/// contains the inputs. With `force`, that is allowed; commands without
/// --force have none.
llvm::Error checkOverwrite(llvm::StringRef option, llvm::StringRef output,
                           llvm::ArrayRef<std::string> inputs,
                           std::optional<bool> force = std::nullopt);

/// Prints the warning of compiler::describeConstantsOfRank.
void warnAboutConstants(const compiler::LoadedProgram &program);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H
