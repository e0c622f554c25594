//===- SharedMemory.h - values that lie in one memory -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_SHAREDMEMORY_H
#define COMMUTE_LIB_EQUIVALENCE_SHAREDMEMORY_H

#include "commute/Dialect/TPDialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace commute::equivalence {

/// Which values of a program lie in the memory of which others. Only opaque ops
/// write to memory that is there already; a program without such writes is not
/// looked at.
class SharedMemory {
public:
  enum Sharing { No, Possibly, Certainly };

  explicit SharedMemory(mlir::func::FuncOp function);

  /// Whether `call` writes to the memory of `value`.
  Sharing isWritten(tp::CallOp call, mlir::Value value) const;
  /// Whether any op may write to the memory of `value`.
  bool mayBeWritten(mlir::Value value) const;

private:
  /// The value whose memory it is, and whether it lies there for sure: a view
  /// does, while a reshape may have copied.
  struct Home {
    mlir::Value owner;
    bool isCertain;
  };
  const llvm::SmallVector<Home, 1> &getHomes(mlir::Value value) const;

  llvm::SmallVector<tp::CallOp> writers;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Home, 1>> homes;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_SHAREDMEMORY_H
