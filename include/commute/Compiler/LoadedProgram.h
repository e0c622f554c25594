//===- LoadedProgram.h - programs in and out of the compiler ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_LOADEDPROGRAM_H
#define COMMUTE_COMPILER_LOADEDPROGRAM_H

#include "commute/Archive/Program.h"
#include "commute/Compiler/StatedFacts.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::compiler {

enum class FileKind { Archive, Text, Bytecode };
/// Returns the kind of a file by its suffix; "-" is text. Returns an error for
/// an unknown suffix.
llvm::Expected<FileKind> getFileKind(llvm::StringRef path);

/// A program as a module, together with everything needed to write it back.
struct LoadedProgram {
  /// The path of the file, or the name of a program in memory, for messages.
  std::string origin;
  /// The archive of a .pt2; null otherwise.
  std::unique_ptr<archive::ProgramArchive> archive;
  /// A program in memory; null for files.
  std::unique_ptr<archive::Program> inMemory;
  /// The facts that the sidecar and the user state.
  vocabulary::DistributedContext distributed;
  /// True if the user states facts in addition to the sidecar.
  bool statesMore = false;
  vocabulary::ImportedProgram imported;
  /// The programs of all ranks from which the module is merged, or empty; see
  /// RankPrograms.h. They have no modules of their own.
  std::vector<LoadedProgram> ranks;
  /// For one of `ranks`: the rank that runs it.
  int64_t rank = 0;
  /// For one of `ranks`: its names of values that have a different name in the
  /// merged module.
  llvm::StringMap<std::string> ownNames;

  mlir::ModuleOp getModule() const { return *imported.module; }
  /// Returns the archive that all ranks run, or the archive of each rank; empty
  /// for other files.
  std::vector<const archive::ProgramArchive *> getArchives() const;
  /// Returns the PyTorch graph; null for .mlir and .mlirbc, and for the merged
  /// program of all ranks.
  archive::Program *getGraph() const {
    return archive ? archive->program.get() : inMemory.get();
  }
};

/// Reads a .pt2, .mlir or .mlirbc file and translates it to a module. Errors
/// name the file.
llvm::Expected<LoadedProgram>
readProgramFile(llvm::StringRef path, const vocabulary::Vocabulary &vocabulary,
                const StatedFacts &stated,
                const archive::ContainerLimits &limits,
                mlir::MLIRContext &context);

/// What is known of a program in memory besides its graph.
struct ProgramContext {
  /// The text of extra/commute.json: groups, placements, assumptions. May be
  /// empty.
  std::string sidecar;
  /// True if the program is part of a larger one that names further groups.
  bool hasOtherGroups = false;
  /// True if every rank runs a program of its own, as processes do that compile
  /// theirs. If the sidecar states the rank, the program may then differ
  /// between ranks.
  bool isOfOneRank = false;
  /// True if the programs of the other ranks are read as well.
  bool hasOtherPrograms = false;
};

/// The same for a program in memory, such as a live graph. Errors start with
/// the program's origin.
llvm::Expected<LoadedProgram> readProgram(
    std::unique_ptr<archive::Program> program, const ProgramContext &known,
    const vocabulary::Vocabulary &vocabulary, mlir::MLIRContext &context);

/// The same for the text of an ExportedProgram, as in models/NAME.json of a
/// .pt2. `name` stands for the program in messages.
llvm::Expected<LoadedProgram> readProgramText(
    std::string text, llvm::StringRef name, const ProgramContext &known,
    const vocabulary::Vocabulary &vocabulary, mlir::MLIRContext &context);

/// Returns the only function of the program. Returns an error if there are no
/// or several functions.
llvm::Expected<mlir::func::FuncOp> getMain(const LoadedProgram &program);

/// Returns the edits that turn the PyTorch graph of the program into its
/// module.
llvm::Expected<archive::ProgramEdits>
getEdits(const LoadedProgram &program,
         const vocabulary::Vocabulary &vocabulary);

/// The number of nodes that were written, and whether the program is unchanged.
struct WriteSummary {
  size_t numNodes = 0;
  bool isUnchanged = false;
};

/// Writes the program to `path` atomically. An archive can be written only if
/// the program was read from an archive. `edits` are those of the program, if
/// they are known already.
llvm::Expected<WriteSummary>
writeProgramFile(const LoadedProgram &program, llvm::StringRef path,
                 const vocabulary::Vocabulary &vocabulary,
                 const archive::ProgramEdits *edits = nullptr);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_LOADEDPROGRAM_H
