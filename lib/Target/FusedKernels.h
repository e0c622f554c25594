//===- FusedKernels.h - ops that a compiler computes in one kernel --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TARGET_FUSEDKERNELS_H
#define COMMUTE_LIB_TARGET_FUSEDKERNELS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace commute::target {

/// What an op does not do itself because it is computed in one kernel with its
/// neighbours.
struct KernelShare {
  /// By operand: its elements are in registers, because an op of the kernel
  /// computes them or has read them.
  llvm::SmallVector<bool, 4> isInRegisters;
  /// By result: no op outside of the kernel reads it.
  llvm::SmallVector<bool, 2> isUnwritten;
  /// A later op of the kernel launches it.
  bool isLaunchedLater = false;

  /// True if the op does all of its work itself.
  bool isEmpty() const;
};

/// Returns what a compiler such as Inductor saves at an op: a kernel reads each
/// of its inputs once, writes each value that others need once, and is launched
/// once. A kernel consists of
///
///   - elementwise ops, and ops on whole rows (norms, softmax, reductions of
///     the last dims), that read each other's results, also through views; or
///   - the attention of two products and the softmax between them.
///
/// Of an op in no block, only the operands are looked at.
KernelShare findKernelShare(mlir::Operation *op);

} // namespace commute::target

#endif // COMMUTE_LIB_TARGET_FUSEDKERNELS_H
