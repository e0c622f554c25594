//===- RankClasses.h - ranks that stand for others --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_RANKCLASSES_H
#define COMMUTE_EQUIVALENCE_RANKCLASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"

namespace commute::equivalence {

/// Classes of ranks with equal inputs, so that only one rank of each class has
/// to be evaluated. A group has few classes of members if both programs only
/// reduce over it, or do not use it: no op then distinguishes its members, as
/// no op distinguishes the indices between two cuts of a dim
/// (docs/equivalence.md, "Ranks"). Only inputs are restricted; the evaluations
/// are real runs of the programs.
class RankClasses {
public:
  /// Makes every rank a class of its own.
  explicit RankClasses(llvm::ArrayRef<int64_t> world);
  /// Returns classes that both programs allow, chosen at random by `seed`.
  static RankClasses find(mlir::func::FuncOp first, mlir::func::FuncOp second,
                          llvm::ArrayRef<int64_t> world, uint64_t seed);

  /// One rank of each class, in ascending order.
  llvm::ArrayRef<int64_t> getRepresentatives() const { return representatives; }
  /// The index of the representative of this rank's class. The rank must be in
  /// the world.
  size_t getClass(int64_t rank) const { return classOf.lookup(rank); }

private:
  llvm::SmallVector<int64_t> representatives;
  llvm::DenseMap<int64_t, unsigned> classOf;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_RANKCLASSES_H
