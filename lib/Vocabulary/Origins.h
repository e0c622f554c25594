//===- Origins.h - nodes whose ops are unchanged ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_ORIGINS_H
#define COMMUTE_LIB_VOCABULARY_ORIGINS_H

#include "commute/Vocabulary/Translation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace commute::vocabulary {

/// The node that an unchanged op was imported from, and the values that it
/// uses: their names at import, and the values themselves now. A coalesced
/// collective has several ops.
struct Origin {
  size_t node;
  llvm::SmallVector<mlir::Operation *, 1> ops;
  llvm::SmallVector<llvm::StringRef, 4> leafNames;
  llvm::SmallVector<mlir::Value, 4> leaves;
};

/// A node whose ops have changed since import, and the values that replace its
/// tensors now, by the names that these have in the graph.
struct ChangedNode {
  size_t node;
  llvm::DenseMap<llvm::StringRef, mlir::Value> operands;
  llvm::DenseMap<llvm::StringRef, mlir::Value> results;
};

/// Maps the ops of a function to the nodes that they were imported from.
class Origins {
public:
  Origins(mlir::func::FuncOp function, const ImportedProgram &imported,
          const archive::Graph &graph);

  /// Returns the node of an op, or nullopt if the op has changed. A node with
  /// several ops is returned only if `isAvailable` holds for all values that
  /// they use.
  std::optional<Origin>
  find(mlir::Operation *op,
       llvm::function_ref<bool(mlir::Value)> isAvailable) const;
  /// Returns the node of an op that has changed, or nullopt if it is unknown
  /// which values replace the node's. All values that other ops of the node use
  /// must be available.
  std::optional<ChangedNode>
  findChanged(mlir::Operation *op,
              llvm::function_ref<bool(mlir::Value)> isAvailable) const;

private:
  const ImportedProgram &imported;
  using RecordMap =
      llvm::DenseMap<llvm::StringRef, std::pair<size_t, const RootRecord *>>;
  RecordMap records;
  /// Records of ops without results, whose names are not names of values.
  RecordMap effectRecords;
  /// Named ops, by the name of their first result.
  llvm::DenseMap<llvm::StringRef, mlir::Operation *> opByName;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_ORIGINS_H
