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

/// Classes of ranks that are given equal inputs, so that one of each has to be
/// evaluated. A group gets few classes of members where both programs only
/// reduce over it, or use it not at all: no op tells its members apart then, as
/// no op tells apart the indices between two cuts of a dim
/// (docs/equivalence.md, "Ranks"). All that is left out are inputs; what is
/// evaluated are real runs of the programs.
class RankClasses {
public:
  /// Each rank for itself.
  explicit RankClasses(llvm::ArrayRef<int64_t> world);
  /// The classes that both programs allow, chosen at random by `seed`.
  static RankClasses find(mlir::func::FuncOp first, mlir::func::FuncOp second,
                          llvm::ArrayRef<int64_t> world, uint64_t seed);

  /// One rank of each class, in ascending order.
  llvm::ArrayRef<int64_t> getRepresentatives() const { return representatives; }
  /// Among the representatives: the index of the one of this rank's class.
  /// The rank is one of the world.
  size_t getClass(int64_t rank) const { return classOf.lookup(rank); }

private:
  llvm::SmallVector<int64_t> representatives;
  llvm::DenseMap<int64_t, unsigned> classOf;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_RANKCLASSES_H
