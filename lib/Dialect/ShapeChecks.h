//===- ShapeChecks.h - what the verifiers of tp ops share -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_DIALECT_SHAPECHECKS_H
#define COMMUTE_LIB_DIALECT_SHAPECHECKS_H

#include "commute/Dialect/TPDialect.h"

namespace commute::tp {

inline mlir::RankedTensorType getTensor(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Concrete sizes of an op's only result; failure is reported at the op.
mlir::FailureOr<llvm::SmallVector<int64_t>> getResultSizes(mlir::Operation *op,
                                                           Algebra &algebra);

/// Compares the sizes of `type` with `expected` and reports the first dim that
/// is certainly different: "result has size 3 along dim 1, expected 4". `what`
/// names the tensor.
mlir::LogicalResult verifySizes(mlir::Operation *op, SymbolSpace &space,
                                llvm::StringRef what,
                                mlir::RankedTensorType type,
                                llvm::ArrayRef<Size> expected);

mlir::LogicalResult verifySameElementType(mlir::Operation *op,
                                          llvm::StringRef what,
                                          mlir::RankedTensorType type,
                                          mlir::Type expected);

/// Compares an op's only result with its first operand: element type and sizes.
mlir::LogicalResult verifyKeepsShape(mlir::Operation *op);

/// Checks `0 <= dim < rank`; `what` names the attribute.
mlir::LogicalResult verifyDim(mlir::Operation *op, llvm::StringRef what,
                              int64_t dim, int64_t rank);

/// Sizes after PyTorch's broadcasting of two lists of sizes; nullopt where two
/// sizes are certainly incompatible. Where symbols decide, the size that is
/// not 1 is taken.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<Size> lhs,
                                    llvm::ArrayRef<Size> rhs);

/// Checks that `type` can be broadcast to the sizes `target`.
mlir::LogicalResult verifyBroadcastsTo(mlir::Operation *op, SymbolSpace &space,
                                       llvm::StringRef what,
                                       mlir::RankedTensorType type,
                                       llvm::ArrayRef<Size> target);

} // namespace commute::tp

#endif // COMMUTE_LIB_DIALECT_SHAPECHECKS_H
