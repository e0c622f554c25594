//===- EqualOps.h - ops that compute the same values ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_ANALYSIS_EQUALOPS_H
#define COMMUTE_ANALYSIS_EQUALOPS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

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
    return areSameFunction(lhs, rhs) &&
           lhs->getOperands() == rhs->getOperands();
  }
  /// Whether the ops are equal if their operands are.
  static bool areSameFunction(mlir::Operation *a, mlir::Operation *b) {
    return a->getName() == b->getName() &&
           a->getResultTypes() == b->getResultTypes() &&
           a->getName().compareOpProperties(a->getPropertiesStorage(),
                                            b->getPropertiesStorage());
  }
};

/// The ops of a block that compute the same as earlier ones, of which the
/// operands may be equal without being the same: two casts of one value, and
/// what is computed from each of them.
class EqualOpTable {
public:
  /// The first op that was entered of those that compute the same as `op`; `op`
  /// itself is entered if there is none. May be changed to another one of them.
  mlir::Operation *&enter(mlir::Operation *op) {
    return firsts.try_emplace(makeKey(op), op).first->second;
  }
  /// Has the results of an op count as equal to those of one that computes the
  /// same, for the ops that are entered from then on.
  void equate(mlir::Operation *op, mlir::Operation *first);
  /// Forgets everything: what is computed from now on may differ.
  void clear() {
    firsts.clear();
    firstOfValue.clear();
  }

private:
  /// An op with the first values that are equal to its operands.
  struct Key {
    mlir::Operation *op;
    llvm::SmallVector<mlir::Value, 2> operands;
  };
  struct KeyInfo {
    static Key getEmptyKey() { return {EqualOps::getEmptyKey(), {}}; }
    static Key getTombstoneKey() { return {EqualOps::getTombstoneKey(), {}}; }
    static unsigned getHashValue(const Key &key) {
      return llvm::hash_combine(key.op->getName(), key.op->hashProperties(),
                                llvm::hash_combine_range(key.operands));
    }
    static bool isEqual(const Key &a, const Key &b) {
      if (a.op == b.op)
        return true;
      auto isSpecial = [](const Key &key) {
        return key.op == EqualOps::getEmptyKey() ||
               key.op == EqualOps::getTombstoneKey();
      };
      return !isSpecial(a) && !isSpecial(b) && a.operands == b.operands &&
             EqualOps::areSameFunction(a.op, b.op);
    }
  };
  Key makeKey(mlir::Operation *op) const;

  llvm::DenseMap<Key, mlir::Operation *, KeyInfo> firsts;
  llvm::DenseMap<mlir::Value, mlir::Value> firstOfValue;
};

} // namespace commute::analysis

#endif // COMMUTE_ANALYSIS_EQUALOPS_H
