//===- MainFunction.h - the function that is a program ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_MAINFUNCTION_H
#define COMMUTE_ANALYSIS_MAINFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace commute::analysis {

/// Returns the only function of a module if it has a single block: the program.
/// Returns null for modules of any other form.
mlir::func::FuncOp getMain(mlir::ModuleOp module);

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_MAINFUNCTION_H
