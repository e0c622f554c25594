//===- OneDnnMatmul.h - matrix products of oneDNN ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H
#define COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H

#include "Kernels.h"

namespace commute::runtime {

/// Sizes and strides of an operand as [batch..., rows, columns], the operand's
/// own transposition undone.
struct MatrixView {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
};
MatrixView getView(const MatmulOperand &operand);

/// A product in f32 or bf16, of operands that fit together and are not empty.
/// False where oneDNN does not do it on this machine.
bool multiplyByOneDnn(const MatmulOperand &lhs, const MatmulOperand &rhs,
                      const Tensor *bias, Tensor &result);

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H
