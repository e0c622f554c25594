//===- StatedContext.h - what options say of a module -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_STATEDCONTEXT_H
#define COMMUTE_TOOLS_COMMUTE_STATEDCONTEXT_H

#include "commute/Vocabulary/DistributedContext.h"

#include "mlir/IR/BuiltinOps.h"

namespace commute::tool {

/// Overrides what a module says of groups, rank, input placements and sizes by
/// what the command line states. The error says what does not fit the module.
llvm::Error applyContext(mlir::ModuleOp module,
                         const vocabulary::DistributedContext &stated);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_STATEDCONTEXT_H
