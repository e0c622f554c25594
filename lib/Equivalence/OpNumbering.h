//===- OpNumbering.h - equal ops have equal numbers -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_OPNUMBERING_H
#define COMMUTE_LIB_EQUIVALENCE_OPNUMBERING_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

#include <unordered_map>
#include <vector>

namespace commute::equivalence {

/// Numbers for the functions that ops compute (their name, attributes and
/// result types, but not the names of their results), and for the application
/// of a function to given operands.
class OpNumbering {
public:
  /// Returns equal numbers for ops that compute the same function.
  unsigned getFunction(mlir::Operation *op);

  /// Returns the slot for the results of this function of these operands, or
  /// null.
  unsigned *lookup(unsigned function, llvm::ArrayRef<unsigned> operands);
  void note(unsigned function, llvm::ArrayRef<unsigned> operands,
            unsigned firstResult);

private:
  struct FunctionHash {
    size_t operator()(mlir::Operation *op) const;
  };
  struct FunctionEqual {
    bool operator()(mlir::Operation *a, mlir::Operation *b) const;
  };
  using Application = std::vector<unsigned>;
  struct ApplicationHash {
    size_t operator()(const Application &application) const;
  };

  std::unordered_map<mlir::Operation *, unsigned, FunctionHash, FunctionEqual>
      functions;
  std::unordered_map<Application, unsigned, ApplicationHash> applications;
  Application scratch;
};

using ValueNumbers = llvm::DenseMap<mlir::Value, unsigned>;

/// Numbers the values of programs, so that equal computations of equal operands
/// have equal numbers. Inputs are numbered by their position, and calls of
/// operators with effects by their order.
class ValueNumbering {
public:
  ValueNumbers number(mlir::func::FuncOp function);

private:
  OpNumbering ops;
  unsigned next = 0;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_OPNUMBERING_H
