//===- LoadedProgram.cpp - programs in and out of the compiler --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/LoadedProgram.h"

#include "ConstantInputs.h"

#include "FileHint.h"
#include "FirstDiagnostic.h"
#include "ModuleText.h"
#include "StatedContext.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Archive/InputFile.h"
#include "commute/Dialect/TPDialect.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

std::vector<const archive::ProgramArchive *>
LoadedProgram::getArchives() const {
  std::vector<const archive::ProgramArchive *> archives;
  if (archive)
    archives.push_back(archive.get());
  for (const LoadedProgram &own : ranks)
    archives.push_back(own.archive.get());
  return archives;
}

llvm::Expected<FileKind> compiler::getFileKind(StringRef path) {
  if (path == "-" || path.ends_with(".mlir"))
    return FileKind::Text;
  if (path.ends_with(".mlirbc"))
    return FileKind::Bytecode;
  if (path.ends_with(".pt2"))
    return FileKind::Archive;
  return llvm::createStringError(
      path + ": the suffix selects the file format: .pt2, .mlir or .mlirbc, or "
             "- for text on standard input or output");
}

/// Reads text or bytecode. The parser's first diagnostic becomes the error.
static llvm::Error readModule(LoadedProgram &program, FileKind kind,
                              MLIRContext &context) {
  context.loadDialect<tp::TPDialect, func::FuncDialect>();
  // Programs contain no weights: an 80-layer model takes a few megabytes.
  constexpr uint64_t largestFile = 1 << 30;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
      archive::readInputFile(program.origin, largestFile);
  if (!buffer)
    return buffer.takeError();
  // Bytecode is trusted: see the README.
  if (kind == FileKind::Text)
    if (llvm::Error error = checkNesting((*buffer)->getBuffer()))
      return llvm::createStringError(program.origin + ":" +
                                     llvm::toString(std::move(error)));
  FirstDiagnostic diagnostic(&context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
  program.imported.module = parseSourceFile<ModuleOp>(sources, &context);
  if (!program.imported.module)
    return llvm::createStringError(program.origin + ": " +
                                   diagnostic.getMessage());
  return llvm::Error::success();
}

/// Translates the graph of a program whose context is complete.
static llvm::Error translate(LoadedProgram &program,
                             const vocabulary::Vocabulary &vocabulary,
                             MLIRContext &context) {
  llvm::Expected<vocabulary::ImportedProgram> imported =
      vocabulary::importProgram(*program.getGraph(), vocabulary,
                                program.distributed, &context);
  if (!imported)
    return imported.takeError();
  program.imported = std::move(*imported);
  return llvm::Error::success();
}

llvm::Expected<LoadedProgram> compiler::readProgramFile(
    StringRef path, const vocabulary::Vocabulary &vocabulary,
    const StatedFacts &stated, const archive::ContainerLimits &limits,
    MLIRContext &context) {
  LoadedProgram program;
  program.origin = path.str();
  llvm::Expected<FileKind> kind = getFileKind(path);
  if (!kind)
    return addFileHint(kind.takeError(), path);
  if (*kind != FileKind::Archive) {
    if (llvm::Error error = stated.addTo(program.distributed))
      return std::move(error);
    if (llvm::Error error = readModule(program, *kind, context))
      return std::move(error);
    if (llvm::Error error =
            applyContext(program.getModule(), program.distributed))
      return llvm::createStringError(path + ": " +
                                     llvm::toString(std::move(error)));
    return program;
  }
  llvm::Expected<std::unique_ptr<archive::ProgramArchive>> archive =
      archive::readProgramArchive(path, {}, limits);
  if (!archive)
    return addFileHint(archive.takeError(), path);
  program.archive = std::move(*archive);
  if (program.archive->sidecar) {
    llvm::Expected<vocabulary::DistributedContext> distributed =
        vocabulary::parseSidecar(*program.archive->sidecar,
                                 (path + ": record extra/commute.json").str());
    if (!distributed)
      return distributed.takeError();
    program.distributed = std::move(*distributed);
  }
  std::string before = vocabulary::renderSidecar(program.distributed);
  if (llvm::Error error = stated.addTo(program.distributed))
    return std::move(error);
  program.statesMore = !program.distributed.rules.empty() ||
                       vocabulary::renderSidecar(program.distributed) != before;
  if (llvm::Error error = translate(program, vocabulary, context))
    return std::move(error);
  stateConstantInputs(*program.archive, analysis::getMain(program.getModule()));
  return program;
}

llvm::Expected<LoadedProgram> compiler::readProgram(
    std::unique_ptr<archive::Program> inMemory, const ProgramContext &known,
    const vocabulary::Vocabulary &vocabulary, MLIRContext &context) {
  LoadedProgram program;
  program.origin = inMemory->origin;
  if (!known.sidecar.empty()) {
    llvm::Expected<vocabulary::DistributedContext> distributed =
        vocabulary::parseSidecar(known.sidecar, "context of " + program.origin);
    if (!distributed)
      return distributed.takeError();
    program.distributed = std::move(*distributed);
  }
  program.distributed.hasOtherGroups = known.hasOtherGroups;
  program.distributed.hasOtherPrograms = known.hasOtherPrograms;
  program.distributed.isRankSpecific =
      known.isOfOneRank && program.distributed.rank.has_value();
  program.inMemory = std::move(inMemory);
  if (llvm::Error error = translate(program, vocabulary, context))
    return std::move(error);
  return program;
}

llvm::Expected<LoadedProgram> compiler::readProgramText(
    std::string text, StringRef name, const ProgramContext &known,
    const vocabulary::Vocabulary &vocabulary, MLIRContext &context) {
  llvm::Expected<std::unique_ptr<archive::Program>> parsed =
      archive::parseProgram(std::move(text), name);
  if (!parsed)
    return parsed.takeError();
  return readProgram(std::move(*parsed), known, vocabulary, context);
}

llvm::Expected<func::FuncOp> compiler::getMain(const LoadedProgram &program) {
  func::FuncOp function = analysis::getMain(program.getModule());
  if (!function)
    return llvm::createStringError(
        program.origin +
        ": a program must be a module with one function of one block");
  return function;
}

llvm::Expected<archive::ProgramEdits>
compiler::getEdits(const LoadedProgram &program,
                   const vocabulary::Vocabulary &vocabulary) {
  assert(program.getGraph() &&
         "only a graph captured from PyTorch has nodes to edit");
  return vocabulary::exportProgram(program.getModule(), program.imported,
                                   *program.getGraph(), vocabulary);
}

/// Returns the sidecar with the resolved placements of all inputs.
static std::string getSidecar(const LoadedProgram &program) {
  vocabulary::DistributedContext resolved = program.distributed;
  func::FuncOp function = analysis::getMain(program.getModule());
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    auto placements = function.getArgAttrOfType<DictionaryAttr>(
        index, tp::TPDialect::placementsAttrName);
    auto name = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::nameAttrName);
    auto parameter = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::parameterAttrName);
    if (!placements)
      continue;
    // Keep the key that the sidecar uses for the input.
    bool byParameter = parameter && resolved.inputs.count(parameter.str()) > 0;
    auto &stated = resolved.inputs[byParameter ? parameter.str() : name.str()];
    for (NamedAttribute placement : placements)
      stated[placement.getName().str()] =
          cast<tp::PlacementAttr>(placement.getValue()).getText();
  }
  return vocabulary::renderSidecar(resolved);
}

static llvm::Expected<WriteSummary>
writeArchive(const LoadedProgram &program, StringRef path,
             const vocabulary::Vocabulary &vocabulary,
             const archive::ProgramEdits *edits) {
  if (!program.archive)
    return llvm::createStringError(
        path + ": an archive holds weights and signatures that " +
        program.origin +
        " does not have; give a .pt2 as input, or write .mlir");
  archive::Program &graph = *program.getGraph();
  std::optional<archive::ProgramEdits> own;
  if (!edits) {
    llvm::Expected<archive::ProgramEdits> made = getEdits(program, vocabulary);
    if (!made)
      return made.takeError();
    edits = &own.emplace(std::move(*made));
  }
  WriteSummary summary;
  summary.isUnchanged = edits->changesNothing(graph);
  summary.numNodes = edits->getNumNodes();
  std::optional<std::string> sidecar;
  if (program.statesMore)
    sidecar = getSidecar(program);
  if (llvm::Error error = archive::writeProgramArchive(
          *program.archive, path, edits->apply(graph), std::move(sidecar)))
    return std::move(error);
  return summary;
}

llvm::Expected<WriteSummary>
compiler::writeProgramFile(const LoadedProgram &program, StringRef path,
                           const vocabulary::Vocabulary &vocabulary,
                           const archive::ProgramEdits *edits) {
  llvm::Expected<FileKind> kind = getFileKind(path);
  if (!kind)
    return kind.takeError();
  if (*kind == FileKind::Archive)
    return writeArchive(program, path, vocabulary, edits);

  ModuleOp module = program.getModule();
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
