//===- ReindexedCollectives.cpp - collectives amid reassembly ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/ReindexedCollectives.h"

#include "ReindexMaps.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

static SizePolynomial getProduct(ArrayRef<SizePolynomial> sizes) {
  SizePolynomial product = 1;
  for (const SizePolynomial &size : sizes)
    product *= size;
  return product;
}

static Type getElementType(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

static bool isBefore(Operation *a, Operation *b) {
  return a->isBeforeInBlock(b);
}

/// Whether an op moves elements in memory, rather than being a view.
static bool moves(Operation *op) {
  auto work = cast<tp::WorkOpInterface>(op).getWork(
      [](StringRef) -> std::optional<int64_t> { return 1; });
  return work && work->bytesRead > 0;
}

/// Whether a value is certainly dense, as collectives need it.
static bool isDense(Value value, tp::SymbolSpace &symbols) {
  return tp::getDensity(symbols.getShape(
             cast<RankedTensorType>(value.getType()))) == tp::Density::Dense;
}

/// The values that a value is reindexed from, through single operands that
/// nobody else reads, the nearest first.
static SmallVector<Value> getOrigins(Value value) {
  SmallVector<Value> origins;
  // Each is tried, which costs time: spellings need one or two.
  constexpr size_t maxOrigins = 4;
  while (origins.size() < maxOrigins) {
    Operation *op = value.getDefiningOp();
    if (!op || !isReindexing(op) || op->getNumOperands() != 1 ||
        !value.hasOneUse())
      break;
    value = op->getOperand(0);
    origins.push_back(value);
  }
  return origins;
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

namespace {

/// The reassembly behind one all_gather.
class GatherSearch {
public:
  GatherSearch(tp::AllGatherOp gather)
      : gather(gather), symbols(gather.getContext()),
        numRanks(gather.getGroup().getSize()) {}

  std::optional<ReindexedCollective> run(ReindexRefusal &refusal);
  SmallVector<Value> findIdentities();

private:
  struct Candidate {
    Value value;
    int64_t axis;
  };
  /// Maps of what is behind the collective, by addresses in `root`; false where
  /// the ops in between cannot be followed.
  bool follow(Value root, ReindexMaps &maps);
  /// The values that are all_gathers of `root` itself.
  SmallVector<Candidate> findGathersOf(Value root, const ReindexMaps &maps);
  /// The axis along which `value` is the gather of the collective's operand
  /// under other sizes, the last one where there are several.
  std::optional<int64_t> findReshapedAxis(Value value, const IndexMap &map);
  std::optional<ReindexedCollective> make(Value root, RankedTensorType type,
                                          ArrayRef<Candidate> candidates,
                                          ReindexRefusal &refusal);
  SmallVector<Operation *> getOps(Value root, ArrayRef<Value> results);

  tp::AllGatherOp gather;
  tp::SymbolSpace symbols;
  int64_t numRanks;
};

} // namespace

bool GatherSearch::follow(Value root, ReindexMaps &maps) {
  SmallVector<Operation *> inFront;
  for (Value value = gather.getInput(); value != root;) {
    inFront.push_back(value.getDefiningOp());
    value = inFront.back()->getOperand(0);
  }
  IndexMap::Sizes sizes = maps.getSizes(root);
  maps.set(root, IndexMap::getIdentity(sizes));
  for (Operation *op : llvm::reverse(inFront))
    if (!maps.add(op))
      return false;
  std::optional<IndexMap> gathered =
      maps.get(gather.getInput())
          ->repeat(gather.getGatherAxis(), numRanks, getProduct(sizes));
  if (!gathered)
    return false;
  maps.set(gather.getResult(), std::move(*gathered));
  maps.follow(gather.getResult());
  return true;
}

SmallVector<GatherSearch::Candidate>
GatherSearch::findGathersOf(Value root, const ReindexMaps &maps) {
  SmallVector<Candidate> candidates;
  const IndexMap &identity = *maps.get(root);
  ArrayRef<SizePolynomial> shard = identity.getSizes();
  SizePolynomial distance = getProduct(shard);
  for (Value value : maps.getValues()) {
    Operation *op = value.getDefiningOp();
    // Not what leads to the collective, nor what is waited for.
    if (!op || op == gather || isa<tp::WaitOp>(op) || !isBefore(gather, op) ||
        getElementType(value) != getElementType(root))
      continue;
    const IndexMap &map = *maps.get(value);
    if (map.getSizes().size() != shard.size())
      continue;
    for (size_t axis = 0; axis < shard.size(); ++axis) {
      if (map.getSizes()[axis] != shard[axis] * numRanks)
        continue;
      std::optional<IndexMap> whole = identity.repeat(axis, numRanks, distance);
      if (whole && map.isSameAs(*whole))
        candidates.push_back({value, static_cast<int64_t>(axis)});
    }
  }
  llvm::sort(candidates, [](const Candidate &a, const Candidate &b) {
    return isBefore(b.value.getDefiningOp(), a.value.getDefiningOp());
  });
  return candidates;
}

std::optional<int64_t> GatherSearch::findReshapedAxis(Value value,
                                                      const IndexMap &map) {
  SizePolynomial numElements = 1;
  for (AffineExpr size : symbols.getSizes(gather.getInput().getType()))
    numElements *= SizePolynomial::get(size);
  for (size_t axis = map.getSizes().size(); axis-- > 0;) {
    IndexMap::Sizes shard(map.getSizes());
    shard[axis] = shard[axis].divideExactly(numRanks);
    if (getProduct(shard) != numElements)
      continue;
    std::optional<IndexMap> whole =
        IndexMap::getIdentity(shard).repeat(axis, numRanks, getProduct(shard));
    if (whole && map.isSameAs(*whole))
      return axis;
  }
  return std::nullopt;
}

SmallVector<Operation *> GatherSearch::getOps(Value root,
                                              ArrayRef<Value> results) {
  llvm::SetVector<Operation *> ops;
  for (Value result : results)
    ops.insert(result.getDefiningOp());
  for (size_t next = 0; next < ops.size(); ++next)
    for (Value operand : ops[next]->getOperands())
      if (operand != root)
        ops.insert(operand.getDefiningOp());
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted, isBefore);
  return sorted;
}

std::optional<ReindexedCollective>
GatherSearch::make(Value root, RankedTensorType type,
                   ArrayRef<Candidate> candidates, ReindexRefusal &refusal) {
  ReindexedCollective found;
  found.input = root;
  found.inputType = type;
  found.axis = candidates.front().axis;
  IndexMap::Sizes sizes;
  for (AffineExpr size : symbols.getSizes(type))
    sizes.push_back(SizePolynomial::get(size));
  sizes[found.axis] *= numRanks;
  found.resultType = getDenseType(symbols, type.getElementType(), sizes);
  for (const Candidate &candidate : candidates)
    if (candidate.axis == found.axis &&
        mayBeDense(candidate.value, found.resultType, symbols))
      found.results.push_back(candidate.value);
  if (found.results.empty()) {
    refusal = {"strides",
               "is an all_gather along dim " + std::to_string(found.axis) +
                   ", but its result lies in memory in another order, which "
                   "its readers would see"};
    return std::nullopt;
  }
  found.ops = getOps(root, found.results);
  // Those that only the others are made from need not be there.
  llvm::erase_if(found.results, [&](Value value) {
    return value != found.results.front() &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             return llvm::is_contained(found.ops, user);
           });
  });
  if (Operation *reader = findOtherReader(found.ops, found.results)) {
    refusal = {"other-reader",
               "is an all_gather along dim " + std::to_string(found.axis) +
                   ", but " + getNodeName(reader) +
                   " reads the shards as they were gathered, or parts of them"};
    return std::nullopt;
  }
  return found;
}

SmallVector<Value> GatherSearch::findIdentities() {
  ReindexMaps maps(symbols);
  SmallVector<Value> identities;
  if (!follow(gather.getInput(), maps))
    return identities;
  for (const Candidate &candidate : findGathersOf(gather.getInput(), maps))
    if (candidate.axis == static_cast<int64_t>(gather.getGatherAxis()) &&
        candidate.value.getDefiningOp<tp::ConcatOp>() &&
        candidate.value.getType() == gather.getType())
      identities.push_back(candidate.value);
  return identities;
}

std::optional<ReindexedCollective> GatherSearch::run(ReindexRefusal &refusal) {
  Value operand = gather.getInput();
  auto axis = static_cast<int64_t>(gather.getGatherAxis());
  ReindexMaps maps(symbols);
  if (numRanks == 1 || !follow(operand, maps))
    return std::nullopt;
  auto isOther = [&](const Candidate &candidate) {
    return candidate.axis != axis;
  };
  SmallVector<Candidate> candidates = findGathersOf(operand, maps);
  llvm::erase_if(candidates, std::not_fn(isOther));
  if (!candidates.empty())
    return make(operand, cast<RankedTensorType>(operand.getType()), candidates,
                refusal);
  // Of what the operand was rearranged from.
  for (Value origin : getOrigins(operand)) {
    if (!isDense(origin, symbols))
      continue;
    ReindexMaps ofOrigin(symbols);
    if (!follow(origin, ofOrigin))
      break;
    candidates = findGathersOf(origin, ofOrigin);
    if (!candidates.empty())
      return make(origin, cast<RankedTensorType>(origin.getType()), candidates,
                  refusal);
  }
  // Of the operand under other sizes, where that saves moving elements.
  for (Value value : llvm::reverse(maps.getValues())) {
    Operation *op = value.getDefiningOp();
    if (!op || op == gather || value == operand || isa<tp::WaitOp>(op) ||
        getElementType(value) != getElementType(operand) ||
        llvm::none_of(getOps(operand, {value}), moves))
      continue;
    std::optional<int64_t> other = findReshapedAxis(value, *maps.get(value));
    if (!other || *other == axis)
      continue;
    IndexMap::Sizes sizes = maps.getSizes(value);
    sizes[*other] = sizes[*other].divideExactly(numRanks);
    return make(operand, getDenseType(symbols, getElementType(operand), sizes),
                {{value, *other}}, refusal);
  }
  // The reassembly that is no gather.
  tp::ConcatOp last;
  for (Value value : maps.getValues())
    if (auto concat = value.getDefiningOp<tp::ConcatOp>();
        concat && (!last || isBefore(last, concat)))
      last = concat;
  if (last)
    refusal = describeReassembly(last, maps, gather.getResult(), axis, numRanks,
                                 /*isGather=*/true);
  return std::nullopt;
}

std::optional<ReindexedCollective>
commute::analysis::findReindexedGather(tp::AllGatherOp gather,
                                       ReindexRefusal &refusal) {
  return GatherSearch(gather).run(refusal);
}

SmallVector<Value> commute::analysis::findIdentities(tp::AllGatherOp gather) {
  return GatherSearch(gather).findIdentities();
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

namespace {

/// What the operand of a reduce_scatter may be made from: all of it comes from
/// this value, by these ops.
struct ScatterSource {
  Value value;
  /// In order.
  SmallVector<Operation *> ops;
};

/// The reassembly in front of one reduce_scatter.
class ScatterSearch {
public:
  ScatterSearch(tp::ReduceScatterOp scatter)
      : scatter(scatter), symbols(scatter.getContext()),
        numRanks(scatter.getGroup().getSize()) {}

  std::optional<ReindexedCollective> run(ReindexRefusal &refusal);

private:
  SmallVector<ScatterSource> findSources();
  /// The axis along which the blocks of the source are those of the operand:
  /// with the very sizes, or under others.
  std::optional<int64_t> findAxis(const ScatterSource &source, bool isExact,
                                  ReindexMaps &maps);
  /// Reshapes of the result to exactly the blocks of the source.
  SmallVector<Operation *> findReshapes(RankedTensorType block);
  RankedTensorType getBlockType(const ScatterSource &source, int64_t axis,
                                ReindexMaps &maps);
  std::optional<ReindexedCollective> make(const ScatterSource &source,
                                          int64_t axis, RankedTensorType type,
                                          ArrayRef<Operation *> behind,
                                          ReindexRefusal &refusal);

  tp::ReduceScatterOp scatter;
  tp::SymbolSpace symbols;
  int64_t numRanks;
};

} // namespace

SmallVector<ScatterSource> ScatterSearch::findSources() {
  // Backwards: the latest op of those still open is undone. Where one value is
  // left, everything comes from it.
  SmallVector<ScatterSource> sources;
  constexpr size_t maxSources = 8;
  SmallVector<Operation *> undone;
  llvm::SetVector<Value> open;
  open.insert(scatter.getInput());
  while (sources.size() < maxSources) {
    Operation *latest = nullptr;
    for (Value value : open) {
      Operation *op = value.getDefiningOp();
      // What cannot be undone can only be the source itself.
      if (!op || !isReindexing(op) || isa<tp::WaitOp, tp::BitcastOp>(op) ||
          op->getBlock() != scatter->getBlock())
        continue;
      if (!latest || isBefore(latest, op))
        latest = op;
    }
    if (!latest)
      return sources;
    open.remove(latest->getResult(0));
    undone.push_back(latest);
    open.insert(latest->operand_begin(), latest->operand_end());
    if (open.size() == 1 && isDense(open.front(), symbols))
      sources.push_back({open.front(), llvm::to_vector(llvm::reverse(undone))});
  }
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

SmallVector<Operation *> ScatterSearch::findReshapes(RankedTensorType block) {
  SmallVector<Operation *> ops;
  SmallVector<Value> values{scatter.getResult()};
  if (scatter.getAsync()) {
    values.clear();
    for (Operation *user : scatter.getResult().getUsers()) {
      if (!isa<tp::WaitOp>(user))
        return {};
      ops.push_back(user);
      values.push_back(user->getResult(0));
    }
  }
  for (Value value : values)
    for (Operation *user : value.getUsers()) {
      if (!isa<tp::ReshapeOp>(user) || user->getResult(0).getType() != block)
        return {};
      ops.push_back(user);
    }
  if (llvm::none_of(ops, llvm::IsaPred<tp::ReshapeOp>))
    return {};
  llvm::sort(ops, isBefore);
  return ops;
}

std::optional<ReindexedCollective>
ScatterSearch::make(const ScatterSource &source, int64_t axis,
                    RankedTensorType type, ArrayRef<Operation *> behind,
                    ReindexRefusal &refusal) {
  ReindexedCollective found;
  found.input = source.value;
  found.inputType = cast<RankedTensorType>(source.value.getType());
  found.axis = axis;
  found.resultType = type;
  found.ops = source.ops;
  found.ops.push_back(scatter);
  llvm::append_range(found.ops, behind);
  for (Operation *op : llvm::reverse(behind))
    if (!isa<tp::WaitOp>(op))
      found.results.push_back(op->getResult(0));
  // The waits stay where nothing behind them changes.
  if (found.results.empty() && type == scatter.getType()) {
    found.results.push_back(scatter.getResult());
  } else if (found.results.empty()) {
    for (Operation *user : scatter.getResult().getUsers())
      if (isa<tp::WaitOp>(user)) {
        found.ops.push_back(user);
        found.results.push_back(user->getResult(0));
      }
    if (!scatter.getAsync())
      found.results.assign({scatter.getResult()});
  }
  if (Operation *reader = findOtherReader(found.ops, found.results)) {
    refusal = {"other-reader",
               "is a reduce_scatter along dim " + std::to_string(axis) +
                   ", but " + getNodeName(reader) +
                   " reads the blocks that were rearranged for it"};
    return std::nullopt;
  }
  return found;
}

std::optional<ReindexedCollective> ScatterSearch::run(ReindexRefusal &refusal) {
  if (numRanks == 1)
    return std::nullopt;
  SmallVector<ScatterSource> sources = findSources();
  SmallVector<std::unique_ptr<ReindexMaps>> maps;
  for (const ScatterSource &source : sources) {
    auto &ofSource = maps.emplace_back(std::make_unique<ReindexMaps>(symbols));
    ofSource->set(source.value,
                  IndexMap::getIdentity(ofSource->getSizes(source.value)));
    if (!llvm::all_of(source.ops,
                      [&](Operation *op) { return ofSource->add(op); }))
      break;
  }
  // Sources that are followed to the end.
  size_t numFollowed = 0;
  while (numFollowed < maps.size() &&
         maps[numFollowed]->get(scatter.getInput()))
    ++numFollowed;
  auto resultType = cast<RankedTensorType>(scatter.getType());
  for (size_t index = 0; index < numFollowed; ++index)
    if (auto axis = findAxis(sources[index], /*isExact=*/true, *maps[index]);
        axis && (*axis != static_cast<int64_t>(scatter.getScatterAxis()) ||
                 llvm::any_of(sources[index].ops, llvm::IsaPred<tp::ConcatOp>)))
      return make(sources[index], *axis, resultType, {}, refusal);
  for (size_t index = 0; index < numFollowed; ++index)
    if (auto axis = findAxis(sources[index], /*isExact=*/false, *maps[index])) {
      RankedTensorType block =
          getBlockType(sources[index], *axis, *maps[index]);
      SmallVector<Operation *> reshapes = findReshapes(block);
      if (!reshapes.empty())
        return make(sources[index], *axis, block, reshapes, refusal);
    }
  // With a reshape of the result, where that saves moving elements; of the
  // farthest source, in front of all views.
  for (size_t index = numFollowed; index-- > 0;) {
    if (llvm::none_of(sources[index].ops, moves))
      continue;
    if (auto axis = findAxis(sources[index], /*isExact=*/false, *maps[index]))
      return make(sources[index], *axis,
                  getBlockType(sources[index], *axis, *maps[index]), {},
                  refusal);
  }
  // The reassembly that is no scatter.
  auto concat = scatter.getInput().getDefiningOp<tp::ConcatOp>();
  for (size_t index = 0; concat && index < numFollowed; ++index) {
    ReindexRefusal described = describeReassembly(
        concat, *maps[index], sources[index].value,
        static_cast<int64_t>(scatter.getScatterAxis()), numRanks,
        /*isGather=*/false);
    // The nearest source of which something can be said.
    if (index == 0 || refusal.name == "layout")
      refusal = std::move(described);
  }
  return std::nullopt;
}

std::optional<ReindexedCollective>
commute::analysis::findReindexedScatter(tp::ReduceScatterOp scatter,
                                        ReindexRefusal &refusal) {
  return ScatterSearch(scatter).run(refusal);
}
