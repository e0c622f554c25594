//===- ChainedScatters.cpp - reduce_scatters that are one -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectiveChain.h"
#include "IndexMaps/ReindexingWalk.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {

class ScatterChain : public CollectiveChain {
public:
  using CollectiveChain::CollectiveChain;

  std::optional<ReindexedCollective> find();

private:
  /// For the ranks of each position, which block along `axis` they get of the
  /// source: with its very sizes, or under others.
  std::optional<SmallVector<int64_t>> findBlocks(Value source,
                                                 ArrayRef<Operation *> ops,
                                                 size_t axis, bool isExact);
  /// For every rank, the ranks that receive the blocks of its group, in order.
  /// Refuses if ranks would sum different blocks.
  Legal<RankMembers> getMembers(ArrayRef<int64_t> blocks);
  /// Along the first dim of which the group is known.
  std::optional<ReindexedCollective>
  findScatterOf(Value source, ArrayRef<Operation *> ops, bool isExact);
  std::optional<ReindexedCollective> make(Value source,
                                          ArrayRef<Operation *> ops,
                                          size_t axis, bool isExact,
                                          tp::GroupAttr group);
  /// The sizes of a block of the source.
  IndexMap::Sizes getBlockSizes(Value source, size_t axis) {
    IndexMap::Sizes block = ReindexMaps(symbols).getSizes(source);
    block[axis] = block[axis].divideExactly(numRanks);
    return block;
  }
};

} // namespace

std::optional<SmallVector<int64_t>>
ScatterChain::findBlocks(Value source, ArrayRef<Operation *> ops, size_t axis,
                         bool isExact) {
  ReindexMaps sourceMaps(symbols);
  IndexMap identity = IndexMap::getIdentity(sourceMaps.getSizes(source));
  IndexMap::Sizes block = getBlockSizes(source, axis);
  if (!block[axis].isKnown() ||
      isExact != (sourceMaps.getSizes(last()->getResult(0)) == block))
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
    std::optional<IndexMap> part =
        maps.get(last()->getResult(0))->reshape(block);
    std::optional<int64_t> number =
        part ? getBlock(*part, distance) : std::nullopt;
    if (!number || *number < 0 || *number >= numRanks ||
        llvm::is_contained(blocks, *number))
      return std::nullopt;
    std::optional<IndexMap> expected =
        identity.slice(axis, block[axis] * *number, 1, block[axis]);
    if (!expected || !part->isSameAs(*expected))
      return std::nullopt;
    blocks.push_back(*number);
  }
  return blocks;
}

Legal<RankMembers> ScatterChain::getMembers(ArrayRef<int64_t> blocks) {
  auto refuseMesh = [](std::string reason) {
    return Refusal{nullptr, RefusalCode::Mesh, std::move(reason)};
  };
  RankMembers members;
  // All ranks of a link must sum the same block of the results of the links
  // before it.
  for (size_t link = 1; link < links.size(); ++link)
    for (int64_t rank : getCollectiveGroup(links[link]).getRanks())
      for (int64_t peer :
           getCollectiveGroup(links[link]).getMembersAround(rank))
        for (Operation *before : links.take_front(link)) {
          std::optional<int64_t> own =
              getCollectiveGroup(before).getPosition(rank);
          if (!own || getCollectiveGroup(before).getPosition(peer) != own)
            return refuseMesh("ranks " + std::to_string(rank) + " and " +
                              std::to_string(peer) +
                              " would sum different blocks");
        }
  for (int64_t rank : getCollectiveGroup(last()).getRanks()) {
    SmallVector<int64_t> summed{rank};
    for (Operation *op : llvm::reverse(links)) {
      SmallVector<int64_t> all;
      for (int64_t member : summed)
        llvm::append_range(all,
                           getCollectiveGroup(op).getMembersAround(member));
      summed = std::move(all);
    }
    SmallVector<int64_t> &own = members[rank];
    own.assign(numRanks, -1);
    for (int64_t member : summed) {
      int64_t index = 0;
      for (Operation *op : llvm::reverse(links)) {
        std::optional<int64_t> position =
            getCollectiveGroup(op).getPosition(member);
        if (!position)
          return refuseMesh("rank " + std::to_string(member) +
                            " does not run all of the collectives");
        index = index * getCollectiveGroup(op).getSize() + *position;
      }
      own[blocks[index]] = member;
    }
  }
  return members;
}

std::optional<ReindexedCollective> ScatterChain::make(Value source,
                                                      ArrayRef<Operation *> ops,
                                                      size_t axis, bool isExact,
                                                      tp::GroupAttr group) {
  ReindexedCollective found;
  found.input = source;
  found.inputType = cast<RankedTensorType>(source.getType());
  found.axis = static_cast<int64_t>(axis);
  found.group = group;
  found.ops.assign(ops.begin(), ops.end());
  Value result = last()->getResult(0);
  if (isExact) {
    found.resultType = cast<RankedTensorType>(result.getType());
    found.results.push_back(result);
  } else {
    found.resultType = getDenseType(symbols, getElementType(source),
                                    getBlockSizes(source, axis));
    // The result is reshaped to its own sizes after the wait.
    if (cast<tp::ReduceScatterOp>(last()).getAsync())
      for (Operation *user : result.getUsers()) {
        if (!isa<tp::CompletionOpInterface>(user))
          return std::nullopt;
        found.ops.push_back(user);
        found.results.push_back(user->getResult(0));
      }
    else
      found.results.push_back(result);
  }
  if (Operation *reader = findOtherReader(found.ops, found.results))
    return refuse(RefusalCode::OtherUsers,
                  "together they are a reduce_scatter along dim " +
                      std::to_string(axis) + " over group '" + group.getKey() +
                      "', but " + getNodeName(reader) +
                      " uses an intermediate value");
  return found;
}

std::optional<ReindexedCollective>
ScatterChain::findScatterOf(Value source, ArrayRef<Operation *> ops,
                            bool isExact) {
  auto type = cast<RankedTensorType>(source.getType());
  for (size_t axis = 0; axis < static_cast<size_t>(type.getRank()); ++axis) {
    std::optional<SmallVector<int64_t>> blocks =
        findBlocks(source, ops, axis, isExact);
    if (!blocks)
      continue;
    std::string what = "a reduce_scatter along dim " + std::to_string(axis);
    Legal<RankMembers> members = getMembers(*blocks);
    if (!members)
      return refuse(RefusalCode::Mesh, "they do not form " + what + ": " +
                                           members.getRefusal().reason);
    Refusal before = refusal;
    if (tp::GroupAttr group = getGroupOf(*members, what)) {
      refusal = {};
      return make(source, ops, axis, isExact, group);
    }
    // Report the refusal of the nearest source and the first dim.
    if (before.isApplicable())
      refusal = std::move(before);
  }
  return std::nullopt;
}

std::optional<ReindexedCollective> ScatterChain::find() {
  if (numRanks > maxRanks)
    return std::nullopt;
  auto reduction = cast<tp::ReduceScatterOp>(last()).getReduction();
  for (Operation *op : links)
    if (auto other = cast<tp::ReduceScatterOp>(op).getReduction();
        other != reduction)
      return refuse(RefusalCode::Reduction,
                    "their reductions differ: " +
                        tp::stringifyReductionKind(other).str() + " and " +
                        tp::stringifyReductionKind(reduction).str());
  // Try the operand of the first reduce_scatter, then the values that it is a
  // rearrangement of.
  ReindexingWalk walk(first()->getOperand(0));
  auto mayUndo = [&](Operation *op) {
    return keepsElements(op) && op->getBlock() == last()->getBlock();
  };
  constexpr size_t maxSources = 8;
  SmallVector<Value> sources;
  do {
    if (Value source = walk.getOrigin(); source && isDense(source, symbols))
      sources.push_back(source);
  } while (walk.getUndone().size() < maxUndone && sources.size() < maxSources &&
           walk.step(mayUndo));
  refusal = {};
  for (bool isExact : {true, false})
    for (Value source : sources) {
      if (auto found = findScatterOf(
              source, getOpsBetween(source, {last()->getResult(0)}), isExact))
        return found;
      // Continue after "no-group": relative to a farther source, the same
      // blocks may belong to another group.
      if (refusal.isApplicable() && refusal.code != RefusalCode::MissingGroup)
        return std::nullopt;
    }
  if (!refusal.isApplicable())
    refuse(RefusalCode::Layout,
           "cannot prove that each rank gets one block along any dim");
  return std::nullopt;
}

Legal<ReindexedCollective>
commute::analysis::findChainedScatter(tp::ReduceScatterOp last,
                                      ArrayRef<tp::GroupAttr> groups) {
  return findChained(last, [&](ArrayRef<Operation *> links, Refusal &refusal) {
    return ScatterChain(links, groups, refusal).find();
  });
}
