//===- ProgramGroups.h - the process groups of a program --------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H
#define COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H

#include "commute/Archive/Graph.h"
#include "commute/Dialect/GroupSpelling.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Vocabulary/DistributedContext.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/ADT/MapVector.h"

namespace commute::vocabulary {

/// The groups that a graph's nodes name, with their members. If the members of
/// a group are not stated, they are the ranks 0 to n-1 if the group is the
/// program's only one and a node states its size n. Otherwise they stay
/// unknown, because any ranks could be in the group.
class ProgramGroups {
public:
  ProgramGroups(const DistributedContext &distributed,
                mlir::MLIRContext *context)
      : distributed(distributed), context(context) {}

  /// Records the group that a node names. Call this for all nodes before `get`.
  void collect(const archive::Node &node, const Vocabulary &vocabulary);
  /// Returns the group of this name. On failure, `error` says how to state it.
  tp::GroupAttr get(llvm::StringRef name, std::string &error);
  /// Adds the groups that are stated but not named by any node that was read.
  /// Returns all groups.
  llvm::ArrayRef<mlir::Attribute> addStated();

  /// Returns the groups named by nodes that were read.
  llvm::SmallVector<tp::GroupAttr> getRead() const;
  /// Returns the group names that occur only in nodes that were not read.
  llvm::SmallVector<llvm::StringRef> getNotRead() const;
  /// Returns true if some group that a node names has no stated members.
  bool hasUnstated() const;
  /// Returns what the vocabularies of other systems can say about the groups
  /// that nodes name in them, as the value of `tp.group_spellings`.
  mlir::DictionaryAttr getSpellings(const Vocabulary &vocabulary) const;

private:
  /// Returns the name of a group that a vocabulary and PyTorch name
  /// differently: that of the vocabulary.
  llvm::StringRef getKey(llvm::StringRef name) const;
  tp::GroupSpelling getSpelling(const Vocabulary &vocabulary,
                                llvm::StringRef used,
                                llvm::StringRef group) const;

  template <typename Type>
  using ByName = llvm::MapVector<llvm::StringRef, Type,
                                 llvm::DenseMap<llvm::StringRef, unsigned>>;

  const DistributedContext &distributed;
  mlir::MLIRContext *context;
  /// Group sizes that nodes state.
  ByName<std::optional<int64_t>> sizes;
  /// True if some node identifies its group by a list of ranks.
  bool hasGroupsOfRanks = false;
  ByName<tp::GroupAttr> groups;
  /// The vocabularies of other systems whose collectives name a group.
  ByName<llvm::StringRef> vocabularies;
  llvm::SmallVector<mlir::Attribute> all;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H
