//===- GroupCompletion.cpp - groups of the other ranks ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/GroupCompletion.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

using namespace commute;
using namespace commute::vocabulary;

using Members = std::vector<int64_t>;

namespace {
/// An axis of a row-major mesh: ranks that differ by multiples of `stride`.
/// Axes are ordered by stride.
struct Axis {
  int64_t stride;
  int64_t size;

  int64_t getEnd() const { return stride * size; }
  /// Returns the coordinate of a rank along the axis.
  int64_t getCoordinate(int64_t rank) const { return rank / stride % size; }
};
} // namespace

/// Returns the axes along which a group extends, the fastest first; nullopt if
/// the ranks do not ascend, or are not those of a mesh.
static std::optional<std::vector<Axis>> findAxes(const Members &members) {
  if (!llvm::is_sorted(members))
    return std::nullopt;
  std::vector<Axis> axes;
  Members rest = members;
  while (rest.size() > 1) {
    int64_t first = rest[0], stride = rest[1] - first;
    int64_t size = 2;
    while (size < static_cast<int64_t>(rest.size()) &&
           rest[size] == first + size * stride)
      ++size;
    if (rest.size() % size != 0)
      return std::nullopt;
    Members outer;
    for (size_t index = 0; index < rest.size(); ++index) {
      int64_t start = rest[index - index % size];
      int64_t position = static_cast<int64_t>(index) % size;
      if (rest[index] != start + position * stride)
        return std::nullopt;
      if (position == 0)
        outer.push_back(start);
    }
    axes.push_back({stride, size});
    rest = std::move(outer);
  }
  return axes;
}

static std::set<int64_t> getRanks(const GroupRanks &group) {
  std::set<int64_t> ranks;
  for (const Members &members : group)
    ranks.insert(members.begin(), members.end());
  return ranks;
}

static std::set<int64_t> getRanks(llvm::ArrayRef<GroupRanks> groups) {
  std::set<int64_t> ranks;
  for (const GroupRanks &group : groups)
    ranks.merge(getRanks(group));
  return ranks;
}

bool vocabulary::lacksOtherGroups(llvm::ArrayRef<GroupRanks> groups) {
  size_t numRanks = getRanks(groups).size();
  return llvm::any_of(groups, [&](const GroupRanks &group) {
    return group.size() == 1 && group.front().size() < numRanks;
  });
}

std::optional<int64_t>
vocabulary::findCommonRank(llvm::ArrayRef<GroupRanks> groups) {
  std::map<int64_t, size_t> counts;
  size_t numSingle = 0;
  for (const GroupRanks &group : groups) {
    if (group.size() != 1)
      continue;
    ++numSingle;
    for (int64_t rank : group.front())
      ++counts[rank];
  }
  for (auto [rank, count] : counts)
    if (count == numSingle)
      return rank;
  return std::nullopt;
}

static const Members *findMembersAround(const GroupRanks &group, int64_t rank) {
  for (const Members &members : group)
    if (llvm::is_contained(members, rank))
      return &members;
  return nullptr;
}

/// Returns the axes of the smallest mesh that has all of `axes`, in order; its
/// outermost axis may have further elements. Returns nullopt if there is none,
/// because axes overlap in part.
static std::optional<std::vector<Axis>>
joinAxes(const std::vector<std::vector<Axis>> &axes) {
  std::set<int64_t> borders = {1};
  for (const std::vector<Axis> &own : axes)
    for (const Axis &axis : own)
      borders.insert({axis.stride, axis.getEnd()});
  std::vector<Axis> mesh;
  int64_t stride = 1;
  for (int64_t border : llvm::drop_begin(borders)) {
    if (border % stride != 0)
      return std::nullopt;
    mesh.push_back({stride, border / stride});
    stride = border;
  }
  return mesh;
}

/// Returns all ranks that differ from one of `ranks` along `axes` only; nullopt
/// if they are too many, or not ranks.
static std::optional<std::set<int64_t>> extend(std::set<int64_t> ranks,
                                               const std::vector<Axis> &axes) {
  for (const Axis &axis : axes) {
    std::set<int64_t> extended;
    for (int64_t rank : ranks) {
      int64_t first = rank - axis.getCoordinate(rank) * axis.stride;
      if (first + axis.getEnd() - axis.stride >= tp::GroupAttr::maxRanks ||
          extended.size() > tp::GroupAttr::maxRanks)
        return std::nullopt;
      for (int64_t index = 0; index < axis.size; ++index)
        extended.insert(first + index * axis.stride);
    }
    ranks = std::move(extended);
  }
  return ranks;
}

/// Groups `world` by the coordinates along all axes but `axes`.
static GroupRanks split(const std::set<int64_t> &world,
                        const std::vector<Axis> &axes) {
  std::map<int64_t, Members> byFirst;
  for (int64_t rank : world) {
    int64_t first = rank;
    for (const Axis &axis : axes)
      first -= axis.getCoordinate(rank) * axis.stride;
    byFirst[first].push_back(rank);
  }
  GroupRanks groups;
  for (auto &[first, members] : byFirst)
    groups.push_back(std::move(members));
  return groups;
}

std::optional<std::vector<GroupRanks>>
vocabulary::completeGroups(llvm::ArrayRef<GroupRanks> groups, int64_t rank) {
  for (int64_t known : getRanks(groups))
    if (known < 0 || known >= tp::GroupAttr::maxRanks)
      return std::nullopt;
  std::vector<std::vector<Axis>> axes;
  for (const GroupRanks &group : groups) {
    const Members *own = findMembersAround(group, rank);
    if (!own)
      return std::nullopt;
    std::optional<std::vector<Axis>> found = findAxes(*own);
    if (!found)
      return std::nullopt;
    axes.push_back(std::move(*found));
  }
  std::optional<std::vector<Axis>> mesh = joinAxes(axes);
  if (!mesh)
    return std::nullopt;
  // Ranks differ in their groups only along axes of these.
  std::vector<Axis> connecting;
  for (const Axis &axis : *mesh) {
    auto hasAxis = [&](const Axis &wide) {
      return wide.stride <= axis.stride && axis.getEnd() <= wide.getEnd();
    };
    if (llvm::any_of(axes, [&](const std::vector<Axis> &own) {
          return llvm::any_of(own, hasAxis);
        }))
      connecting.push_back(axis);
  }
  std::optional<std::set<int64_t>> world = extend(getRanks(groups), connecting);
  if (!world)
    return std::nullopt;
  std::vector<GroupRanks> completed;
  for (auto [group, own] : llvm::zip_equal(groups, axes)) {
    GroupRanks all = split(*world, own);
    std::set<Members> known(all.begin(), all.end());
    bool hasStated = llvm::all_of(group, [&](const Members &members) {
      return known.count(members) > 0;
    });
    // Lists of several groups state all groups of the axis.
    bool isAxis = group.size() > 1;
    if (!hasStated || (isAxis && all.size() != group.size()))
      return std::nullopt;
    // The order in which a user lists groups is kept.
    completed.push_back(isAxis ? group : std::move(all));
  }
  return completed;
}

static std::string describe(const GroupRanks &group) {
  std::string text;
  constexpr size_t maxRanks = 32;
  size_t numRanks = 0;
  for (auto [index, members] : llvm::enumerate(group)) {
    if (numRanks > 0 && numRanks + members.size() > maxRanks)
      return text + "/... (" + std::to_string(group.size()) + " groups)";
    text += index == 0 ? "" : "/";
    for (auto [position, rank] : llvm::enumerate(members)) {
      if (numRanks++ >= maxRanks) {
        text += ",...";
        break;
      }
      text += (position == 0 ? "" : ",") + std::to_string(rank);
    }
  }
  return text;
}

std::string vocabulary::describeCompletion(llvm::ArrayRef<GroupRanks> stated,
                                           llvm::ArrayRef<GroupRanks> completed,
                                           int64_t rank) {
  std::string text = "the program names the groups of rank " +
                     std::to_string(rank) + " alone; its " +
                     std::to_string(getRanks(completed).size()) +
                     " ranks are taken to form a mesh in row-major order, so ";
  bool isFirst = true;
  for (auto [own, all] : llvm::zip_equal(stated, completed)) {
    if (own == all)
      continue;
    text += (isFirst ? "" : ", and ") + describe(own) +
            " is one of the groups " + describe(all);
    isFirst = false;
  }
  return text;
}

std::string vocabulary::describeIncomplete(llvm::ArrayRef<GroupRanks> stated) {
  std::string text = "the groups ";
  constexpr size_t maxListed = 4;
  for (auto [index, group] : llvm::enumerate(stated)) {
    if (index == maxListed) {
      text += " and " + std::to_string(stated.size() - index) + " more";
      break;
    }
    bool isLast = index + 1 == stated.size();
    text += (index == 0 ? "" : isLast ? " and " : ", ") + describe(group);
  }
  return text + " are those of one rank, and no mesh in row-major order has "
                "them, so the groups of the other ranks are unknown";
}
