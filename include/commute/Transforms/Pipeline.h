//===- Pipeline.h - passes by name and in their order -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_PIPELINE_H
#define COMMUTE_TRANSFORMS_PIPELINE_H

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Error.h"

namespace commute {

/// The user's passes in the order of the default pipeline.
llvm::ArrayRef<llvm::StringRef> getPipelinePasses();
void registerPipelinePasses();

/// Adds the passes of "a,b{option=value}" to a module's pass manager; an empty
/// text means all of them. The error for an unknown name lists those there are.
llvm::Error buildPipeline(mlir::OpPassManager &manager, llvm::StringRef text);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_PIPELINE_H
