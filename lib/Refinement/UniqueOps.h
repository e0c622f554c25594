//===- UniqueOps.h - ops that are created once ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_REFINEMENT_UNIQUEOPS_H
#define COMMUTE_LIB_REFINEMENT_UNIQUEOPS_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/DenseSet.h"

namespace commute::refinement {

/// Appends ops to a program of one rank. Equal ops on equal operands are
/// created once, so that what all ranks compute alike is evaluated once.
class UniqueOps {
public:
  explicit UniqueOps(mlir::MLIRContext *context);

  mlir::func::FuncOp getFunction() const { return function; }
  mlir::MLIRContext *getContext() const { return builder.getContext(); }

  /// Ops that may write into their operands see memory, not values: nothing may
  /// be shared.
  void disableSharing() { shares = false; }
  bool isSharing() const { return shares; }

  void setLocation(mlir::Location newLocation) { location = newLocation; }

  llvm::StringRef getInputName(unsigned index) const {
    return inputNames[index];
  }
  mlir::Value addInput(llvm::StringRef name, mlir::Type type);
  /// Copies an op of another program on new operands. Returns the results.
  mlir::ValueRange copy(mlir::Operation *op,
                        llvm::ArrayRef<mlir::Value> operands);
  /// Returns a copy of the program that returns these values. More ops may be
  /// appended afterwards.
  mlir::OwningOpRef<mlir::ModuleOp>
  makeModule(llvm::ArrayRef<mlir::Value> results);

  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<int64_t> sizes);
  mlir::Value permute(mlir::Value input, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value input, unsigned dim, int64_t start,
                    int64_t step, int64_t size);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> inputs, unsigned dim);
  mlir::Value map(tp::MapFunction function,
                  llvm::ArrayRef<mlir::Value> operands, mlir::Type type);
  mlir::Value constant(mlir::TypedAttr value, llvm::ArrayRef<int64_t> sizes,
                       mlir::Type type);
  /// Returns the sum of tensors of one shape.
  mlir::Value sum(llvm::ArrayRef<mlir::Value> inputs);
  /// Returns a tensor with the elements of `input` in memory of its own.
  mlir::Value copyMemory(mlir::Value input);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLocation() const { return location; }
  /// Returns the results of an op that was just appended, or of the equal one
  /// that existed before.
  mlir::ValueRange share(mlir::Operation *op);

private:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  mlir::OpBuilder builder;
  mlir::Location location;
  bool shares = true;
  std::vector<std::string> inputNames;
  struct OpInfo : llvm::DenseMapInfo<mlir::Operation *> {
    static unsigned getHashValue(const mlir::Operation *op);
    static bool isEqual(const mlir::Operation *lhs, const mlir::Operation *rhs);
  };
  llvm::DenseSet<mlir::Operation *, OpInfo> known;
};

} // namespace commute::refinement

#endif // COMMUTE_LIB_REFINEMENT_UNIQUEOPS_H
