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

/// Overrides a module's statements about groups, rank, input placements and
/// sizes by those of the command line. The error names the statement that
/// contradicts the module.
llvm::Error applyContext(mlir::ModuleOp module,
                         const vocabulary::DistributedContext &stated);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_STATEDCONTEXT_H
