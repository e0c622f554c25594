//===- StatedPlacements.h - placements stated by the user -------*- C++ -*-===//
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

/// The names in a program that user-supplied statements may refer to.
struct StatedNames {
  /// Groups of the program's collectives, and groups added by statements.
  llvm::ArrayRef<tp::GroupAttr> groups;
  /// Groups named only by nodes that were not read (opaque calls).
  llvm::ArrayRef<llvm::StringRef> otherGroups;
  /// Symbols in addition to those of the function's types.
  llvm::ArrayRef<llvm::StringRef> otherSymbols;

  /// Returns true if a node names the group `key`, or a statement adds it.
  bool hasGroup(llvm::StringRef key) const;
  /// Returns the key of the group that a statement means. Of the groups along
  /// an axis that have no name, "0,1/2,3", it may list one: "0,1".
  std::string getKey(llvm::StringRef stated) const;
};

/// Sets the placements of the function's arguments that the context states.
/// Existing placements are kept where the context states none. Returns an error
/// for an unknown input or group, a placement that no tensor of the input's
/// shape can have, or a rank outside all groups.
llvm::Error statePlacements(mlir::func::FuncOp function,
                            const DistributedContext &distributed,
                            const StatedNames &program,
                            std::optional<int64_t> rank);

/// Returns an error if the context lists members of a group that the program
/// does not name, where that is likely a mistake: always if some group of the
/// program has no stated members (`hasUnstated`), and otherwise for groups from
/// the command line, unless the program's groups could be merged into it.
llvm::Error checkStatedGroups(const DistributedContext &distributed,
                              const StatedNames &program, bool hasUnstated);

/// Returns an error for an assumption about a symbol that the program lacks.
llvm::Error checkStatedAssumptions(mlir::ModuleOp module,
                                   const DistributedContext &distributed,
                                   const StatedNames &program);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_STATEDPLACEMENTS_H
