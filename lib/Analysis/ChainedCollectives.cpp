//===- ChainedCollectives.cpp - collectives that together are one ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/ChainedCollectives.h"

#include "GroupLookup.h"
#include "ReindexMaps.h"
#include "ReindexingWalk.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// More collectives are not joined at once, nor more ranks, nor more ops undone
/// in search of them: what is asked of each collective stays bounded. What was
/// joined may be joined again.
static constexpr size_t maxLinks = 4;
static constexpr int64_t maxRanks = 1024;
static constexpr size_t maxUndone = 1024;

static tp::GroupAttr getGroup(Operation *op) {
  return cast<tp::CollectiveOpInterface>(op).getCollectiveGroup();
}

/// The collective of the same kind that the operand of `op` is rearranged from;
/// null where there is none.
static Operation *findPrevious(Operation *op) {
  ReindexingWalk walk(op->getOperand(0));
  auto mayUndo = [&](Operation *other) {
    return other->getBlock() == op->getBlock();
  };
  do {
    Value origin = walk.getOrigin();
    Operation *previous = origin ? origin.getDefiningOp() : nullptr;
    if (previous && previous->getName() == op->getName() &&
        previous->getBlock() == op->getBlock())
      return previous;
  } while (walk.getUndone().size() < maxUndone && walk.step(mayUndo));
  return nullptr;
}

/// The position of block 0 in `part`, one block of the whole whose blocks have
/// `distance` elements; nullopt where that is none.
static std::optional<int64_t> getBlock(const IndexMap &part,
                                       const SizePolynomial &distance) {
  for (const IndexBox &box : part.getBoxes())
    if (llvm::all_of(box.offsets, [](const SizePolynomial &offset) {
          return offset.isConstant(0);
        }))
      return box.base.divideExactly(distance).getConstant();
  return std::nullopt;
}

namespace {

/// A chain of collectives and what it is as one.
class ChainSearch {
public:
  /// `links` are in order.
  ChainSearch(ArrayRef<Operation *> links, ArrayRef<tp::GroupAttr> groups,
              ReindexRefusal &refusal)
      : links(links), groups(groups), refusal(refusal),
        symbols(links.front()->getContext()) {
    for (Operation *op : links)
      numRanks = std::min(numRanks * getGroup(op).getSize(), maxRanks + 1);
  }

  std::optional<ReindexedCollective> findGather();
  std::optional<ReindexedCollective> findScatter();

private:
  /// One position in the group of each link.
  using Positions = SmallVector<int64_t, 2>;

  Operation *last() const { return links.back(); }
  std::nullopt_t refuse(StringRef name, std::string reason) {
    refusal = {name, "with " + getNodeName(links.front()) +
                         " in front of it, " + std::move(reason)};
    return std::nullopt;
  }
  /// The `index`-th of all positions, those of the last link outermost.
  Positions getPositions(int64_t index) const;

  /// Maps of what is made from the operand of the first link; false where the
  /// ops in between cannot be followed.
  bool followGathers(ReindexMaps &maps);
  /// The blocks of `map` along `axis`, by whose of `identity` they are, if all
  /// are there.
  std::optional<SmallVector<int64_t>>
  findOrder(const IndexMap &map, size_t axis, const IndexMap &identity);
  /// Whose shards every rank gets, block by block.
  RankMembers getGatheredMembers(ArrayRef<int64_t> order);
  std::optional<ReindexedCollective> makeGather(Value value, size_t axis,
                                                tp::GroupAttr group);

  /// For the ranks of each position, which block along `axis` they get from a
  /// source of these sizes.
  std::optional<SmallVector<int64_t>>
  findScatteredBlocks(Value source, ArrayRef<Operation *> ops, size_t axis);
  /// Who gets the blocks that the group of every rank sums, in order; a reason
  /// where ranks would sum different blocks.
  std::string getScatteredMembers(ArrayRef<int64_t> blocks,
                                  RankMembers &members);
  std::optional<ReindexedCollective> findScatterOf(Value source,
                                                   ArrayRef<Operation *> ops);

  /// The group of these members; says where there is none. `what` is the
  /// collective that it would be for.
  tp::GroupAttr getGroupOf(const RankMembers &members, const Twine &what);

  ArrayRef<Operation *> links;
  ArrayRef<tp::GroupAttr> groups;
  ReindexRefusal &refusal;
  tp::SymbolSpace symbols;
  int64_t numRanks = 1;
};

} // namespace

ChainSearch::Positions ChainSearch::getPositions(int64_t index) const {
  Positions positions;
  for (Operation *op : links) {
    positions.push_back(index % getGroup(op).getSize());
    index /= getGroup(op).getSize();
  }
  return positions;
}

tp::GroupAttr ChainSearch::getGroupOf(const RankMembers &members,
                                      const Twine &what) {
  std::string problem = findMembershipProblem(members);
  if (!problem.empty()) {
    refuse("mesh", ("is not " + what + ": " + problem).str());
    return {};
  }
  if (tp::GroupAttr group = findGroup(members, groups))
    return group;
  std::string ranks = formatMembers(members);
  std::string other;
  if (tp::GroupAttr group = findGroupInAnyOrder(members, groups))
    other = "; group '" + group.getKey() + "' has them in the order " +
            formatMembers(group);
  refuse("no-group",
         ("would be " + what + " over a group of the members " + ranks +
          ", in this order, which the program does not have" + other +
          ": --group=NAME=" + ranks + " states one")
             .str());
  return {};
}

//===----------------------------------------------------------------------===//
// All-gathers
//===----------------------------------------------------------------------===//

bool ChainSearch::followGathers(ReindexMaps &maps) {
  Value root = links.front()->getOperand(0);
  IndexMap::Sizes sizes = maps.getSizes(root);
  SizePolynomial distance = getProduct(sizes);
  maps.set(root, IndexMap::getIdentity(sizes));
  Value end = last()->getResult(0);
  for (Operation *op : getOpsBetween(root, {end})) {
    auto gather = dyn_cast<tp::AllGatherOp>(op);
    if (!gather) {
      if (!maps.add(op))
        return false;
      continue;
    }
    int64_t size = gather.getGroup().getSize();
    std::optional<IndexMap> gathered =
        maps.get(gather.getInput())
            ->repeat(gather.getGatherAxis(), size, distance);
    if (!gathered)
      return false;
    maps.set(gather.getResult(), std::move(*gathered));
    distance *= size;
  }
  maps.follow(end);
  return true;
}

std::optional<SmallVector<int64_t>>
ChainSearch::findOrder(const IndexMap &map, size_t axis,
                       const IndexMap &identity) {
  ArrayRef<SizePolynomial> shard = identity.getSizes();
  if (map.getSizes().size() != shard.size())
    return std::nullopt;
  for (size_t dim = 0; dim < shard.size(); ++dim)
    if (map.getSizes()[dim] !=
        (dim == axis ? shard[dim] * numRanks : shard[dim]))
      return std::nullopt;
  SizePolynomial distance = getProduct(shard);
  std::optional<IndexMap> whole = identity.repeat(axis, numRanks, distance);
  if (!whole || map.getBoxes().size() * numRanks > 64 * IndexMap::maxBoxes)
    return std::nullopt;
  SmallVector<int64_t> order;
  for (int64_t index = 0; index < numRanks; ++index) {
    std::optional<IndexMap> part =
        map.slice(axis, shard[axis] * index, 1, shard[axis]);
    std::optional<int64_t> rank =
        part ? getBlock(*part, distance) : std::nullopt;
    if (!rank || *rank < 0 || *rank >= numRanks ||
        llvm::is_contained(order, *rank))
      return std::nullopt;
    std::optional<IndexMap> expected =
        whole->slice(axis, shard[axis] * *rank, 1, shard[axis]);
    if (!expected || !part->isSameAs(*expected))
      return std::nullopt;
    order.push_back(*rank);
  }
  return order;
}

RankMembers ChainSearch::getGatheredMembers(ArrayRef<int64_t> order) {
  RankMembers members;
  for (int64_t rank : getGroup(last()).getRanks()) {
    SmallVector<int64_t> &own = members[rank];
    for (int64_t index : order) {
      Positions positions = getPositions(index);
      std::optional<int64_t> from = rank;
      for (size_t link = links.size(); link-- > 0 && from;) {
        ArrayRef<int64_t> around =
            getGroup(links[link]).getMembersAround(*from);
        from = around.empty() ? std::nullopt
                              : std::optional(around[positions[link]]);
      }
      // A rank that is nowhere.
      own.push_back(from.value_or(-1));
    }
  }
  return members;
}

std::optional<ReindexedCollective>
ChainSearch::makeGather(Value value, size_t axis, tp::GroupAttr group) {
  ReindexedCollective found;
  found.input = links.front()->getOperand(0);
  found.inputType = cast<RankedTensorType>(found.input.getType());
  found.axis = static_cast<int64_t>(axis);
  found.group = group;
  IndexMap::Sizes sizes;
  for (AffineExpr size : symbols.getSizes(found.inputType))
    sizes.push_back(SizePolynomial::get(size));
  sizes[axis] *= numRanks;
  found.resultType =
      getDenseType(symbols, found.inputType.getElementType(), sizes);
  std::string what = "is an all_gather along dim " + std::to_string(axis) +
                     " over group '" + group.getKey() + "', but ";
  if (!mayBeDense(value, found.resultType, symbols))
    return refuse("strides", what + "its result lies in memory in another "
                                    "order, which its readers would see");
  found.results.push_back(value);
  found.ops = getOpsBetween(found.input, found.results);
  if (Operation *reader = findOtherReader(found.ops, found.results))
    return refuse("other-reader", what + getNodeName(reader) +
                                      " reads what was gathered in between");
  return found;
}

std::optional<ReindexedCollective> ChainSearch::findGather() {
  if (numRanks > maxRanks)
    return std::nullopt;
  Value root = links.front()->getOperand(0);
  ReindexMaps maps(symbols);
  if (!followGathers(maps))
    return std::nullopt;
  const IndexMap &identity = *maps.get(root);
  bool isAnyGather = false;
  for (Value value : maps.getValues()) {
    Operation *op = value.getDefiningOp();
    // What is waited for is the collective's own result.
    bool isBehind = op && (op == last() || isBefore(last(), op)) &&
                    !isa<tp::CompletionOpInterface>(op);
    if (!isBehind || getElementType(value) != getElementType(root))
      continue;
    for (size_t axis = 0; axis < identity.getSizes().size(); ++axis) {
      std::optional<SmallVector<int64_t>> order =
          findOrder(*maps.get(value), axis, identity);
      if (!order)
        continue;
      ReindexRefusal before = refusal;
      if (tp::GroupAttr group =
              getGroupOf(getGatheredMembers(*order),
                         "one all_gather along dim " + Twine(axis)))
        return makeGather(value, axis, group);
      // What the nearest value lacks.
      if (isAnyGather)
        refusal = std::move(before);
      isAnyGather = true;
    }
  }
  if (!isAnyGather)
    refuse("layout",
           "does not put the shards of the ranks one behind the other "
           "along any dim");
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Reduce-scatters
//===----------------------------------------------------------------------===//

std::optional<SmallVector<int64_t>>
ChainSearch::findScatteredBlocks(Value source, ArrayRef<Operation *> ops,
                                 size_t axis) {
  ReindexMaps sourceMaps(symbols);
  IndexMap::Sizes sizes = sourceMaps.getSizes(source);
  IndexMap identity = IndexMap::getIdentity(sizes);
  IndexMap::Sizes block(sizes);
  block[axis] = block[axis].divideExactly(numRanks);
  if (!block[axis].isKnown() ||
      sourceMaps.getSizes(last()->getResult(0)) != block)
    return std::nullopt;
  SizePolynomial distance = getProduct(ArrayRef(block).drop_front(axis));
  SmallVector<int64_t> blocks;
  for (int64_t index = 0; index < numRanks; ++index) {
    Positions positions = getPositions(index);
    ReindexMaps maps(symbols);
    maps.set(source, identity);
    for (Operation *op : ops) {
      auto scatter = dyn_cast<tp::ReduceScatterOp>(op);
      if (!scatter) {
        if (!maps.add(op))
          return std::nullopt;
        continue;
      }
      SizePolynomial size =
          maps.getSizes(scatter.getResult())[scatter.getScatterAxis()];
      int64_t position = positions[llvm::find(links, op) - links.begin()];
      std::optional<IndexMap> part =
          maps.get(scatter.getInput())
              ->slice(scatter.getScatterAxis(), size * position, 1, size);
      if (!part)
        return std::nullopt;
      maps.set(scatter.getResult(), std::move(*part));
    }
    const IndexMap &part = *maps.get(last()->getResult(0));
    std::optional<int64_t> number = getBlock(part, distance);
    if (!number || *number < 0 || *number >= numRanks ||
        llvm::is_contained(blocks, *number))
      return std::nullopt;
    std::optional<IndexMap> expected =
        identity.slice(axis, block[axis] * *number, 1, block[axis]);
    if (!expected || !part.isSameAs(*expected))
      return std::nullopt;
    blocks.push_back(*number);
  }
  return blocks;
}

std::string ChainSearch::getScatteredMembers(ArrayRef<int64_t> blocks,
                                             RankMembers &members) {
  // What a link sums has to be the same block of what the links in front of it
  // give.
  for (size_t link = 1; link < links.size(); ++link)
    for (int64_t rank : getGroup(links[link]).getRanks())
      for (int64_t peer : getGroup(links[link]).getMembersAround(rank))
        for (Operation *before : links.take_front(link)) {
          std::optional<int64_t> own = getGroup(before).getPosition(rank);
          if (!own || getGroup(before).getPosition(peer) != own)
            return "ranks " + std::to_string(rank) + " and " +
                   std::to_string(peer) + " would sum different blocks";
        }
  for (int64_t rank : getGroup(last()).getRanks()) {
    SmallVector<int64_t> summed{rank};
    for (Operation *op : llvm::reverse(links)) {
      SmallVector<int64_t> all;
      for (int64_t member : summed)
        llvm::append_range(all, getGroup(op).getMembersAround(member));
      summed = std::move(all);
    }
    SmallVector<int64_t> &own = members[rank];
    own.assign(numRanks, -1);
    for (int64_t member : summed) {
      int64_t index = 0;
      for (Operation *op : llvm::reverse(links)) {
        std::optional<int64_t> position = getGroup(op).getPosition(member);
        if (!position)
          return "rank " + std::to_string(member) + " takes no part in all";
        index = index * getGroup(op).getSize() + *position;
      }
      own[blocks[index]] = member;
    }
  }
  return "";
}

std::optional<ReindexedCollective>
ChainSearch::findScatterOf(Value source, ArrayRef<Operation *> ops) {
  RankedTensorType type = cast<RankedTensorType>(source.getType());
  for (size_t axis = 0; axis < static_cast<size_t>(type.getRank()); ++axis) {
    std::optional<SmallVector<int64_t>> blocks =
        findScatteredBlocks(source, ops, axis);
    if (!blocks)
      continue;
    std::string what = "one reduce_scatter along dim " + std::to_string(axis);
    RankMembers members;
    std::string problem = getScatteredMembers(*blocks, members);
    if (!problem.empty())
      return refuse("mesh", "is not " + what + ": " + problem);
    tp::GroupAttr group = getGroupOf(members, what);
    if (!group)
      return std::nullopt;
    ReindexedCollective found;
    found.input = source;
    found.inputType = type;
    found.axis = static_cast<int64_t>(axis);
    found.group = group;
    found.resultType = cast<RankedTensorType>(last()->getResult(0).getType());
    found.results.push_back(last()->getResult(0));
    found.ops.assign(ops.begin(), ops.end());
    if (Operation *reader = findOtherReader(found.ops, found.results))
      return refuse("other-reader",
                    "is " + what + " over group '" + group.getKey() +
                        "', but " + getNodeName(reader) +
                        " reads what was scattered in between, or rearranged "
                        "for it");
    return found;
  }
  return std::nullopt;
}

std::optional<ReindexedCollective> ChainSearch::findScatter() {
  if (numRanks > maxRanks)
    return std::nullopt;
  auto reduction = cast<tp::ReduceScatterOp>(last()).getReduction();
  for (Operation *op : links)
    if (auto other = cast<tp::ReduceScatterOp>(op).getReduction();
        other != reduction)
      return refuse("reduction",
                    "is not one reduce_scatter: that combines by " +
                        tp::stringifyReductionKind(other).str() + ", this by " +
                        tp::stringifyReductionKind(reduction).str());
  // The operand of the first, or what that is rearranged from.
  ReindexingWalk walk(links.front()->getOperand(0));
  auto mayUndo = [&](Operation *op) {
    return !isa<tp::CompletionOpInterface, tp::BitcastOp>(op) &&
           op->getBlock() == last()->getBlock();
  };
  constexpr size_t maxSources = 8;
  size_t numSources = 0;
  do {
    Value source = walk.getOrigin();
    if (!source || !isDense(source, symbols))
      continue;
    refusal = {};
    if (auto found = findScatterOf(
            source, getOpsBetween(source, {last()->getResult(0)})))
      return found;
    if (!refusal.name.empty())
      return std::nullopt;
  } while (++numSources < maxSources && walk.step(mayUndo));
  return refuse("layout", "does not give each rank one block along any dim");
}

//===----------------------------------------------------------------------===//
// Chains
//===----------------------------------------------------------------------===//

static std::optional<ReindexedCollective> findChained(
    Operation *last, ReindexRefusal &refusal,
    llvm::function_ref<std::optional<ReindexedCollective>(ArrayRef<Operation *>,
                                                          ReindexRefusal &)>
        find) {
  SmallVector<Operation *> links{last};
  while (links.size() < maxLinks)
    if (Operation *previous = findPrevious(links.front());
        previous && !getGroup(previous).hasSameMembers(getGroup(links.front())))
      links.insert(links.begin(), previous);
    else
      break;
  // The longest chain that is one; what is said is of the shortest.
  for (ArrayRef<Operation *> chain = links; chain.size() > 1;
       chain = chain.drop_front()) {
    refusal = {};
    if (auto found = find(chain, refusal))
      return found;
  }
  return std::nullopt;
}

std::optional<ReindexedCollective>
commute::analysis::findChainedGather(tp::AllGatherOp last,
                                     ArrayRef<tp::GroupAttr> groups,
                                     ReindexRefusal &refusal) {
  return findChained(last, refusal,
                     [&](ArrayRef<Operation *> links, ReindexRefusal &reason) {
                       return ChainSearch(links, groups, reason).findGather();
                     });
}

std::optional<ReindexedCollective>
commute::analysis::findChainedScatter(tp::ReduceScatterOp last,
                                      ArrayRef<tp::GroupAttr> groups,
                                      ReindexRefusal &refusal) {
  return findChained(last, refusal,
                     [&](ArrayRef<Operation *> links, ReindexRefusal &reason) {
                       return ChainSearch(links, groups, reason).findScatter();
                     });
}
