//===- ElementwiseKernels.h - elementwise ops in one kernel ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TARGET_ELEMENTWISEKERNELS_H
#define COMMUTE_TARGET_ELEMENTWISEKERNELS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace commute::target {

/// What an op does not do itself because it is computed in one kernel with its
/// neighbours.
struct KernelShare {
  /// By operand: its elements are in registers, because an op of the kernel
  /// computes them or has read them.
  llvm::SmallVector<bool, 4> isInRegisters;
  /// No op outside of the kernel reads the result.
  bool isUnwritten = false;

  bool operator==(const KernelShare &) const = default;
};

/// Whether each element of an op's result is computed from one element of each
/// operand.
bool isElementwise(mlir::Operation *op);

/// Returns what a compiler such as Inductor saves at an elementwise op: a
/// kernel reads each of its inputs once, writes each value that others need
/// once, and is launched once, at the op that writes. A kernel consists of
/// elementwise ops that read each other's results, also through views. Of an op
/// in no block, only the operands are looked at.
KernelShare findKernelShare(mlir::Operation *op);

} // namespace commute::target

#endif // COMMUTE_TARGET_ELEMENTWISEKERNELS_H
