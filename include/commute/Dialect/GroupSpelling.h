//===- GroupSpelling.h - how a graph spells a group's ops -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Most graphs communicate by PyTorch's functional collectives, which act on dim
// 0 and name a process group. Other systems have collectives of their own,
// which may act on any dim and name their groups otherwise. New collectives of
// a group are written as the graph's own, so passes must know what these can
// say.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_DIALECT_GROUPSPELLING_H
#define COMMUTE_DIALECT_GROUPSPELLING_H

#include "commute/Dialect/TPDialect.h"

namespace commute::tp {

/// A dictionary attribute of modules from the names of groups to their
/// spellings, where they are not those of PyTorch.
inline constexpr llvm::StringLiteral groupSpellingsAttrName =
    "tp.group_spellings";

struct GroupSpelling {
  /// The vocabulary of the group's collectives; empty for PyTorch's own and for
  /// TensorCast's.
  llvm::StringRef vocabulary;
  /// The name by which PyTorch's own operators know the group; empty if
  /// unknown.
  llvm::StringRef processGroup;
  bool gathersAnyDim = false;
  bool scattersAnyDim = false;
  bool hasReduceScatter = true;
  /// True if sum is the only reduction of a reduce_scatter.
  bool onlySums = false;

  mlir::Attribute toAttribute(mlir::MLIRContext *context) const;
};

/// Returns how the graph of `op` spells collectives over `group`.
GroupSpelling getGroupSpelling(GroupAttr group, mlir::Operation *op);

/// Verifies the value of `tp.group_spellings`.
mlir::LogicalResult verifyGroupSpellings(mlir::Operation *op,
                                         mlir::Attribute value);

} // namespace commute::tp

#endif // COMMUTE_DIALECT_GROUPSPELLING_H
