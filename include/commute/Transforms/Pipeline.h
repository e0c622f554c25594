//===- Pipeline.h - passes by name and in their order -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PIPELINE_H
#define COMMUTE_TRANSFORMS_PIPELINE_H

#include "commute/Transforms/Policy.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace commute {

/// Settings of all passes that support them, unless a pass's own options
/// override them.
struct PassSettings {
  Policy policy = Policy::Profitable;
  /// The name of a target, or the path of a target file.
  std::string target = "h100x8";
  /// Do not make rewrites that are known to change the order of rounding in
  /// sums.
  bool exactRounding = false;
  /// The result must be expressible in PyTorch's operators: if the requested
  /// passes leave ops without such a form, lower-collectives runs last.
  bool isForPyTorch = false;
  /// Passes that take part in the choice of the default pipeline, but are left
  /// to a later run over the parts of the program: torch.compile splits the
  /// joint graph of forward and backward before collectives are fused.
  std::vector<std::string> postponed = {};
};

/// A pass with all of its options.
struct PassStep {
  std::string name;
  std::string options;
};

/// The requested passes, in the order of the default pipeline.
llvm::ArrayRef<llvm::StringRef> getPipelinePasses();
void registerPipelinePasses();

/// Parses "a,b{option=value}" and applies the settings to these passes. An
/// empty text means all passes. Returns an error for an invalid pass or option.
llvm::Expected<std::vector<PassStep>>
planPipeline(llvm::StringRef text, const PassSettings &settings = {});
/// Adds passes to a function's pass manager.
llvm::Error addPasses(mlir::OpPassManager &functions,
                      llvm::ArrayRef<PassStep> steps);
/// Adds the passes of "a,b{option=value}" to a module's pass manager. An empty
/// text means all passes. The error for an unknown name lists the known ones.
llvm::Error buildPipeline(mlir::OpPassManager &manager, llvm::StringRef text,
                          const PassSettings &settings = {});

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PIPELINE_H
