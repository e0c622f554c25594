//===- CollectiveChain.cpp - chains of collectives --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectiveChain.h"

#include "IndexMaps/ReindexingWalk.h"
#include "commute/Analysis/OtherRanks.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// The most collectives that are merged at once. A merged collective can be
/// merged again.
static constexpr size_t maxLinks = 4;

tp::GroupAttr commute::analysis::getCollectiveGroup(Operation *op) {
  return cast<tp::CollectiveOpInterface>(op).getCollectiveGroup();
}

Operation *commute::analysis::findCollectiveInFront(Operation *op) {
  ReindexingWalk walk(op->getOperand(0));
  auto mayUndo = [&](Operation *other) {
    return other->getBlock() == op->getBlock();
  };
  do {
    Value origin = walk.getOrigin();
    Operation *inFront = origin ? origin.getDefiningOp() : nullptr;
    if (isa_and_present<tp::AllGatherOp, tp::ReduceScatterOp>(inFront) &&
        inFront->getBlock() == op->getBlock())
      return inFront;
  } while (walk.getUndone().size() < CollectiveChain::maxUndone &&
           walk.step(mayUndo));
  return nullptr;
}

std::optional<int64_t>
commute::analysis::getBlock(const IndexMap &part,
                            const SizePolynomial &distance) {
  const IndexBox *first = findFirstBox(part);
  return first ? first->base.divideExactly(distance).getConstant()
               : std::nullopt;
}

CollectiveChain::CollectiveChain(ArrayRef<Operation *> links,
                                 ArrayRef<tp::GroupAttr> groups,
                                 Refusal &refusal)
    : links(links), groups(groups), refusal(refusal),
      symbols(links.front()->getContext()) {
  for (Operation *op : links)
    numRanks =
        std::min(numRanks * getCollectiveGroup(op).getSize(), maxRanks + 1);
  // Bound the size of the table of every rank's members.
  auto worldSize =
      static_cast<int64_t>(getCollectiveGroup(last()).getRanks().size());
  if (numRanks * worldSize > maxMembers)
    numRanks = maxRanks + 1;
}

std::nullopt_t CollectiveChain::refuse(RefusalCode code, std::string reason,
                                       StringRef missingGroup) {
  refusal = {last(), code,
             "not merged with " + getNodeName(first()) + ": " +
                 std::move(reason)};
  refusal.blocker = first();
  if (!missingGroup.empty()) {
    refusal.remedy = ("declare one with --group=NAME=" + missingGroup).str();
    refusal.option = {"group", ("merged=" + missingGroup).str()};
  }
  return std::nullopt;
}

CollectiveChain::Positions CollectiveChain::getPositions(int64_t index) const {
  Positions positions;
  for (Operation *op : links) {
    positions.push_back(index % getCollectiveGroup(op).getSize());
    index /= getCollectiveGroup(op).getSize();
  }
  return positions;
}

tp::GroupAttr CollectiveChain::getGroupOf(const RankMembers &members,
                                          const Twine &what) {
  if (Legal<> groupsExist = checkMembership(members); !groupsExist) {
    refuse(RefusalCode::Mesh,
           ("they do not form " + what + ": " + groupsExist.getRefusal().reason)
               .str());
    return {};
  }
  if (tp::GroupAttr group = findGroup(members, groups))
    return group;
  std::string ranks = formatMembers(members);
  std::string other;
  if (tp::GroupAttr group = findGroupInAnyOrder(members, groups))
    other = " (group '" + group.getKey() + "' has them in the order " +
            group.formatMembers() + ")";
  refuse(RefusalCode::MissingGroup,
         ("together they are " + what + " over the ranks " + ranks +
          ", but no group of the program has these members in this order" +
          other)
             .str(),
         ranks);
  return {};
}

Legal<ReindexedCollective> commute::analysis::findChained(
    Operation *last,
    llvm::function_ref<std::optional<ReindexedCollective>(ArrayRef<Operation *>,
                                                          Refusal &)>
        find) {
  SmallVector<Operation *> links{last};
  while (links.size() < maxLinks)
    if (Operation *previous = findCollectiveInFront(links.front());
        previous && previous->getName() == last->getName() &&
        !getCollectiveGroup(previous).hasSameMembers(
            getCollectiveGroup(links.front())))
      links.insert(links.begin(), previous);
    else
      break;
  if (links.size() > 1 && areOtherRanksUnknown(last))
    return refuseForUnknownRanks(
        last, "not merged with " + getNodeName(links.front()) +
                  ": other ranks must run both collectives, one of the other's "
                  "result");
  // Which ranks the last one reaches depends on the members of all.
  if (links.size() > 1)
    for (Operation *op : links)
      if (tp::GroupAttr group = getCollectiveGroup(op);
          !group.hasKnownMembers()) {
        std::string option =
            group.getName().str() + "=0-" + std::to_string(group.getSize() - 1);
        return Refusal{last,
                       RefusalCode::UnknownGroup,
                       "not merged with " + getNodeName(links.front()) +
                           ": the members of group '" + group.getName().str() +
                           "' are unknown",
                       "declare its ranks, for example with --group=" + option,
                       {},
                       links.front()};
      }
  // Merge the longest possible chain. If there is none, `refusal` is about the
  // shortest chain.
  Refusal refusal;
  for (ArrayRef<Operation *> chain = links; chain.size() > 1;
       chain = chain.drop_front()) {
    refusal = {};
    if (auto found = find(chain, refusal))
      return std::move(*found);
  }
  return refusal;
}
