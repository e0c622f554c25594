//===- WrittenProgram.cpp - what a reader makes of a result -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/WrittenProgram.h"

#include "MergedRanks.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Dialect/TPDialect.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

bool compiler::hasGraphs(const LoadedProgram &program) {
  return program.getGraph() || !program.ranks.empty();
}

llvm::Expected<EditsOfRanks>
compiler::getEditsOfRanks(LoadedProgram &program,
                          const vocabulary::Vocabulary &vocabulary) {
  EditsOfRanks result;
  if (program.ranks.empty()) {
    llvm::Expected<archive::ProgramEdits> edits = getEdits(program, vocabulary);
    if (!edits)
      return edits.takeError();
    result.push_back(std::move(*edits));
    return result;
  }
  for (auto [rank, own] : llvm::enumerate(program.ranks)) {
    own.imported.module = getModuleOfRank(program, rank);
    llvm::Expected<archive::ProgramEdits> edits = getEdits(own, vocabulary);
    own.imported.module = {};
    if (!edits)
      return edits.takeError();
    result.push_back(std::move(*edits));
  }
  return result;
}

/// Returns the edited graph of one program as a reader gets it: for archives,
/// from the very text that is written.
static llvm::Expected<std::unique_ptr<archive::Program>>
edit(const LoadedProgram &program, const archive::ProgramEdits &edits) {
  const archive::Program &graph = *program.getGraph();
  if (program.archive)
    return archive::parseProgram(edits.apply(graph), graph.origin);
  std::unique_ptr<archive::Program> edited = edits.applyInMemory(graph);
  if (llvm::Error error = archive::checkNames(*edited))
    return std::move(error);
  return std::move(edited);
}

/// Reads the edited graph of one program. `merged` is the module of all ranks.
static llvm::Expected<LoadedProgram>
readEditedGraph(const LoadedProgram &program,
                const archive::ProgramEdits &edits,
                const vocabulary::Vocabulary &vocabulary, ModuleOp merged) {
  llvm::Expected<std::unique_ptr<archive::Program>> edited =
      edit(program, edits);
  if (!edited)
    return edited.takeError();
  LoadedProgram result;
  result.origin = program.origin;
  result.distributed = program.distributed;
  result.rank = program.rank;
  result.inMemory = std::move(*edited);
  llvm::Expected<vocabulary::ImportedProgram> imported =
      vocabulary::importProgram(*result.inMemory, vocabulary,
                                result.distributed, merged.getContext());
  if (!imported)
    return imported.takeError();
  result.imported = std::move(*imported);
  // Programs that do not communicate run on the ranks that have one.
  StringRef groups = tp::TPDialect::groupsAttrName;
  if (!result.getModule()->hasAttr(groups) && merged->hasAttr(groups))
    result.getModule()->setAttr(groups, merged->getAttr(groups));
  return result;
}

static llvm::Expected<OwningOpRef<ModuleOp>>
readEditedGraphs(const LoadedProgram &program,
                 ArrayRef<archive::ProgramEdits> edits,
                 const vocabulary::Vocabulary &vocabulary) {
  ModuleOp merged = program.getModule();
  if (program.ranks.empty()) {
    llvm::Expected<LoadedProgram> read =
        readEditedGraph(program, edits.front(), vocabulary, merged);
    if (!read)
      return read.takeError();
    return std::move(read->imported.module);
  }
  std::vector<LoadedProgram> ranks;
  for (auto [own, ownEdits] : llvm::zip_equal(program.ranks, edits)) {
    llvm::Expected<LoadedProgram> read =
        readEditedGraph(own, ownEdits, vocabulary, merged);
    if (!read)
      return read.takeError();
    ranks.push_back(std::move(*read));
  }
  if (llvm::Error error = mergeRanks(ranks))
    return std::move(error);
  return std::move(ranks.front().imported.module);
}

llvm::Expected<OwningOpRef<ModuleOp>>
compiler::readEdited(const LoadedProgram &program,
                     ArrayRef<archive::ProgramEdits> edits,
                     const vocabulary::Vocabulary &vocabulary) {
  llvm::Expected<OwningOpRef<ModuleOp>> result =
      readEditedGraphs(program, edits, vocabulary);
  if (!result)
    return llvm::createStringError(
        "internal error: the result is not a legal program: " +
        llvm::toString(result.takeError()));
  // What is known of the program besides the graph.
  for (NamedAttribute fact : program.getModule()->getDiscardableAttrs())
    if (!(**result)->hasAttr(fact.getName()))
      (**result)->setAttr(fact.getName(), fact.getValue());
  // Edits keep the inputs, and the stored constants among them.
  func::FuncOp before = analysis::getMain(program.getModule());
  func::FuncOp after = analysis::getMain(**result);
  for (unsigned index = 0; index < before.getNumArguments(); ++index)
    if (Attribute value =
            before.getArgAttr(index, tp::TPDialect::valueAttrName))
      after.setArgAttr(index, tp::TPDialect::valueAttrName, value);
  return result;
}
