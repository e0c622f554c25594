//===- ScatteredPieces.cpp - blocks of a value, scattered -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Collectives/CollectivePieces.h"
#include "IndexMaps/ReindexMaps.h"
#include "IndexMaps/ReindexingWalk.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

/// Which block along `axis` of the value with the map `identity` every rank
/// gets, of what is scattered; nullopt where one gets anything else.
static std::optional<SmallVector<PieceRange>>
findRanges(tp::ReduceScatterOp scatter, const IndexMap &scattered,
           const IndexMap &identity, size_t axis) {
  int64_t numRanks = scatter.getGroup().getSize();
  auto scatterAxis = static_cast<size_t>(scatter.getScatterAxis());
  std::optional<int64_t> whole = identity.getSizes()[axis].getConstant();
  SizePolynomial size =
      scattered.getSizes()[scatterAxis].divideExactly(numRanks);
  if (!whole || *whole % numRanks != 0 || !size.isKnown())
    return std::nullopt;
  int64_t block = *whole / numRanks;
  SizePolynomial stride =
      getProduct(ArrayRef(identity.getSizes()).drop_front(axis + 1));
  SmallVector<PieceRange> ranges;
  for (int64_t rank = 0; rank < numRanks; ++rank) {
    std::optional<IndexMap> part =
        scattered.slice(scatterAxis, size * rank, 1, size);
    if (!part)
      return std::nullopt;
    const IndexBox *first = findFirstBox(*part);
    if (!first)
      return std::nullopt;
    std::optional<int64_t> begin =
        first->base.divideExactly(stride).getConstant();
    if (!begin || *begin < 0 || *begin + block > *whole)
      return std::nullopt;
    // The block may have been reshaped.
    std::optional<IndexMap> expected = identity.slice(axis, *begin, 1, block);
    if (expected)
      expected = expected->reshape(part->getSizes());
    if (!expected || !part->isSameAs(*expected))
      return std::nullopt;
    ranges.push_back({*begin, *begin + block});
  }
  return ranges;
}

Legal<CollectivePieces>
commute::analysis::findScatteredPieces(tp::ReduceScatterOp scatter) {
  tp::SymbolSpace symbols(scatter.getContext());
  // Ops that are undone in search of the product; each is a slice, a reshape or
  // the like.
  constexpr size_t maxUndone = 1024;
  ReindexingWalk walk(scatter.getInput());
  auto mayUndo = [&](Operation *op) {
    return keepsElements(op) && op->getBlock() == scatter->getBlock();
  };
  while (walk.getUndone().size() < maxUndone && walk.step(mayUndo))
    ;
  Value origin = walk.getOrigin();
  if (!origin || walk.getUndone().empty())
    return Refusal();
  Refusal refusal;
  if (auto product = origin.getDefiningOp<tp::MatmulOp>())
    refusal = {scatter, RefusalCode::Layout,
               "it scatters " + getNodeName(walk.getUndone().front()) +
                   ", a rearrangement of " + getNodeName(product)};
  CollectivePieces found;
  found.value = origin;
  found.ops = llvm::to_vector(llvm::reverse(walk.getUndone()));
  ReindexMaps maps(symbols);
  IndexMap identity = IndexMap::getIdentity(maps.getSizes(origin));
  maps.set(origin, identity);
  for (Operation *op : found.ops)
    if (!maps.add(op))
      return refusal;
  SmallVector<Operation *> inside(found.ops);
  inside.push_back(scatter);
  Value scattersResult = scatter.getResult();
  if (findOtherReader(inside, scattersResult) ||
      !llvm::all_of(origin.getUsers(), [&](Operation *user) {
        return llvm::is_contained(found.ops, user);
      })) {
    refusal.reason += ", and intermediate values have other users";
    return refusal;
  }
  const IndexMap &scattered = *maps.get(scatter.getInput());
  for (size_t axis = 0; axis < identity.getSizes().size(); ++axis)
    if (auto ranges = findRanges(scatter, scattered, identity, axis)) {
      found.axis = static_cast<int64_t>(axis);
      found.ranges = std::move(*ranges);
      return found;
    }
  refusal.reason += " that does not give each rank one block of the product";
  return refusal;
}
