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

/// For every rank the members of its group, in order; -1 for one that is not
/// there.
using RankMembers = llvm::MapVector<int64_t, llvm::SmallVector<int64_t>>;

/// Whether these are groups: every rank is in its own, once, and all members of
/// a group see it in one order.
Legal<> checkMembership(const RankMembers &members);

/// The first of `groups` of which every rank has exactly these members in this
/// order, and which has no other ranks; null where there is none.
tp::GroupAttr findGroup(const RankMembers &members,
                        llvm::ArrayRef<tp::GroupAttr> groups);
/// The first whose groups are the same but for the order of the members.
tp::GroupAttr findGroupInAnyOrder(const RankMembers &members,
                                  llvm::ArrayRef<tp::GroupAttr> groups);

/// As --group takes them: "0-3", "0,2/1,3".
std::string formatMembers(const RankMembers &members);

} // namespace commute::analysis

#endif // COMMUTE_LIB_ANALYSIS_COLLECTIVES_GROUPLOOKUP_H
