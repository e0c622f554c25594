//===- ReindexingWalk.h - what a value is rearranged from -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXINGWALK_H
#define COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXINGWALK_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/SetVector.h"

namespace commute::analysis {

/// Goes back from a value through the reindexing ops that make it, in its
/// block. Undoes the latest op of those still open: where one value is left,
/// all is made from it.
class ReindexingWalk {
public:
  explicit ReindexingWalk(mlir::Value value) { open.insert(value); }

  /// Undoes one more op; false where there is none that `mayUndo` allows.
  bool step(llvm::function_ref<bool(mlir::Operation *)> mayUndo);
  /// The one value that is left; null where there are several.
  mlir::Value getOrigin() const {
    return open.size() == 1 ? open.front() : mlir::Value();
  }
  /// What was undone, the latest first.
  llvm::ArrayRef<mlir::Operation *> getUndone() const { return undone; }

private:
  llvm::SmallSetVector<mlir::Value, 4> open;
  llvm::SmallVector<mlir::Operation *> undone;
};

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXINGWALK_H
