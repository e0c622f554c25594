//===- OptimizationSummary.h - what commute opt says at its end -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_OPTIMIZATIONSUMMARY_H
#define COMMUTE_TOOLS_COMMUTE_OPTIMIZATIONSUMMARY_H

#include "commute/Compiler/Optimization.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/ReplicatedWork.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>

namespace commute::tool {

/// A program of one rank in numbers.
struct ProgramFigures {
  size_t numOps = 0;
  size_t numCollectives = 0;
  /// One step on the target; none if it cannot be predicted.
  std::optional<double> stepSeconds, exposedSeconds, activationBytes;
};

/// The program before and after the passes.
struct OptimizationFigures {
  std::string target;
  ProgramFigures before, after;
  /// Why there are no predictions; empty if there are.
  std::string unpriced;
  /// What all ranks compute alike in the program before.
  std::optional<compiler::ReplicatedWork> replicated;
};

OptimizationFigures measure(const compiler::LoadedProgram &file,
                            const compiler::Optimization &optimization,
                            llvm::StringRef target);
/// The keys "step" and "replicated" of docs/schemas/opt.json.
void addTo(llvm::json::Object &object, const OptimizationFigures &figures);

/// Prints a table of both programs. The numbers of nodes in the PyTorch graphs
/// are none for textual modules, which have ops instead.
void printTable(const OptimizationFigures &figures,
                std::optional<size_t> numNodesBefore,
                std::optional<size_t> numNodesAfter, llvm::raw_ostream &os);

/// Returns sentences that say why no pass changed a program. `inputs` are the
/// files that the user named.
std::vector<std::string> explainUnchanged(
    const compiler::LoadedProgram &file, llvm::ArrayRef<std::string> inputs,
    const OptimizationFigures &figures, const report::RemarkCollector &remarks);

/// Returns the options by which a result that is not proven could be written,
/// as a clause.
std::string describeRemedy(const equivalence::VerifyResult &verification);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_OPTIMIZATIONSUMMARY_H
