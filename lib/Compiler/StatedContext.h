//===- StatedContext.h - what options say of a module -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_STATEDCONTEXT_H
#define COMMUTE_LIB_COMPILER_STATEDCONTEXT_H

#include "commute/Vocabulary/DistributedContext.h"

#include "mlir/IR/BuiltinOps.h"

namespace commute::compiler {

/// Overrides what a module says of groups, rank, input placements and sizes by
/// what the command line states. The error says what does not fit the module.
llvm::Error applyContext(mlir::ModuleOp module,
                         const vocabulary::DistributedContext &stated);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_STATEDCONTEXT_H
