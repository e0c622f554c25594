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

/// What holds for all passes that ask for it, unless their own options say
/// otherwise.
struct PassSettings {
  Policy policy = Policy::Profitable;
  /// A name of commute targets, or a file.
  std::string target = "h100x8";
  /// Nothing is rewritten that rounds sums in another order, where a pass can
  /// tell.
  bool exactRounding = false;
  /// The result has to be spelled in PyTorch's operators: where the passes that
  /// are named leave ops that have no such form, lower-collectives runs last.
  bool isForPyTorch = false;
};

/// A pass with all of its options.
struct PassStep {
  std::string name;
  std::string options;
};

/// The user's passes in the order of the default pipeline.
llvm::ArrayRef<llvm::StringRef> getPipelinePasses();
void registerPipelinePasses();

/// The passes of "a,b{option=value}", with the settings that they take; an
/// empty text means all of them. The error is for a pass or an option that is
/// wrong.
llvm::Expected<std::vector<PassStep>>
planPipeline(llvm::StringRef text, const PassSettings &settings = {});
/// Adds passes to a function's pass manager.
llvm::Error addPasses(mlir::OpPassManager &functions,
                      llvm::ArrayRef<PassStep> steps);
/// Adds the passes of "a,b{option=value}" to a module's pass manager; an empty
/// text means all of them. The error for an unknown name lists those there are.
llvm::Error buildPipeline(mlir::OpPassManager &manager, llvm::StringRef text,
                          const PassSettings &settings = {});

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PIPELINE_H
