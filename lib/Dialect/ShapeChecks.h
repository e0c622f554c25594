//===- ShapeChecks.h - what the verifiers of tp ops share -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_DIALECT_SHAPECHECKS_H
#define COMMUTE_LIB_DIALECT_SHAPECHECKS_H

#include "commute/Dialect/TPDialect.h"

namespace commute::tp {

/// Returns the concrete sizes of an op's only result. Failure is reported at
/// the op.
mlir::FailureOr<llvm::SmallVector<int64_t>> getResultSizes(mlir::Operation *op,
                                                           Algebra &algebra);

/// Returns the size of one of `count` equal blocks along a dim. Emits an error
/// if the dim cannot be divided. A symbolic size is assumed to be divisible.
mlir::FailureOr<Size> getBlockSize(ShapeInference &inference, const Size &size,
                                   int64_t dim, int64_t count);

/// Broadcasts two lists of sizes by PyTorch's rule. Returns nullopt if two
/// sizes are certainly incompatible. If that depends on symbols, takes the size
/// that is not 1.
std::optional<Sizes> broadcastSizes(llvm::ArrayRef<Size> lhs,
                                    llvm::ArrayRef<Size> rhs);

/// Returns 2 * elements of `result` * `inner`: the multiplications and
/// additions of a product.
std::optional<int64_t> getProductFlops(mlir::RankedTensorType result,
                                       std::optional<int64_t> inner,
                                       SymbolValues symbols);

} // namespace commute::tp

#endif // COMMUTE_LIB_DIALECT_SHAPECHECKS_H
