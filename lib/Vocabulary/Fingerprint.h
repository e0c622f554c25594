//===- Fingerprint.h - has an op changed since it was read? -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_FINGERPRINT_H
#define COMMUTE_LIB_VOCABULARY_FINGERPRINT_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SmallVector.h"

namespace commute::vocabulary {

/// Marks ops that are part of the expansion of a node: they have no name in
/// the graph.
inline constexpr llvm::StringLiteral innerAttrName = "tp.inner";

/// A hash of a named op with the inner ops that it is made of, and the values
/// that they read, in order. Two ops of one context with equal hashes do the
/// same to their leaves.
struct Fingerprint {
  uint64_t hash = 0;
  llvm::SmallVector<mlir::Value, 4> leaves;
};
Fingerprint getFingerprint(mlir::Operation *op);

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_FINGERPRINT_H
