//===- Interpreter.h - execution of a program on one rank -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_RUNTIME_INTERPRETER_H
#define COMMUTE_RUNTIME_INTERPRETER_H

#include "commute/Runtime/FloatAlgebra.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"

namespace commute::runtime {

/// A program that can be run: a function with one block, in which every op is
/// modelled or computes no tensor (such as the assertions and sizes that
/// PyTorch records).
class RunnableProgram {
public:
  /// Errors name the first op that cannot be run.
  static llvm::Expected<RunnableProgram> create(mlir::func::FuncOp function,
                                                LocationPrinter describe);

  /// Runs the program on one rank. Several ranks may run concurrently, each in
  /// its own thread. `inputs` has one entry per function argument, and the
  /// result has one per return value; values that are not tensors are null.
  llvm::Expected<std::vector<TensorValue>> run(std::vector<TensorValue> inputs,
                                               const SymbolTable &symbols,
                                               Transport &transport) const;

  mlir::func::FuncOp getFunction() const { return function; }

private:
  struct Step {
    mlir::Operation *op;
    /// Values that are not used after this step.
    llvm::SmallVector<mlir::Value, 2> lastUses;
  };

  llvm::Error checkStep(mlir::Operation *op) const;

  mlir::func::FuncOp function;
  LocationPrinter describe;
  std::vector<Step> steps;
};

/// While alive, adds the diagnostics that an op emits to the error of the op's
/// rank. Create one per process, for all ranks.
class RankDiagnostics {
public:
  explicit RankDiagnostics(mlir::MLIRContext *context);

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_INTERPRETER_H
