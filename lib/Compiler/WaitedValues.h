//===- WaitedValues.h - values that are used after their wait ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_COMPILER_WAITEDVALUES_H
#define COMMUTE_LIB_COMPILER_WAITEDVALUES_H

#include "mlir/IR/BuiltinOps.h"

namespace commute::compiler {

/// If nothing uses the result of a wait, makes everything that comes after the
/// wait use it in place of the value that was waited for, which in PyTorch is
/// the same tensor. Otherwise only the order of the program says that the wait
/// is needed, and passes, which see dataflow, would erase it. Returns true if
/// uses changed.
bool useResultsOfWaits(mlir::ModuleOp module);

} // namespace commute::compiler

#endif // COMMUTE_LIB_COMPILER_WAITEDVALUES_H
