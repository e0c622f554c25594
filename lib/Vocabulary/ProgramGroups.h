//===- ProgramGroups.h - the process groups of a program --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H
#define COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/DistributedContext.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/ADT/MapVector.h"

namespace commute::vocabulary {

/// The groups that the nodes of a graph name, and what is stated of their
/// members. Where nothing is, the only group of a program has the ranks 0 to
/// n-1 if a node states its size n. Of several groups each may have any ranks:
/// their members stay unknown.
class ProgramGroups {
public:
  ProgramGroups(const DistributedContext &distributed,
                mlir::MLIRContext *context)
      : distributed(distributed), context(context) {}

  /// Notes the group that a node names. All nodes come before `get`.
  void collect(const archive::Node &node, const Vocabulary &vocabulary);
  /// The group of this name; on failure `error` says how to state it.
  tp::GroupAttr get(llvm::StringRef name, std::string &error);
  /// Gets the groups that are stated and in no node that was read, and returns
  /// all.
  llvm::ArrayRef<mlir::Attribute> addStated();

  /// The groups of nodes that were read.
  llvm::SmallVector<tp::GroupAttr> getRead() const;
  /// The names that only nodes have which were not read.
  llvm::SmallVector<llvm::StringRef> getNotRead() const;
  /// Whether nothing states the members of some group that a node names.
  bool hasUnstated() const;

private:
  template <typename Type>
  using ByName = llvm::MapVector<llvm::StringRef, Type,
                                 llvm::DenseMap<llvm::StringRef, unsigned>>;

  const DistributedContext &distributed;
  mlir::MLIRContext *context;
  /// The sizes that nodes state.
  ByName<std::optional<int64_t>> sizes;
  /// Whether nodes state groups by their ranks.
  bool hasGroupsOfRanks = false;
  ByName<tp::GroupAttr> groups;
  llvm::SmallVector<mlir::Attribute> all;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H
