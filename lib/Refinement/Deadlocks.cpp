//===- Deadlocks.cpp - ranks that wait for each other -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CollectiveOrder.h"
#include "JoinedRanks.h"

#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

std::optional<size_t> JoinedRanks::getMissing(size_t index) const {
  Operation *waiting = states[index].waiting;
  if (!waiting)
    return std::nullopt;
  if (auto known = meetingOf.find({waiting, index}); known != meetingOf.end()) {
    const Key &key = known->second;
    for (auto [position, op] : llvm::enumerate(meetings.at(key).arrived))
      if (!op)
        return indexOf.at(key.first[position]);
    return std::nullopt;
  }
  auto known = peersOf.find({waiting, index});
  if (known == peersOf.end())
    return std::nullopt;
  for (const auto &[key, number] : known->second) {
    const Channel &channel = channels.at(key);
    auto [members, from, to] = key;
    if (channel.sent.size() <= number)
      return from;
    if (channel.received.size() <= number)
      return to;
  }
  return std::nullopt;
}

void JoinedRanks::explainDeadlock() {
  isDeadlock = true;
  // Follow the first rank that each rank waits for, until one repeats.
  size_t current = 0;
  while (!states[current].waiting)
    ++current;
  std::vector<size_t> path;
  while (!llvm::is_contained(path, current)) {
    path.push_back(current);
    std::optional<size_t> next = getMissing(current);
    if (!next)
      break;
    current = *next;
  }
  std::string message;
  llvm::raw_string_ostream os(message);
  auto describeWait = [&](size_t index) {
    os << describe(ranks[index].rank, states[index].waiting)
       << ", and waits for ";
  };
  if (!states[path.back()].waiting) {
    // The last one has returned.
    size_t waiting = path[path.size() - 2];
    describeWait(waiting);
    const JoinedRank &returned = ranks[path.back()], &own = ranks[waiting];
    os << "rank " << returned.rank << ", which returns without taking part";
    Finding finding = {"", "let all ranks take part",
                       states[waiting].waiting->getLoc(), std::nullopt, ""};
    auto known = meetingOf.find({states[waiting].waiting, waiting});
    if (known != meetingOf.end())
      if (auto unmatched = findUnmatchedCollective(
              own.function, returned.function, known->second.first, own.rank,
              returned.rank);
          unmatched && unmatched->op != states[waiting].waiting) {
        const JoinedRank &owner = unmatched->isOfFirst ? own : returned;
        os << "; the first collective that only one of them has is "
           << getNodeName(unmatched->op) << " of rank " << owner.rank;
        finding.location = unmatched->op->getLoc();
      }
    finding.message = message;
    failures.push_back(std::move(finding));
    return;
  }
  path.erase(path.begin(), llvm::find(path, current));
  for (size_t index : path) {
    describeWait(index);
    os << "rank " << ranks[*getMissing(index)].rank
       << (index == path.back() ? "" : "; ");
  }
  std::optional<Location> other;
  std::string program;
  if (path.size() > 1) {
    other = states[path[1]].waiting->getLoc();
    program = "rank " + std::to_string(ranks[path[1]].rank);
  }
  failures.push_back({"the ranks wait for each other: " + message,
                      "let all ranks issue their collectives in one order",
                      states[path.front()].waiting->getLoc(), other, program});
}
