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
/// By suffix; "-" is text.
llvm::Expected<FileKind> getFileKind(llvm::StringRef path);

/// A program as a module, with all that is needed to write it back.
struct LoadedProgram {
  /// The path of the file, or what a program in memory is called in messages.
  std::string origin;
  /// Of a .pt2.
  std::unique_ptr<archive::ProgramArchive> archive;
  /// Of a program in memory.
  std::unique_ptr<archive::Program> text;
  /// What sidecar and user state.
  vocabulary::DistributedContext distributed;
  /// Whether the user stated more than the sidecar.
  bool statesMore = false;
  vocabulary::ImportedProgram imported;
  /// The programs of all ranks that the module is merged from, if those were
  /// given: see RankPrograms.h. They have no modules of their own.
  std::vector<LoadedProgram> ranks;
  /// The names of one of `ranks` for values that the merged module calls
  /// otherwise.
  llvm::StringMap<std::string> ownNames;

  mlir::ModuleOp getModule() const { return *imported.module; }
  /// The archive of all ranks, or those of each rank; none for other files.
  std::vector<const archive::ProgramArchive *> getArchives() const;
  /// The graph in PyTorch's terms; null for .mlir and .mlirbc, and for the
  /// merged program of all ranks.
  archive::Program *getGraph() const {
    return archive ? archive->program.get() : text.get();
  }
};

/// Reads and translates a .pt2, .mlir or .mlirbc. Errors name the file and what
/// is wrong in it.
llvm::Expected<LoadedProgram>
readProgramFile(llvm::StringRef path, const vocabulary::Vocabulary &vocabulary,
                const StatedFacts &stated,
                const archive::ContainerLimits &limits,
                mlir::MLIRContext &context);

/// A program in memory.
struct ProgramText {
  /// An ExportedProgram of the export schema, as in models/NAME.json of a .pt2.
  std::string program;
  /// What messages call it: "the graph".
  std::string name;
  /// The text of extra/commute.json: groups, placements, assumptions. May be
  /// empty.
  std::string sidecar;
  /// The program is a part of one that names more groups.
  bool hasOtherGroups = false;
};

/// The same for a program in memory.
llvm::Expected<LoadedProgram>
readProgramText(ProgramText text, const vocabulary::Vocabulary &vocabulary,
                mlir::MLIRContext &context);

/// The function that the program is; an error where there are none or several.
llvm::Expected<mlir::func::FuncOp> getMain(const LoadedProgram &program);

/// What has become of the nodes of a program that was read from PyTorch.
llvm::Expected<archive::ProgramEdits>
getEdits(const LoadedProgram &program,
         const vocabulary::Vocabulary &vocabulary);

/// What writing did.
struct WriteSummary {
  size_t numNodes = 0;
  bool isUnchanged = false;
};

/// Writes the program to `path`, complete or not at all. An archive can only be
/// written from an archive. With `checkResult` the new text is read again
/// first.
llvm::Expected<WriteSummary>
writeProgramFile(const LoadedProgram &program, llvm::StringRef path,
                 const vocabulary::Vocabulary &vocabulary, bool checkResult);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_LOADEDPROGRAM_H
