//===- StepEstimate.h - one predicted step ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The estimate of one step of a program on a target, by kinds of ops, as
// `commute estimate` and commute.estimate report it.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_STEPESTIMATE_H
#define COMMUTE_COMPILER_STEPESTIMATE_H

#include "commute/Compiler/LoadedProgram.h"
#include "commute/Compiler/ReplicatedWork.h"
#include "commute/Target/Estimate.h"

#include "llvm/Support/JSON.h"

namespace commute::compiler {

/// All ops of one kind.
struct OpKindSummary {
  /// Name of the op, or of the PyTorch operator if the op is opaque.
  std::string name;
  int64_t count = 0;
  /// On both lanes, including copies.
  double seconds = 0;
  double flops = 0;
  double memoryBytes = 0;
  double wireBytes = 0;
  /// The bound of the ops that take most of the time.
  target::Bound bound = target::Bound::Nothing;
  bool isGuess = false;
};

struct EstimateSummary {
  std::string targetName;
  std::string targetDescription;
  /// True if the user did not select a target.
  bool isDefaultTarget = false;
  /// Values of the program's symbols.
  target::SizeTable sizes;
  target::Estimate estimate;
  /// Node and source line of the op at which activation memory peaks.
  std::string peakPlace;
  double deviceBytes = 0;
  /// In descending order of time.
  std::vector<OpKindSummary> kinds;
  /// What all ranks compute alike, if that is known.
  std::optional<ReplicatedWork> replicated;
  /// What the sidecar says to the user of the program.
  std::vector<std::string> notes;
};

EstimateSummary summarize(target::Estimate estimate,
                          const target::Target &target,
                          const target::SizeTable &sizes);
/// See docs/schemas/estimate.json.
llvm::json::Object toJson(const EstimateSummary &summary);

struct StepEstimate {
  /// The program of rank 0 of a merged module; null otherwise.
  mlir::OwningOpRef<mlir::ModuleOp> moduleOfRank;
  /// The function to whose ops the summary refers.
  mlir::func::FuncOp function;
  EstimateSummary summary;
};

/// Returns an error that names the symbolic sizes of the program if `symbol` is
/// not one of them.
llvm::Error checkSymbol(const LoadedProgram &program, llvm::StringRef symbol);

/// Predicts one step. `sizes` overrides the values of symbolic sizes that the
/// program states. If the value of a symbol is unknown, the error contains
/// `spellSize`, which shows how to state it: "with --size s0=4096".
llvm::Expected<StepEstimate>
estimateStep(const LoadedProgram &program, const target::Target &target,
             const target::SizeTable &sizes,
             llvm::function_ref<std::string(llvm::StringRef)> spellSize);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_STEPESTIMATE_H
