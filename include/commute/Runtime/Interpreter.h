//===- Interpreter.h - a program run on one rank ----------------*- C++ -*-===//
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

/// A program that can be run: one function of one block, whose ops are all
/// modelled or, like the checks and sizes that PyTorch records, do not take
/// part in computing tensors.
class RunnableProgram {
public:
  /// The error names the first op that cannot be run.
  static llvm::Expected<RunnableProgram> create(mlir::func::FuncOp function,
                                                LocationPrinter describe);

  /// Runs on one rank; several ranks may do so at once, in one thread each. The
  /// inputs are those of the function, null for those that are no tensors; so
  /// are the outputs.
  llvm::Expected<std::vector<TensorValue>> run(std::vector<TensorValue> inputs,
                                               const SymbolTable &symbols,
                                               Transport &transport) const;

  mlir::func::FuncOp getFunction() const { return function; }

private:
  struct Step {
    mlir::Operation *op;
    /// Values whose last use this is.
    llvm::SmallVector<mlir::Value, 2> lastUses;
  };

  llvm::Error checkStep(mlir::Operation *op) const;

  mlir::func::FuncOp function;
  LocationPrinter describe;
  std::vector<Step> steps;
};

/// Makes an op's diagnostics part of its rank's error, while it lives. One for
/// all ranks of a process.
class RankDiagnostics {
public:
  explicit RankDiagnostics(mlir::MLIRContext *context);

private:
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace commute::runtime

#endif // COMMUTE_RUNTIME_INTERPRETER_H
