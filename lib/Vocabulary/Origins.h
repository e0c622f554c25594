//===- Origins.h - which ops are nodes as they were read --------*- C++ -*-===//
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

/// The node whose op this is, as long as it is unchanged, with what it reads:
/// at capture by name, and now. A coalesced collective is several ops.
struct Origin {
  size_t node;
  llvm::SmallVector<mlir::Operation *, 1> ops;
  llvm::SmallVector<llvm::StringRef, 4> leafNames;
  llvm::SmallVector<mlir::Value, 4> leaves;
};

/// The nodes that the ops of a function were read from.
class Origins {
public:
  Origins(mlir::func::FuncOp function, const ImportedProgram &imported,
          const archive::Graph &graph);

  /// The node that an op still is; nullopt for one that has changed. Several
  /// ops of one node are that where `isAvailable` holds for all that they read.
  std::optional<Origin>
  find(mlir::Operation *op,
       llvm::function_ref<bool(mlir::Value)> isAvailable) const;

private:
  const ImportedProgram &imported;
  using RecordMap =
      llvm::DenseMap<llvm::StringRef, std::pair<size_t, const RootRecord *>>;
  RecordMap records;
  /// The same for ops without results, whose names are no names of values.
  RecordMap effectRecords;
  /// The ops that have a name, by that of their first result.
  llvm::DenseMap<llvm::StringRef, mlir::Operation *> opByName;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_ORIGINS_H
