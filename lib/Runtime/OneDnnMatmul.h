//===- OneDnnMatmul.h - matrix products with oneDNN -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H
#define COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H

#include "Kernels.h"

namespace commute::runtime {

/// Sizes and strides of an operand as [batch..., rows, columns], after applying
/// the operand's transposition.
struct MatrixView {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;
};
MatrixView getView(const MatmulOperand &operand);

/// Multiplies nonempty operands of matching sizes in f32 or bf16. Returns false
/// if oneDNN does not support the product on this machine.
bool multiplyByOneDnn(const MatmulOperand &lhs, const MatmulOperand &rhs,
                      const Tensor *bias, Tensor &result);

} // namespace commute::runtime

#endif // COMMUTE_LIB_RUNTIME_ONEDNNMATMUL_H
