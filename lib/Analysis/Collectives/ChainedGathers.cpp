//===- ChainedGathers.cpp - all_gathers that are one ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectiveChain.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {

class GatherChain : public CollectiveChain {
public:
  using CollectiveChain::CollectiveChain;

  std::optional<ReindexedCollective> find();

private:
  /// Maps of what is made from `root`, which the operand of the first link is
  /// made from; false where the ops in between cannot be followed.
  bool follow(Value root, ReindexMaps &maps);
  /// The blocks of `map` along `axis`, by whose of `identity` they are, if all
  /// are there.
  std::optional<SmallVector<int64_t>>
  findOrder(const IndexMap &map, size_t axis, const IndexMap &identity);
  /// Whose shards every rank gets, block by block.
  RankMembers getMembers(ArrayRef<int64_t> order);
  /// The all_gather of `root` over a known group; `isAnyGather` is set where
  /// there is one whose group is not known.
  std::optional<ReindexedCollective> findGatherOf(Value root,
                                                  bool &isAnyGather);
  std::optional<ReindexedCollective> make(Value root, Value value, size_t axis,
                                          tp::GroupAttr group);
};

} // namespace

bool GatherChain::follow(Value root, ReindexMaps &maps) {
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
GatherChain::findOrder(const IndexMap &map, size_t axis,
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

RankMembers GatherChain::getMembers(ArrayRef<int64_t> order) {
  RankMembers members;
  for (int64_t rank : getCollectiveGroup(last()).getRanks()) {
    SmallVector<int64_t> &own = members[rank];
    for (int64_t index : order) {
      Positions positions = getPositions(index);
      std::optional<int64_t> from = rank;
      for (size_t link = links.size(); link-- > 0 && from;) {
        ArrayRef<int64_t> around =
            getCollectiveGroup(links[link]).getMembersAround(*from);
        from = around.empty() ? std::nullopt
                              : std::optional(around[positions[link]]);
      }
      // -1 marks a rank that takes no part in one of the collectives.
      own.push_back(from.value_or(-1));
    }
  }
  return members;
}

std::optional<ReindexedCollective>
GatherChain::make(Value root, Value value, size_t axis, tp::GroupAttr group) {
  ReindexedCollective found;
  found.input = root;
  found.inputType = cast<RankedTensorType>(found.input.getType());
  found.axis = static_cast<int64_t>(axis);
  found.group = group;
  IndexMap::Sizes sizes;
  for (const tp::Size &size : symbols.getSizes(found.inputType))
    sizes.push_back(SizePolynomial::get(size));
  sizes[axis] *= numRanks;
  found.resultType =
      getDenseType(symbols, found.inputType.getElementType(), sizes);
  std::string what = "together they are an all_gather along dim " +
                     std::to_string(axis) + " over group '" + group.getKey() +
                     "', but ";
  if (!mayBeDense(value, found.resultType, symbols))
    return refuse(RefusalCode::Strides,
                  what + "the result would have other strides, "
                         "which its users would observe");
  found.results.push_back(value);
  found.ops = getOpsBetween(found.input, found.results);
  if (Operation *reader = findOtherReader(found.ops, found.results))
    return refuse(RefusalCode::OtherUsers,
                  what + getNodeName(reader) + " uses an intermediate value");
  return found;
}

std::optional<ReindexedCollective>
GatherChain::findGatherOf(Value root, bool &isAnyGather) {
  ReindexMaps maps(symbols);
  if (!follow(root, maps))
    return std::nullopt;
  const IndexMap &identity = *maps.get(root);
  for (Value value : maps.getValues()) {
    Operation *op = value.getDefiningOp();
    // The result of a wait is the result of the collective itself.
    bool isBehind = op && (op == last() || isBefore(last(), op)) &&
                    !isa<tp::CompletionOpInterface>(op);
    if (!isBehind || getElementType(value) != getElementType(root))
      continue;
    for (size_t axis = 0; axis < identity.getSizes().size(); ++axis) {
      std::optional<SmallVector<int64_t>> order =
          findOrder(*maps.get(value), axis, identity);
      if (!order)
        continue;
      Refusal before = refusal;
      tp::GroupAttr group = getGroupOf(
          getMembers(*order), "an all_gather along dim " + Twine(axis));
      if (group)
        return make(root, value, axis, group);
      // Report the refusal of the nearest value.
      if (isAnyGather)
        refusal = std::move(before);
      isAnyGather = true;
    }
  }
  return std::nullopt;
}

std::optional<ReindexedCollective> GatherChain::find() {
  if (numRanks > maxRanks)
    return std::nullopt;
  // Try the operand of the first all_gather, then the values that it is a
  // rearrangement of.
  Value operand = first()->getOperand(0);
  SmallVector<Value> roots{operand};
  for (Value origin : getOrigins(operand))
    if (isDense(origin, symbols))
      roots.push_back(origin);
  bool isAnyGather = false;
  for (Value root : roots)
    if (auto found = findGatherOf(root, isAnyGather))
      return found;
  if (!isAnyGather && !refusal.isApplicable())
    refuse(RefusalCode::Layout,
           "cannot prove that the result concatenates the shards "
           "of the ranks along any dim");
  return std::nullopt;
}

Legal<ReindexedCollective>
commute::analysis::findChainedGather(tp::AllGatherOp last,
                                     ArrayRef<tp::GroupAttr> groups) {
  return findChained(last, [&](ArrayRef<Operation *> links, Refusal &refusal) {
    return GatherChain(links, groups, refusal).find();
  });
}
