//===- ReindexedScatters.cpp - reassembly before reduce_scatter -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

#include "IndexMaps/ReindexMaps.h"
#include "IndexMaps/ReindexingWalk.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {

/// A value from which the operand of a reduce_scatter is computed, and the ops
/// that compute it.
struct ScatterSource {
  Value value;
  /// In order.
  SmallVector<Operation *> ops;
};

/// The reassembly before one reduce_scatter.
class ScatterSearch {
public:
  ScatterSearch(tp::ReduceScatterOp scatter)
      : scatter(scatter), symbols(scatter.getContext()),
        numRanks(scatter.getGroup().getSize()) {}

  Legal<ReindexedCollective> run();

private:
  SmallVector<ScatterSource> findSources();
  /// A cheap check of the surrounding ops and their sizes: most reduce_scatters
  /// are already along the right axis.
  bool mayBeAnother(ArrayRef<ScatterSource> sources);
  /// Collects the waits of an asynchronous collective and the reshapes of its
  /// result. Returns false if the result has other users.
  bool findReshapes(SmallVectorImpl<Operation *> &ops);
  /// The axis along which the blocks of the source are those of the operand:
  /// with the very sizes, or under others.
  std::optional<int64_t> findAxis(const ScatterSource &source, bool isExact,
                                  ReindexMaps &maps);
  /// Reshapes of the result to exactly the blocks of the source.
  SmallVector<Operation *> findReshapes(RankedTensorType block);
  RankedTensorType getBlockType(const ScatterSource &source, int64_t axis,
                                ReindexMaps &maps);
  Legal<ReindexedCollective> make(const ScatterSource &source, int64_t axis,
                                  RankedTensorType type,
                                  ArrayRef<Operation *> behind);

  tp::ReduceScatterOp scatter;
  tp::SymbolSpace symbols;
  int64_t numRanks;
};

} // namespace

SmallVector<ScatterSource> ScatterSearch::findSources() {
  SmallVector<ScatterSource> sources;
  constexpr size_t maxSources = 8;
  ReindexingWalk walk(scatter.getInput());
  auto mayUndo = [&](Operation *op) {
    return keepsElements(op) && op->getBlock() == scatter->getBlock();
  };
  while (sources.size() < maxSources && walk.step(mayUndo))
    if (Value origin = walk.getOrigin(); origin && isDense(origin, symbols))
      sources.push_back(
          {origin, llvm::to_vector(llvm::reverse(walk.getUndone()))});
  return sources;
}

RankedTensorType ScatterSearch::getBlockType(const ScatterSource &source,
                                             int64_t axis, ReindexMaps &maps) {
  IndexMap::Sizes block = maps.getSizes(source.value);
  block[axis] = block[axis].divideExactly(numRanks);
  return getDenseType(symbols, getElementType(source.value), block);
}

std::optional<int64_t> ScatterSearch::findAxis(const ScatterSource &source,
                                               bool isExact,
                                               ReindexMaps &maps) {
  const IndexMap *map = maps.get(scatter.getInput());
  auto axis = static_cast<int64_t>(scatter.getScatterAxis());
  IndexMap::Sizes blocks(map->getSizes());
  blocks[axis] = blocks[axis].divideExactly(numRanks);
  const IndexMap &identity = *maps.get(source.value);
  for (size_t other = 0; other < identity.getSizes().size(); ++other) {
    IndexMap::Sizes block(identity.getSizes());
    block[other] = block[other].divideExactly(numRanks);
    if (!block[other].isKnown() || isExact != (block == blocks))
      continue;
    SizePolynomial distance = getProduct(ArrayRef(block).drop_front(other));
    std::optional<IndexMap> expected =
        identity.slice(other, 0, 1, block[other]);
    if (expected)
      expected = expected->reshape(blocks);
    if (expected)
      expected = expected->repeat(axis, numRanks, distance);
    if (expected && map->isSameAs(*expected))
      return other;
  }
  return std::nullopt;
}

bool ScatterSearch::findReshapes(SmallVectorImpl<Operation *> &ops) {
  SmallVector<Value> values{scatter.getResult()};
  if (scatter.getAsync()) {
    values.clear();
    for (Operation *user : scatter.getResult().getUsers()) {
      if (!isa<tp::CompletionOpInterface>(user))
        return false;
      ops.push_back(user);
      values.push_back(user->getResult(0));
    }
  }
  for (Value value : values)
    for (Operation *user : value.getUsers()) {
      if (!isa<tp::ReshapeOp>(user))
        return false;
      ops.push_back(user);
    }
  return llvm::any_of(ops, llvm::IsaPred<tp::ReshapeOp>);
}

SmallVector<Operation *> ScatterSearch::findReshapes(RankedTensorType block) {
  SmallVector<Operation *> ops;
  if (!findReshapes(ops) || llvm::any_of(ops, [&](Operation *op) {
        return isa<tp::ReshapeOp>(op) && op->getResult(0).getType() != block;
      }))
    return {};
  llvm::sort(ops, isBefore);
  return ops;
}

bool ScatterSearch::mayBeAnother(ArrayRef<ScatterSource> sources) {
  SmallVector<Operation *> reshapes;
  if (findReshapes(reshapes))
    return true;
  auto axis = static_cast<int64_t>(scatter.getScatterAxis());
  return llvm::any_of(sources, [&](const ScatterSource &source) {
    if (llvm::any_of(source.ops, [](Operation *op) {
          return isa<tp::ConcatOp>(op) || moves(op);
        }))
      return true;
    // Else only with the same blocks along another dim.
    SmallVector<int64_t> before(getTensor(source.value).getShape());
    SmallVector<int64_t> after(getTensor(scatter.getInput()).getShape());
    if (before.size() != after.size())
      return false;
    if (llvm::any_of(before, ShapedType::isDynamic) ||
        llvm::any_of(after, ShapedType::isDynamic))
      return true;
    if (before == after)
      return false;
    after[axis] /= numRanks;
    for (int64_t &size : before)
      if (size % numRanks == 0) {
        size /= numRanks;
        if (before == after)
          return true;
        size *= numRanks;
      }
    return false;
  });
}

Legal<ReindexedCollective> ScatterSearch::make(const ScatterSource &source,
                                               int64_t axis,
                                               RankedTensorType type,
                                               ArrayRef<Operation *> behind) {
  ReindexedCollective found;
  found.input = source.value;
  found.inputType = cast<RankedTensorType>(source.value.getType());
  found.axis = axis;
  found.group = scatter.getGroup();
  found.resultType = type;
  found.ops = source.ops;
  found.ops.push_back(scatter);
  llvm::append_range(found.ops, behind);
  for (Operation *op : llvm::reverse(behind))
    if (!isa<tp::CompletionOpInterface>(op))
      found.results.push_back(op->getResult(0));
  // Keep the waits if the result does not change.
  if (found.results.empty() && type == scatter.getType()) {
    found.results.push_back(scatter.getResult());
  } else if (found.results.empty()) {
    for (Operation *user : scatter.getResult().getUsers())
      if (isa<tp::CompletionOpInterface>(user)) {
        found.ops.push_back(user);
        found.results.push_back(user->getResult(0));
      }
    if (!scatter.getAsync())
      found.results.assign({scatter.getResult()});
  }
  if (Operation *reader = findOtherReader(found.ops, found.results)) {
    return Refusal{nullptr, RefusalCode::OtherUsers,
                   "not rewritten as a reduce_scatter along dim " +
                       std::to_string(axis) + ": " + getNodeName(reader) +
                       " uses an intermediate value"};
  }
  return found;
}

Legal<ReindexedCollective> ScatterSearch::run() {
  if (numRanks == 1)
    return Refusal();
  SmallVector<ScatterSource> sources = findSources();
  if (!mayBeAnother(sources))
    return Refusal();
  // Consider only sources that can be followed to the collective; usually the
  // nearest one matches.
  SmallVector<std::unique_ptr<ReindexMaps>> maps;
  auto resultType = cast<RankedTensorType>(scatter.getType());
  for (const ScatterSource &source : sources) {
    auto ofSource = std::make_unique<ReindexMaps>(symbols);
    ofSource->set(source.value,
                  IndexMap::getIdentity(ofSource->getSizes(source.value)));
    if (!llvm::all_of(source.ops,
                      [&](Operation *op) { return ofSource->add(op); }))
      break;
    if (auto axis = findAxis(source, /*isExact=*/true, *ofSource);
        axis && (*axis != static_cast<int64_t>(scatter.getScatterAxis()) ||
                 llvm::any_of(source.ops, llvm::IsaPred<tp::ConcatOp>)))
      return make(source, *axis, resultType, {});
    maps.push_back(std::move(ofSource));
  }
  size_t numFollowed = maps.size();
  for (size_t index = 0; index < numFollowed; ++index)
    if (auto axis = findAxis(sources[index], /*isExact=*/false, *maps[index])) {
      RankedTensorType block =
          getBlockType(sources[index], *axis, *maps[index]);
      SmallVector<Operation *> reshapes = findReshapes(block);
      if (!reshapes.empty())
        return make(sources[index], *axis, block, reshapes);
    }
  // Reshape the result if that avoids a copy. Prefer the farthest source,
  // before all views.
  for (size_t index = numFollowed; index-- > 0;) {
    if (llvm::none_of(sources[index].ops, moves))
      continue;
    if (auto axis = findAxis(sources[index], /*isExact=*/false, *maps[index]))
      return make(sources[index], *axis,
                  getBlockType(sources[index], *axis, *maps[index]), {});
  }
  // Describe why the reassembly is not a scatter.
  Refusal refusal;
  auto concat = scatter.getInput().getDefiningOp<tp::ConcatOp>();
  for (size_t index = 0; concat && index < numFollowed; ++index) {
    Refusal described = describeReassembly(
        concat, *maps[index], sources[index].value,
        static_cast<int64_t>(scatter.getScatterAxis()), numRanks,
        /*isGather=*/false);
    // Report the nearest source that can be described.
    if (index == 0 || refusal.code == RefusalCode::Layout)
      refusal = std::move(described);
  }
  return refusal;
}

Legal<ReindexedCollective>
commute::analysis::findReindexedScatter(tp::ReduceScatterOp scatter) {
  return ScatterSearch(scatter).run();
}
