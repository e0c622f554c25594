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

/// Determines which values of a program share memory. Only opaque ops write to
/// existing memory; a program without such writes is not analyzed.
class SharedMemory {
public:
  enum Sharing { No, Possibly, Certainly };

  explicit SharedMemory(mlir::func::FuncOp function);

  /// Returns true if `call` writes to the memory of `value`.
  Sharing isWritten(tp::CallOp call, mlir::Value value) const;
  /// Returns true if any op may write to the memory of `value`.
  bool mayBeWritten(mlir::Value value) const;

private:
  /// The value whose memory is shared, and whether it certainly is: a view
  /// shares memory, while a reshape may have copied.
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
