//===- Fingerprint.h - detection of changes since import --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_FINGERPRINT_H
#define COMMUTE_LIB_VOCABULARY_FINGERPRINT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace commute::vocabulary {

/// Marks the inner ops of a node's expansion, which have no name in the graph.
inline constexpr llvm::StringLiteral innerAttrName = "tp.inner";

/// A hash of a named op together with its inner ops, and the values that they
/// use (leaves), in order. Two ops of one MLIR context with equal hashes
/// compute the same function of their leaves.
struct Fingerprint {
  uint64_t hash = 0;
  llvm::SmallVector<mlir::Value, 4> leaves;
};
Fingerprint getFingerprint(mlir::Operation *op);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_FINGERPRINT_H
