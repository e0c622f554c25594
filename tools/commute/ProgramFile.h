//===- ProgramFile.h - programs in .pt2, .mlir and .mlirbc ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_PROGRAMFILE_H
#define COMMUTE_TOOLS_COMMUTE_PROGRAMFILE_H

#include "ProgramOptions.h"

#include "commute/Archive/Program.h"
#include "commute/Vocabulary/Translation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::tool {

enum class FileKind { Archive, Text, Bytecode };
/// By suffix; "-" is text.
llvm::Expected<FileKind> getFileKind(llvm::StringRef path);

/// A program that was read, and for an archive what is needed to write it back.
struct ProgramFile {
  std::string path;
  FileKind kind = FileKind::Text;
  std::unique_ptr<archive::ProgramArchive> archive;
  /// What sidecar and command line state.
  vocabulary::DistributedContext distributed;
  /// Whether the command line added to the sidecar.
  bool statesMore = false;
  vocabulary::ImportedProgram imported;

  mlir::ModuleOp getModule() const { return *imported.module; }
};

/// Reads and translates `path`; `stated` holds what the command line says.
llvm::Expected<ProgramFile>
readProgramFile(llvm::StringRef path, const vocabulary::Vocabulary &vocabulary,
                const ProgramOptions &stated, mlir::MLIRContext &context);

/// The same for those who write nothing back: with the vocabulary that `stated`
/// names.
llvm::Expected<ProgramFile> readProgramFile(llvm::StringRef path,
                                            const ProgramOptions &stated,
                                            mlir::MLIRContext &context);

/// The function that the program is; an error where there are none or several.
llvm::Expected<mlir::func::FuncOp> getMain(const ProgramFile &file);

/// What writing did.
struct WriteSummary {
  size_t numNodes = 0;
  bool isUnchanged = false;
};

/// Writes the program to `path`, complete or not at all. An archive can only be
/// written from an archive. With `checkResult` the new text is read again
/// first.
llvm::Expected<WriteSummary>
writeProgramFile(const ProgramFile &file, llvm::StringRef path,
                 const vocabulary::Vocabulary &vocabulary, bool checkResult);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_PROGRAMFILE_H
