//===- EqualOps.h - ops that compute the same values ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_EQUALOPS_H
#define COMMUTE_ANALYSIS_EQUALOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMapInfo.h"

namespace commute::analysis {

/// For sets and maps of ops without regions. Ops are equal if they compute the
/// same function of the same values. Discardable attributes, which say how an
/// op was spelled, may differ.
struct EqualOps : llvm::DenseMapInfo<mlir::Operation *> {
  static unsigned getHashValue(const mlir::Operation *op) {
    auto *key = const_cast<mlir::Operation *>(op);
    return llvm::hash_combine(key->getName(), key->hashProperties(),
                              llvm::hash_combine_range(key->getOperands()));
  }
  static bool isEqual(const mlir::Operation *a, const mlir::Operation *b) {
    if (a == b)
      return true;
    if (a == getEmptyKey() || a == getTombstoneKey() || b == getEmptyKey() ||
        b == getTombstoneKey())
      return false;
    auto *lhs = const_cast<mlir::Operation *>(a),
         *rhs = const_cast<mlir::Operation *>(b);
    return lhs->getName() == rhs->getName() &&
           lhs->getOperands() == rhs->getOperands() &&
           lhs->getResultTypes() == rhs->getResultTypes() &&
           lhs->getName().compareOpProperties(lhs->getPropertiesStorage(),
                                              rhs->getPropertiesStorage());
  }
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_EQUALOPS_H
