//===- RefinePrograms.cpp - ranks against a reference ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RefinePrograms.h"

#include "commute/Archive/Container.h"
#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/StoredConstants.h"
#include "commute/Refinement/RefinementReport.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::python;

RefinedPrograms python::refinePrograms(const std::string &reference,
                                       const std::vector<std::string> &ranks,
                                       const RefineSettings &settings) {
  auto fail = [](llvm::Error error) {
    RefinedPrograms result;
    result.error = llvm::toString(std::move(error));
    return result;
  };
  refinement::StatedRelations relations;
  if (!settings.relations.empty()) {
    llvm::Expected<refinement::StatedRelations> parsed =
        refinement::parseRelations(settings.relations, settings.relationsName);
    if (!parsed)
      return fail(parsed.takeError());
    relations = std::move(*parsed);
  }
  vocabulary::Vocabulary vocabulary;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  archive::ContainerLimits limits;
  llvm::Expected<LoadedProgram> whole =
      readProgramFile(reference, vocabulary, {}, limits, context);
  if (!whole)
    return fail(whole.takeError());
  stateStoredData(*whole);
  StatedFacts facts;
  facts.groups = settings.groups;
  facts.knownGroups = relations.mesh.getGroups();
  if (llvm::Error error = facts.moveGroupsToKnown())
    return fail(std::move(error));
  std::vector<LoadedProgram> programs;
  std::vector<mlir::ModuleOp> modules;
  for (const std::string &path : ranks) {
    llvm::Expected<LoadedProgram> program =
        readProgramFile(path, vocabulary, facts, limits, context);
    if (!program)
      return fail(program.takeError());
    stateStoredData(*program);
    modules.push_back(program->getModule());
    programs.push_back(std::move(*program));
  }
  refinement::RefineOptions options;
  options.proof.seed = settings.seed;
  options.proof.reducesSizes = !settings.realSizes;
  options.proof.maxSeconds = settings.maxSeconds;
  if (settings.maxBytes >= 0)
    options.proof.maxBytes = settings.maxBytes;
  options.findsAllRelations = settings.showRelations;
  llvm::Expected<refinement::RefinementResult> result =
      refinement::refine(whole->getModule(), modules, relations, options);
  if (!result)
    return fail(result.takeError());
  RefinedPrograms refined;
  llvm::raw_string_ostream(refined.report)
      << llvm::json::Value(refinement::toJson(*result));
  llvm::raw_string_ostream text(refined.text);
  refinement::print(*result, text);
  if (settings.showRelations)
    refinement::printValues(*result, text);
  return refined;
}
