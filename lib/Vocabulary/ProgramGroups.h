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
///
/// If only the groups of one rank are named or stated, those of the other ranks
/// are completed where the groups fit a mesh in the usual order of ranks, under
/// a premise. Otherwise, collectives of groups are not read: they are opaque
/// ops of a program that runs on one rank.
class ProgramGroups {
public:
  ProgramGroups(const DistributedContext &distributed,
                mlir::MLIRContext *context)
      : distributed(distributed), context(context) {}

  /// Returns true if a node names the group in which it communicates.
  static bool namesGroup(const archive::Node &node,
                         const Vocabulary &vocabulary);
  /// Records the group that a node names. Call this for all nodes before `get`.
  void collect(const archive::Node &node, const Vocabulary &vocabulary);
  /// Completes the groups of one rank by those of the other ranks. Call this
  /// after `collect`.
  void complete();
  /// Returns the group of this name. On failure, `error` says how to state it,
  /// or is empty if only this rank's group is known.
  tp::GroupAttr get(llvm::StringRef name, std::string &error);
  /// Returns the unnamed groups of which `ranks`, members of a group around
  /// this rank that some node lists, is one. Returns null if the groups of the
  /// other ranks are not known.
  tp::GroupAttr getOfRanks(llvm::ArrayRef<int64_t> ranks);
  /// Returns the premise that completed groups rest on, or an empty string.
  llvm::StringRef getPremise() const { return premise; }
  /// Returns why collectives of groups are not read; empty if they are.
  llvm::StringRef getLimitation() const { return limitation; }
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
  /// The arguments by which a node identifies its group.
  struct Arguments;

  /// Records the group that a node identifies by its ranks.
  void collectRanks(const Arguments &arguments);
  /// Returns the members of the groups of this name; null if nobody states
  /// them.
  const GroupRanks *findMembers(llvm::StringRef name) const;
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
  /// The groups around this rank that nodes identify by lists of ranks, and
  /// those of all ranks.
  std::map<std::vector<int64_t>, GroupRanks> groupsOfRanks;
  /// The rank of which nodes list the groups.
  std::optional<int64_t> rankOfLists;
  /// The stated groups that were completed, by name.
  std::map<std::string, GroupRanks> completed;
  std::string premise;
  std::string limitation;
  ByName<tp::GroupAttr> groups;
  /// The vocabularies of other systems whose collectives name a group.
  ByName<llvm::StringRef> vocabularies;
  llvm::SmallVector<mlir::Attribute> all;
};

} // namespace commute::vocabulary

#endif // COMMUTE_LIB_VOCABULARY_PROGRAMGROUPS_H
