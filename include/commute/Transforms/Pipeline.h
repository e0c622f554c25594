//===- Pipeline.h - passes by name and in their order -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PIPELINE_H
#define COMMUTE_TRANSFORMS_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

#include <string>

namespace commute {

/// What holds for all passes that ask for it, unless their own options say
/// otherwise.
struct PassSettings {
  /// "always" or "profitable".
  std::string policy = "profitable";
  /// A name of commute targets, or a file.
  std::string target = "h100x8";
  /// Nothing is rewritten that rounds sums in another order, where a pass can
  /// tell.
  bool exactRounding = false;
};

/// The user's passes in the order of the default pipeline.
llvm::ArrayRef<llvm::StringRef> getPipelinePasses();
void registerPipelinePasses();

/// Adds the passes of "a,b{option=value}" to a module's pass manager; an empty
/// text means all of them. The error for an unknown name lists those there are.
llvm::Error buildPipeline(mlir::OpPassManager &manager, llvm::StringRef text,
                          const PassSettings &settings = {});

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PIPELINE_H
