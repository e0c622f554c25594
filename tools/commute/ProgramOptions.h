//===- ProgramOptions.h - options of all commands ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H
#define COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H

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
  /// Reads a program with all statements about it.
  llvm::Expected<compiler::LoadedProgram>
  read(llvm::StringRef path, const vocabulary::Vocabulary &vocabulary,
       mlir::MLIRContext &context) const;
  /// The same for commands that do not write the program.
  llvm::Expected<compiler::LoadedProgram>
  read(llvm::StringRef path, mlir::MLIRContext &context) const;

private:
  compiler::StatedFacts getFacts() const;
  /// Resource limits for archives.
  archive::ContainerLimits getArchiveLimits() const;

  llvm::cl::list<std::string> groups;
  llvm::cl::opt<int64_t> rank;
  llvm::cl::list<std::string> placements;
  llvm::cl::list<std::string> assumptions;
  llvm::cl::list<std::string> vocabularies;
  llvm::cl::opt<uint64_t> maxInflation;
  llvm::cl::opt<uint64_t> maxInflatedBytes;
};

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PROGRAMOPTIONS_H
