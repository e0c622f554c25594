//===- GatheredPieces.cpp - a gathered value in other pieces ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectivePieces.h"

#include "IndexMaps/ReindexMaps.h"
#include "Products/ProductRules.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// Each piece costs one slice, before or after a product.
static constexpr size_t maxPieces = 256;

namespace {
/// Along one dim: shards of this extent, whose elements are `inner` apart there
/// and `distance` from shard to shard.
struct ShardedDim {
  int64_t extent;
  int64_t numRanks;
  SizePolynomial inner;
  SizePolynomial distance;
};
} // namespace

/// The position of an address along the gathered dim if it is at the origin of
/// all other dims; nullopt if it is not, or cannot be proven to be.
static std::optional<int64_t> getPosition(const SizePolynomial &address,
                                          const ShardedDim &dim) {
  for (int64_t rank = 0; rank < dim.numRanks; ++rank) {
    SizePolynomial rest = address - dim.distance * rank;
    std::optional<int64_t> within = rest.divideExactly(dim.inner).getConstant();
    if (within && *within >= 0 && *within < dim.extent)
      return rank * dim.extent + *within;
  }
  return std::nullopt;
}

/// The pieces of `whole` that `map` concatenates along `axis`; nullopt if it is
/// not such a concatenation.
static std::optional<SmallVector<PieceRange>>
findRanges(const IndexMap &map, const IndexMap &whole, size_t axis,
           const ShardedDim &dim) {
  ArrayRef<SizePolynomial> sizes = map.getSizes();
  std::optional<int64_t> size = sizes[axis].getConstant();
  for (size_t other = 0; other < sizes.size(); ++other)
    if (other != axis && sizes[other] != whole.getSizes()[other])
      return std::nullopt;
  if (!size)
    return std::nullopt;
  SmallVector<PieceRange> ranges;
  for (int64_t position = 0; position < *size;) {
    std::optional<IndexMap> rest =
        map.slice(axis, position, 1, *size - position);
    if (!rest || ranges.size() == maxPieces)
      return std::nullopt;
    const IndexBox *first = findFirstBox(*rest);
    if (!first)
      return std::nullopt;
    std::optional<int64_t> begin = getPosition(first->base, dim);
    if (!begin)
      return std::nullopt;
    // Candidates for the length of the range: the whole box, the rest of the
    // shard, and the runs of the box.
    SmallVector<int64_t> lengths;
    ArrayRef<IndexDigit> digits = first->dims[axis];
    if (auto extent = getExtent(digits).getConstant())
      lengths.push_back(*extent);
    lengths.push_back(dim.extent - *begin % dim.extent);
    while (!digits.empty()) {
      digits = digits.drop_front();
      if (auto extent = getExtent(digits).getConstant())
        lengths.push_back(*extent);
    }
    int64_t length = 0;
    for (int64_t candidate : lengths) {
      candidate = std::min(
          {candidate, *size - position, dim.extent * dim.numRanks - *begin});
      std::optional<IndexMap> part = map.slice(axis, position, 1, candidate);
      std::optional<IndexMap> expected =
          whole.slice(axis, *begin, 1, candidate);
      if (part && expected && part->isSameAs(*expected)) {
        length = candidate;
        break;
      }
    }
    if (length == 0)
      return std::nullopt;
    if (!ranges.empty() && ranges.back().end == *begin)
      ranges.back().end += length;
    else
      ranges.push_back({*begin, *begin + length});
    position += length;
  }
  return ranges;
}

/// The only value derived from `gather` that is used by ops other than the
/// reassembly, possibly with its rows regrouped. Null if there are several such
/// values or the gathered value itself is used.
static Value findOnlyResult(tp::AllGatherOp gather, const ReindexMaps &maps) {
  auto regroupsRows = [](Operation *op) {
    return isa<tp::ReshapeOp>(op) &&
           haveSameLastDim(op->getOperand(0), op->getResult(0));
  };
  auto isFollowed = [&](Operation *user) {
    return user->getNumResults() == 1 && maps.get(user->getResult(0));
  };
  SmallVector<Value> values(maps.getValues());
  // Values that no other reassembled value is computed from.
  llvm::SmallDenseSet<Value> ends;
  for (Value value : llvm::reverse(values))
    if (llvm::all_of(value.getUsers(), [&](Operation *user) {
          return !isFollowed(user) ||
                 (regroupsRows(user) && ends.contains(user->getResult(0)));
        }))
      ends.insert(value);
  Value result;
  for (Value value : values) {
    Operation *op = value.getDefiningOp();
    if (value == gather.getInput() || value.use_empty())
      continue;
    bool isGathered = op == gather || isa<tp::CompletionOpInterface>(op);
    if (isGathered || !ends.contains(value)) {
      if (!llvm::all_of(value.getUsers(), isFollowed))
        return Value();
      continue;
    }
    if (regroupsRows(op) && ends.contains(op->getOperand(0)))
      continue;
    if (result)
      return Value();
    result = value;
  }
  return result;
}

/// Describes a product that uses a value reassembled from the gathered value;
/// empty if there is none.
static std::string describeReader(tp::AllGatherOp gather,
                                  const ReindexMaps &maps) {
  for (Value value : maps.getValues()) {
    Operation *op = value.getDefiningOp();
    if (!op || op == gather || value == gather.getInput() ||
        isa<tp::CompletionOpInterface>(op))
      continue;
    for (Operation *user : value.getUsers())
      if (isa<tp::MatmulOp>(user))
        return getNodeName(user) +
               " uses the gathered value as reassembled by " + getNodeName(op);
  }
  return "";
}

Legal<CollectivePieces>
commute::analysis::findGatheredPieces(tp::AllGatherOp gather) {
  tp::SymbolSpace symbols(gather.getContext());
  ReindexMaps maps(symbols);
  Value root = gather.getInput();
  IndexMap::Sizes sizes = maps.getSizes(root);
  IndexMap identity = IndexMap::getIdentity(sizes);
  int64_t numRanks = gather.getGroup().getSize();
  SizePolynomial distance = getProduct(sizes);
  std::optional<IndexMap> gathered =
      identity.repeat(gather.getGatherAxis(), numRanks, distance);
  if (!gathered)
    return Refusal();
  maps.set(root, identity);
  maps.set(gather.getResult(), std::move(*gathered));
  maps.follow(gather.getResult());
  CollectivePieces found;
  found.value = findOnlyResult(gather, maps);
  Refusal refusal;
  if (std::string reader = describeReader(gather, maps); !reader.empty())
    refusal =
        found.value
            ? Refusal{gather, RefusalCode::Layout,
                      reader + ", which does not concatenate slices "
                               "along one dim"}
            : Refusal{gather, RefusalCode::OtherUsers,
                      reader + ", and the gathered value has other users"};
  if (!found.value || getElementType(found.value) != getElementType(root))
    return refusal;
  const IndexMap *map = maps.get(found.value);
  if (map->getSizes().size() != sizes.size())
    return refusal;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    std::optional<int64_t> extent = sizes[axis].getConstant();
    std::optional<IndexMap> whole = identity.repeat(axis, numRanks, distance);
    if (!extent || !whole)
      continue;
    ShardedDim dim{*extent, numRanks,
                   getProduct(ArrayRef(sizes).drop_front(axis + 1)), distance};
    std::optional<SmallVector<PieceRange>> ranges =
        findRanges(*map, *whole, axis, dim);
    if (!ranges)
      continue;
    found.axis = static_cast<int64_t>(axis);
    found.ranges = std::move(*ranges);
    found.ops = getOpsBetween(gather.getResult(), {found.value});
    return found;
  }
  return refusal;
}
