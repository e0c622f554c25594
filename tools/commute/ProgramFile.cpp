//===- ProgramFile.cpp - programs in .pt2, .mlir and .mlirbc ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramFile.h"

#include "ModuleText.h"
#include "StatedContext.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Archive/InputFile.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commute;
using namespace commute::tool;

llvm::Expected<FileKind> tool::getFileKind(StringRef path) {
  if (path == "-" || path.ends_with(".mlir"))
    return FileKind::Text;
  if (path.ends_with(".mlirbc"))
    return FileKind::Bytecode;
  if (path.ends_with(".pt2"))
    return FileKind::Archive;
  return llvm::createStringError(path +
                                 ": the suffix says how a file is read and "
                                 "written; known are .pt2, .mlir and .mlirbc, "
                                 "and - for text on standard input or output");
}

/// Reads text or bytecode; the parser's first message becomes the error.
static llvm::Error readModule(ProgramFile &file, MLIRContext &context) {
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  // Weights are no part of it: an 80-layer model takes some megabytes.
  constexpr uint64_t largestFile = 1 << 30;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      archive::readInputFile(file.path, largestFile);
  if (!buffer)
    return buffer.takeError();
  // Bytecode is trusted: see the README.
  if (file.kind == FileKind::Text)
    if (llvm::Error error = checkNesting((*buffer)->getBuffer()))
      return llvm::createStringError(file.path + ":" +
                                     llvm::toString(std::move(error)));
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (message.empty()) {
      llvm::raw_string_ostream os(message);
      if (auto place = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        os << place.getLine() << ':' << place.getColumn() << ": ";
      os << diagnostic;
    }
    return success();
  });
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  file.imported.module = parseSourceFile<ModuleOp>(sources, &context);
  if (!file.imported.module)
    return llvm::createStringError(file.path + ": " + message);
  return llvm::Error::success();
}

llvm::Expected<ProgramFile>
tool::readProgramFile(StringRef path, const vocabulary::Vocabulary &vocabulary,
                      const ProgramOptions &stated, MLIRContext &context) {
  ProgramFile file;
  file.path = path.str();
  llvm::Expected<FileKind> kind = getFileKind(path);
  if (!kind)
    return kind.takeError();
  file.kind = *kind;
  if (*kind != FileKind::Archive) {
    if (llvm::Error error = stated.addTo(file.distributed))
      return std::move(error);
    if (llvm::Error error = readModule(file, context))
      return std::move(error);
    if (llvm::Error error = applyContext(file.getModule(), file.distributed))
      return llvm::createStringError(path + ": " +
                                     llvm::toString(std::move(error)));
    return file;
  }
  llvm::Expected<std::unique_ptr<archive::ProgramArchive>> archive =
      archive::readProgramArchive(path, {}, stated.getArchiveLimits());
  if (!archive)
    return archive.takeError();
  file.archive = std::move(*archive);
  if (file.archive->sidecar) {
    llvm::Expected<vocabulary::DistributedContext> distributed =
        vocabulary::parseSidecar(*file.archive->sidecar,
                                 (path + ": record extra/commute.json").str());
    if (!distributed)
      return distributed.takeError();
    file.distributed = std::move(*distributed);
  }
  std::string before = vocabulary::renderSidecar(file.distributed);
  if (llvm::Error error = stated.addTo(file.distributed))
    return std::move(error);
  file.statesMore = !file.distributed.rules.empty() ||
                    vocabulary::renderSidecar(file.distributed) != before;
  llvm::Expected<vocabulary::ImportedProgram> imported =
      vocabulary::importProgram(*file.archive->program, vocabulary,
                                file.distributed, &context);
  if (!imported)
    return imported.takeError();
  file.imported = std::move(*imported);
  return file;
}

llvm::Expected<ProgramFile> tool::readProgramFile(StringRef path,
                                                  const ProgramOptions &stated,
                                                  MLIRContext &context) {
  llvm::Expected<std::unique_ptr<vocabulary::Vocabulary>> vocabulary =
      stated.loadVocabulary();
  if (!vocabulary)
    return vocabulary.takeError();
  return readProgramFile(path, **vocabulary, stated, context);
}

llvm::Expected<func::FuncOp> tool::getMain(const ProgramFile &file) {
  func::FuncOp function = analysis::getMain(file.getModule());
  if (!function)
    return llvm::createStringError(file.path +
                                   ": a program is a module with one function, "
                                   "of one block");
  return function;
}

/// The sidecar with the placements of all inputs as they were resolved.
static std::string getSidecar(const ProgramFile &file) {
  vocabulary::DistributedContext resolved = file.distributed;
  func::FuncOp function = analysis::getMain(file.getModule());
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    auto placements = function.getArgAttrOfType<DictionaryAttr>(
        index, tp::TPDialect::placementsAttrName);
    auto name = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::nameAttrName);
    auto parameter = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::parameterAttrName);
    if (!placements)
      continue;
    // An input keeps the key that the sidecar has for it.
    bool byParameter = parameter && resolved.inputs.count(parameter.str()) > 0;
    auto &stated = resolved.inputs[byParameter ? parameter.str() : name.str()];
    for (NamedAttribute placement : placements)
      stated[placement.getName().str()] =
          cast<tp::PlacementAttr>(placement.getValue()).getText();
  }
  return vocabulary::renderSidecar(resolved);
}

static llvm::Expected<WriteSummary>
writeArchive(const ProgramFile &file, StringRef path,
             const vocabulary::Vocabulary &vocabulary, bool checkResult) {
  if (!file.archive)
    return llvm::createStringError(
        path + ": an archive holds weights and signatures that " + file.path +
        " does not have; give a .pt2 as input, or write .mlir");
  archive::Program &program = *file.archive->program;
  llvm::Expected<archive::ProgramEdits> edits = vocabulary::exportProgram(
      file.getModule(), file.imported, program, vocabulary);
  if (!edits)
    return edits.takeError();
  WriteSummary summary;
  summary.isUnchanged = edits->changesNothing(program);
  summary.numNodes = edits->getNumNodes();
  std::string json = edits->apply(program);
  if (checkResult && !summary.isUnchanged) {
    // What is written must be readable: names, types, order of nodes.
    llvm::Expected<std::unique_ptr<archive::Program>> reread =
        archive::parseProgram(json, path);
    if (!reread)
      return llvm::createStringError(
          "the result would not be a legal program, which is a defect of "
          "Commute: " +
          llvm::toString(reread.takeError()));
  }
  std::optional<std::string> sidecar;
  if (file.statesMore)
    sidecar = getSidecar(file);
  if (llvm::Error error = archive::writeProgramArchive(
          *file.archive, path, std::move(json), std::move(sidecar)))
    return std::move(error);
  return summary;
}

llvm::Expected<WriteSummary>
tool::writeProgramFile(const ProgramFile &file, StringRef path,
                       const vocabulary::Vocabulary &vocabulary,
                       bool checkResult) {
  llvm::Expected<FileKind> kind = getFileKind(path);
  if (!kind)
    return kind.takeError();
  if (*kind == FileKind::Archive)
    return writeArchive(file, path, vocabulary, checkResult);

  ModuleOp module = file.getModule();
  auto write = [&](llvm::raw_ostream &os) -> llvm::Error {
    if (*kind == FileKind::Bytecode) {
      if (failed(writeBytecodeToFile(module, os)))
        return llvm::createStringError(path + ": cannot write bytecode");
      return llvm::Error::success();
    }
    OpPrintingFlags flags;
    flags.enableDebugInfo(/*enable=*/true, /*prettyForm=*/false);
    module.print(os, flags);
    os << '\n';
    return llvm::Error::success();
  };
  if (path == "-") {
    if (llvm::Error error = write(llvm::outs()))
      return std::move(error);
  } else if (llvm::Error error = llvm::writeToOutput(path, write)) {
    return std::move(error);
  }
  WriteSummary summary;
  module.walk([&](Operation *op) {
    summary.numNodes += isa_and_present<tp::TPDialect>(op->getDialect());
  });
  return summary;
}
