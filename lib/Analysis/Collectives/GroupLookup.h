//===- GroupLookup.h - the group that has certain members -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_ANALYSIS_COLLECTIVES_GROUPLOOKUP_H
#define COMMUTE_LIB_ANALYSIS_COLLECTIVES_GROUPLOOKUP_H

#include "commute/Analysis/Legal.h"
#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/MapVector.h"

namespace commute::analysis {

/// For every rank, the members of its group in order; -1 for a member that does
/// not exist.
using RankMembers = llvm::MapVector<int64_t, llvm::SmallVector<int64_t>>;

/// Returns true if these are groups: every rank occurs exactly once in its own
/// group, and all members of a group have the same list.
Legal<> checkMembership(const RankMembers &members);

/// Returns the first of `groups` in which every rank has exactly these members
/// in this order, and which contains no other ranks; null if there is none.
tp::GroupAttr findGroup(const RankMembers &members,
                        llvm::ArrayRef<tp::GroupAttr> groups);
/// Returns the first group that is the same except for the order of its
/// members.
tp::GroupAttr findGroupInAnyOrder(const RankMembers &members,
                                  llvm::ArrayRef<tp::GroupAttr> groups);

/// Formats members as in --group: "0-3", "0,2/1,3".
std::string formatMembers(const RankMembers &members);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_GROUPLOOKUP_H
