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

/// Goes back from a value through the reindexing ops that compute it, in its
/// block. Always undoes the latest op among the open values. If a single value
/// is left, everything is computed from it.
class ReindexingWalk {
public:
  explicit ReindexingWalk(mlir::Value value) { open.insert(value); }

  /// Undoes one more op. Returns false if there is none that `mayUndo` allows.
  bool step(llvm::function_ref<bool(mlir::Operation *)> mayUndo);
  /// Returns the only value that is left; null if there are several.
  mlir::Value getOrigin() const {
    return open.size() == 1 ? open.front() : mlir::Value();
  }
  /// Returns the undone ops, latest first.
  llvm::ArrayRef<mlir::Operation *> getUndone() const { return undone; }

private:
  llvm::SmallSetVector<mlir::Value, 4> open;
  llvm::SmallVector<mlir::Operation *> undone;
};

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_INDEXMAPS_REINDEXINGWALK_H
