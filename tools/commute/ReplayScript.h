//===- ReplayScript.h - a difference, shown by PyTorch ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOL_REPLAYSCRIPT_H
#define COMMUTE_TOOL_REPLAYSCRIPT_H

#include "Witness.h"

namespace commute::tool {

/// Writes a Python script that runs both programs in PyTorch on the file
/// inputs.safetensors beside it, on all ranks, and prints how their outputs
/// differ. Returns false if the programs are no archives of torch.export.
llvm::Expected<bool> writeReplayScript(const ComparedPrograms &programs,
                                       llvm::StringRef difference,
                                       llvm::ArrayRef<int64_t> world,
                                       llvm::StringRef path);

} // namespace commute::tool

#endif // COMMUTE_TOOL_REPLAYSCRIPT_H
