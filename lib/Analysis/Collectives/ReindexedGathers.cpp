//===- ReindexedGathers.cpp - reassembly after an all_gather ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Collectives/ReindexedCollectives.h"

#include "IndexMaps/ReindexMaps.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;

namespace {

/// The reassembly after one all_gather.
class ReindexedGatherSearch {
public:
  ReindexedGatherSearch(tp::AllGatherOp gather)
      : gather(gather), symbols(gather.getContext()),
        numRanks(gather.getGroup().getSize()) {}

  Legal<ReindexedCollective> run();
  SmallVector<Value> findIdentities();

private:
  struct Candidate {
    Value value;
    int64_t axis;
  };
  /// A cheap check of the surrounding ops and their sizes: most all_gathers are
  /// already along the right axis.
  bool mayBeAnother();
  /// Computes the maps of the values after the collective, by addresses in
  /// `root`. Returns false if the ops in between cannot be followed.
  bool follow(Value root, ReindexMaps &maps);
  /// The values that are all_gathers of `root` itself.
  SmallVector<Candidate> findGathersOf(Value root, const ReindexMaps &maps);
  /// The axis along which `value` is the gather of the collective's operand
  /// under other sizes, the last one where there are several.
  std::optional<int64_t> findReshapedAxis(Value value, const IndexMap &map);
  Legal<ReindexedCollective> make(Value root, RankedTensorType type,
                                  ArrayRef<Candidate> candidates);

  tp::AllGatherOp gather;
  tp::SymbolSpace symbols;
  int64_t numRanks;
};

} // namespace

bool ReindexedGatherSearch::follow(Value root, ReindexMaps &maps) {
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

SmallVector<ReindexedGatherSearch::Candidate>
ReindexedGatherSearch::findGathersOf(Value root, const ReindexMaps &maps) {
  SmallVector<Candidate> candidates;
  const IndexMap &identity = *maps.get(root);
  ArrayRef<SizePolynomial> shard = identity.getSizes();
  SizePolynomial distance = getProduct(shard);
  for (Value value : maps.getValues()) {
    Operation *op = value.getDefiningOp();
    // Skip the values before the collective and the results of waits.
    if (!op || op == gather || isa<tp::CompletionOpInterface>(op) ||
        !isBefore(gather, op) || getElementType(value) != getElementType(root))
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

std::optional<int64_t>
ReindexedGatherSearch::findReshapedAxis(Value value, const IndexMap &map) {
  SizePolynomial numElements = 1;
  for (const tp::Size &size : symbols.getSizes(gather.getInput().getType()))
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

Legal<ReindexedCollective>
ReindexedGatherSearch::make(Value root, RankedTensorType type,
                            ArrayRef<Candidate> candidates) {
  ReindexedCollective found;
  found.input = root;
  found.inputType = type;
  found.axis = candidates.front().axis;
  found.group = gather.getGroup();
  IndexMap::Sizes sizes;
  for (const tp::Size &size : symbols.getSizes(type))
    sizes.push_back(SizePolynomial::get(size));
  sizes[found.axis] *= numRanks;
  found.resultType = getDenseType(symbols, type.getElementType(), sizes);
  for (const Candidate &candidate : candidates)
    if (candidate.axis == found.axis &&
        mayBeDense(candidate.value, found.resultType, symbols))
      found.results.push_back(candidate.value);
  if (found.results.empty()) {
    return Refusal{nullptr, RefusalCode::Strides,
                   "not rewritten as an all_gather along dim " +
                       std::to_string(found.axis) +
                       ": the result would have other strides, which its users "
                       "would observe"};
  }
  found.ops = getOpsBetween(root, found.results);
  // Results that are used only to compute other results are not needed.
  llvm::erase_if(found.results, [&](Value value) {
    return value != found.results.front() &&
           llvm::all_of(value.getUsers(), [&](Operation *user) {
             return llvm::is_contained(found.ops, user);
           });
  });
  if (Operation *reader = findOtherReader(found.ops, found.results)) {
    return Refusal{nullptr, RefusalCode::OtherUsers,
                   "not rewritten as an all_gather along dim " +
                       std::to_string(found.axis) + ": " + getNodeName(reader) +
                       " uses an intermediate value"};
  }
  return found;
}

SmallVector<Value> ReindexedGatherSearch::findIdentities() {
  ReindexMaps maps(symbols);
  SmallVector<Value> identities;
  // Most gathers are not followed by a concatenation; return early for them.
  if (llvm::none_of(getReindexingBehind(gather.getResult()),
                    llvm::IsaPred<tp::ConcatOp>) ||
      !follow(gather.getInput(), maps))
    return identities;
  for (const Candidate &candidate : findGathersOf(gather.getInput(), maps))
    if (candidate.axis == static_cast<int64_t>(gather.getGatherAxis()) &&
        candidate.value.getDefiningOp<tp::ConcatOp>() &&
        candidate.value.getType() == gather.getType())
      identities.push_back(candidate.value);
  return identities;
}

/// The product of the sizes of the dims before `dim`; nullopt if it is zero,
/// symbolic or too large.
static std::optional<int64_t> countOuter(ArrayRef<int64_t> sizes, size_t dim) {
  int64_t count = 1;
  for (int64_t size : sizes.take_front(dim))
    if (size <= 0 || llvm::MulOverflow(count, size, count))
      return std::nullopt;
  return count;
}

bool ReindexedGatherSearch::mayBeAnother() {
  auto axis = static_cast<size_t>(gather.getGatherAxis());
  ArrayRef<int64_t> shard = getTensor(gather.getInput()).getShape();
  if (!countOuter(shard, shard.size()) ||
      !getOrigins(gather.getInput()).empty())
    return true;
  int64_t outer = *countOuter(shard, axis);
  // A reshape keeps the row-major order, so its result is a gather only along
  // dims with the same product of outer sizes.
  return llvm::any_of(
      getReindexingBehind(gather.getResult()), [&](Operation *op) {
        if (isa<tp::CompletionOpInterface>(op))
          return false;
        RankedTensorType type = getTensor(op->getResult(0));
        ArrayRef<int64_t> sizes = type.getShape();
        return !isa<tp::ReshapeOp>(op) || !type.hasStaticShape() ||
               llvm::any_of(llvm::seq(sizes.size()), [&](size_t dim) {
                 return dim != axis && sizes[dim] % numRanks == 0 &&
                        countOuter(sizes, dim).value_or(outer) == outer;
               });
      });
}

Legal<ReindexedCollective> ReindexedGatherSearch::run() {
  Value operand = gather.getInput();
  auto axis = static_cast<int64_t>(gather.getGatherAxis());
  if (numRanks == 1 || !mayBeAnother())
    return Refusal();
  ReindexMaps maps(symbols);
  if (!follow(operand, maps))
    return Refusal();
  auto isOther = [&](const Candidate &candidate) {
    return candidate.axis != axis;
  };
  SmallVector<Candidate> candidates = findGathersOf(operand, maps);
  llvm::erase_if(candidates, std::not_fn(isOther));
  if (!candidates.empty())
    return make(operand, getTensor(operand), candidates);
  // Try a gather of the values that the operand is a rearrangement of.
  for (Value origin : getOrigins(operand)) {
    if (!isDense(origin, symbols))
      continue;
    ReindexMaps ofOrigin(symbols);
    if (!follow(origin, ofOrigin))
      break;
    candidates = findGathersOf(origin, ofOrigin);
    if (!candidates.empty())
      return make(origin, getTensor(origin), candidates);
  }
  // Try a gather of the reshaped operand if that avoids a copy.
  for (Value value : llvm::reverse(maps.getValues())) {
    Operation *op = value.getDefiningOp();
    if (!op || op == gather || value == operand ||
        isa<tp::CompletionOpInterface>(op) ||
        getElementType(value) != getElementType(operand) ||
        llvm::none_of(getOpsBetween(operand, {value}), moves))
      continue;
    std::optional<int64_t> other = findReshapedAxis(value, *maps.get(value));
    if (!other || *other == axis)
      continue;
    IndexMap::Sizes sizes = maps.getSizes(value);
    sizes[*other] = sizes[*other].divideExactly(numRanks);
    return make(operand, getDenseType(symbols, getElementType(operand), sizes),
                {{value, *other}});
  }
  // Describe why the reassembly is not a gather.
  tp::ConcatOp last;
  for (Value value : maps.getValues())
    if (auto concat = value.getDefiningOp<tp::ConcatOp>();
        concat && (!last || isBefore(last, concat)))
      last = concat;
  if (last)
    return describeReassembly(last, maps, gather.getResult(), axis, numRanks,
                              /*isGather=*/true);
  return Refusal();
}

Legal<ReindexedCollective>
commute::analysis::findReindexedGather(tp::AllGatherOp gather) {
  return ReindexedGatherSearch(gather).run();
}

SmallVector<Value> commute::analysis::findIdentities(tp::AllGatherOp gather) {
  return ReindexedGatherSearch(gather).findIdentities();
}
