//===- ReportFile.h - the page of --report ----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_REPORTFILE_H
#define COMMUTE_TOOLS_COMMUTE_REPORTFILE_H

#include "commute/Compiler/Explanation.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Compiler/StepEstimate.h"
#include "commute/Equivalence/Verify.h"
#include "commute/Refinement/Refine.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/ReportPage/LayerLabels.h"
#include "commute/ReportPage/SourceExcerpts.h"
#include "commute/ReportPage/StringTable.h"

namespace commute::tool {

/// Collects what a command found out, and writes it as an HTML page.
class ReportFile {
public:
  /// `command` is the name of the subcommand, such as "opt".
  ReportFile(llvm::StringRef command, target::Target target);

  /// Adds a program with its predicted step; `role` is "before" and so on.
  /// `module` may be the merged module of all ranks of `file`. A program whose
  /// step cannot be predicted is added with the reason.
  void addProgram(llvm::StringRef role, llvm::StringRef name,
                  mlir::ModuleOp module, const compiler::LoadedProgram &file);
  /// The same for a known estimate of a function.
  void addProgram(llvm::StringRef role, llvm::StringRef name,
                  mlir::func::FuncOp function,
                  compiler::EstimateSummary summary);
  void addProof(const equivalence::VerifyResult &result);
  void addProof(const refinement::RefinementResult &result);
  /// Adds what passes did between the first two programs.
  void addRemarks(const report::RemarkCollector &remarks);

  /// Adds every site that a pass considered, with the potential of refusals.
  void addExplanation(const compiler::Explanation &explanation);

  /// Writes the page atomically.
  llvm::Error write(llvm::StringRef path, llvm::StringRef title);

private:
  struct Program {
    /// The program of rank 0 of a merged module.
    mlir::OwningOpRef<mlir::ModuleOp> owned;
    mlir::func::FuncOp function;
    compiler::EstimateSummary summary;
    std::unique_ptr<report::LayerLabels> layers;
  };

  target::Target target;
  llvm::json::Object data;
  llvm::json::Array programs;
  std::vector<Program> priced;
  report::StringTable strings;
  report::SourceLines sources;
};

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_REPORTFILE_H
