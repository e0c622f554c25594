//===- GroupCompletion.h - groups of the other ranks ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A program may name the groups of one rank alone, such as 0,1 and 0,2. Its
// collectives exchange data with ranks whose groups it does not name. If the
// groups could be those of a device mesh in the usual, row-major order of
// ranks, the mesh determines the groups of the other ranks.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_VOCABULARY_GROUPCOMPLETION_H
#define COMMUTE_VOCABULARY_GROUPCOMPLETION_H

#include "commute/Vocabulary/DistributedContext.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>
#include <string>
#include <vector>

namespace commute::vocabulary {

/// Returns true if some group is a single list of ranks, and does not contain
/// all ranks of the other groups.
bool lacksOtherGroups(llvm::ArrayRef<GroupRanks> groups);

/// Returns the smallest rank that is in all groups that are single lists of
/// ranks; nullopt if there is none.
std::optional<int64_t> findCommonRank(llvm::ArrayRef<GroupRanks> groups);

/// Returns the groups of all ranks that `groups` connect, in the order of
/// `groups`, if these are groups along axes (or along several consecutive axes
/// together) of a mesh in row-major order. `rank` is a rank whose groups are
/// all known. Returns nullopt if `rank` is not in one of the groups, if the
/// groups do not fit such a mesh, or if they are not what the mesh has.
std::optional<std::vector<GroupRanks>>
completeGroups(llvm::ArrayRef<GroupRanks> groups, int64_t rank);

/// Returns the premise that a completion rests on, as a clause: "the program
/// names the groups of rank 0 alone; ...".
std::string describeCompletion(llvm::ArrayRef<GroupRanks> stated,
                               llvm::ArrayRef<GroupRanks> completed,
                               int64_t rank);

/// Returns why the groups of other ranks are unknown, as a clause.
std::string describeIncomplete(llvm::ArrayRef<GroupRanks> stated);

} // namespace commute::vocabulary

#endif // COMMUTE_VOCABULARY_GROUPCOMPLETION_H
