//===- GroupLookup.cpp - the group that has certain members -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/GroupLookup.h"

#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

Legal<> commute::analysis::checkMembership(const RankMembers &members) {
  auto refuse = [](std::string reason) {
    return Refusal{nullptr, RefusalCode::Mesh, std::move(reason)};
  };
  for (const auto &[rank, own] : members) {
    llvm::SmallSet<int64_t, 16> seen;
    for (int64_t member : own)
      if (member < 0)
        return refuse(
            "the group of rank " + std::to_string(rank) +
            " would have members that run only some of the collectives");
      else if (!seen.insert(member).second)
        return refuse("rank " + std::to_string(member) +
                      " would be in a group twice");
    if (!seen.contains(rank))
      return refuse("rank " + std::to_string(rank) +
                    " would not be in its own group");
    for (int64_t member : own) {
      auto of = members.find(member);
      if (of == members.end())
        return refuse("rank " + std::to_string(member) +
                      " does not run all of the collectives");
      if (of->second != own)
        return refuse("ranks " + std::to_string(rank) + " and " +
                      std::to_string(member) +
                      " would order the members of their group differently");
    }
  }
  return {};
}

/// Whether `matches` holds for the members of every rank, and the group has no
/// other ranks.
static bool
fits(const RankMembers &members, tp::GroupAttr group,
     llvm::function_ref<bool(ArrayRef<int64_t>, ArrayRef<int64_t>)> matches) {
  return group.getRanks().size() == members.size() &&
         llvm::all_of(members, [&](const auto &entry) {
           return matches(group.getMembersAround(entry.first), entry.second);
         });
}

tp::GroupAttr commute::analysis::findGroup(const RankMembers &members,
                                           ArrayRef<tp::GroupAttr> groups) {
  for (tp::GroupAttr group : groups)
    if (fits(members, group,
             [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) { return a == b; }))
      return group;
  return {};
}

tp::GroupAttr
commute::analysis::findGroupInAnyOrder(const RankMembers &members,
                                       ArrayRef<tp::GroupAttr> groups) {
  for (tp::GroupAttr group : groups)
    if (fits(members, group, [](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
          SmallVector<int64_t> sortedA(a), sortedB(b);
          llvm::sort(sortedA);
          llvm::sort(sortedB);
          return sortedA == sortedB;
        }))
      return group;
  return {};
}

/// "0-3,8".
static std::string formatRanks(ArrayRef<int64_t> ranks) {
  std::string text;
  for (size_t begin = 0; begin < ranks.size();) {
    size_t end = begin + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1)
      ++end;
    text += (text.empty() ? "" : ",") + std::to_string(ranks[begin]);
    if (end - begin > 1)
      text += (end - begin > 2 ? "-" : ",") + std::to_string(ranks[end - 1]);
    begin = end;
  }
  return text;
}

std::string commute::analysis::formatMembers(const RankMembers &members) {
  std::string text;
  llvm::SmallSet<int64_t, 16> listed;
  for (const auto &[rank, own] : members) {
    if (!listed.insert(rank).second)
      continue;
    listed.insert(own.begin(), own.end());
    text += (text.empty() ? "" : "/") + formatRanks(own);
  }
  return text;
}
