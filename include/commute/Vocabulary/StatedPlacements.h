//===- StatedPlacements.h - placements that people state --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_STATEDPLACEMENTS_H
#define COMMUTE_VOCABULARY_STATEDPLACEMENTS_H

#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/DistributedContext.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace commute::vocabulary {

/// What a program has that statements may name.
struct StatedNames {
  /// Groups of its collectives, and those that statements add.
  llvm::ArrayRef<tp::GroupAttr> groups;
  /// Groups that nodes name which are carried as they are.
  llvm::ArrayRef<llvm::StringRef> otherGroups;
  /// Symbols beside those of the types.
  llvm::ArrayRef<llvm::StringRef> otherSymbols;

  bool hasGroup(llvm::StringRef key) const;
};

/// Gives the function's arguments the placements that the context states for
/// them; what the arguments have already stays where nothing is stated anew.
/// Errors: a placement for an input or a group that there is not, or that no
/// tensor of the input's shape fulfils; a rank outside all groups.
llvm::Error statePlacements(mlir::func::FuncOp function,
                            const DistributedContext &distributed,
                            const StatedNames &program,
                            std::optional<int64_t> rank);

/// An error for members that are stated for a group that the program does not
/// name, where that is likely to be a mistake: while a group that it does name
/// has no stated members (`hasUnstated`), and always on the command line, but
/// for groups that several of the program's could become together.
llvm::Error checkStatedGroups(const DistributedContext &distributed,
                              const StatedNames &program, bool hasUnstated);

/// An error for an assumption about a symbol that the program does not have.
llvm::Error checkStatedAssumptions(mlir::ModuleOp module,
                                   const DistributedContext &distributed,
                                   const StatedNames &program);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_STATEDPLACEMENTS_H
