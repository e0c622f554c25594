//===- RegionRewrite.cpp - runs chosen ops on shards ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionRewrite.h"

#include "ResultTypes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using analysis::RegionOp;
using analysis::RegionRole;
using tp::DimensionRule;
using tp::getTensor;

namespace {

class RegionRewriter {
public:
  RegionRewriter(const analysis::ShardRegion &region,
                 llvm::function_ref<bool(unsigned)> isLocal,
                 bool isRankSpecific, RewriterBase &rewriter)
      : region(region), isLocal(isLocal), isRankSpecific(isRankSpecific),
        rewriter(rewriter), builder(region.group.getContext()),
        symbols(region.group.getContext()), count(region.group.getSize()) {}

  RegionChanges run();

private:
  /// The original type of a local value, and its sharded dim.
  struct LocalValue {
    RankedTensorType wholeType;
    unsigned dim;
  };

  /// The size of a rank's shard of a dim.
  tp::Size getShardSize(const tp::Size &size);
  /// The type of a rank's shard of a dense tensor.
  RankedTensorType getShardType(RankedTensorType type, unsigned dim);
  Value pad(Value value, unsigned dim, Location location);
  /// The value, or a dense copy if it may not be dense. Collectives that move
  /// blocks need a dense operand.
  Value makeDense(Value value, Location location);

  void rewriteReduce(const RegionOp &entry);
  void rewriteGather(const RegionOp &entry);
  /// Runs an op on shards of its operands.
  void cutOperands(const RegionOp &entry);
  void rewriteRowLocal(const RegionOp &entry);
  void rewriteRowReduction(const RegionOp &entry);
  /// The shard of a value that is computed whole, for `reader` and later
  /// users.
  Value getSlice(Value value, Operation *reader);
  /// The whole value, gathered if only its shards exist.
  Value getWhole(Value value);
  /// Gathers the shards of a value for users of the whole value.
  void gatherForReaders(Value value);

  const analysis::ShardRegion &region;
  llvm::function_ref<bool(unsigned)> isLocal;
  bool isRankSpecific;
  RewriterBase &rewriter;
  OpBuilder builder;
  tp::SymbolSpace symbols;
  int64_t count;
  RegionChanges changes;
  /// Ops that use shards.
  llvm::DenseSet<Operation *> localOps;
  llvm::MapVector<Value, LocalValue> localValues;
  /// Placeholders for shards that exist in the program: operands of its gathers
  /// and results of its slices.
  SmallVector<tp::ReshapeOp> placeholders;
  DenseMap<Value, Value> slices;
  DenseMap<Value, Value> gathers;
};

} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

tp::Size RegionRewriter::getShardSize(const tp::Size &size) {
  if (tp::Size exact = tp::divideExactly(size, count))
    return exact;
  // Padded, or assumed to be divisible.
  if (std::optional<int64_t> number = tp::getConstant(size))
    return llvm::divideCeil(*number, count);
  return size ? tp::Size(size.getSymbolic().floorDiv(count)) : tp::Size();
}

RankedTensorType RegionRewriter::getShardType(RankedTensorType type,
                                              unsigned dim) {
  tp::Sizes sizes = symbols.getSizes(type);
  sizes[dim] = getShardSize(sizes[dim]);
  return symbols.getType(type.getElementType(), sizes,
                         tp::getContiguousStrides(sizes));
}

Value RegionRewriter::pad(Value value, unsigned dim, Location location) {
  RankedTensorType type = getTensor(value);
  int64_t size = type.getDimSize(dim);
  tp::Sizes missing = symbols.getSizes(type);
  missing[dim] = llvm::alignTo(size, count) - size;
  if (tp::isConstant(missing[dim], 0))
    return value;
  Value fill = tp::ConstantOp::create(
      builder, location, builder.getZeroAttr(type.getElementType()), symbols,
      type.getElementType(), missing);
  return tp::ConcatOp::create(builder, location, ValueRange{value, fill}, dim);
}

Value RegionRewriter::makeDense(Value value, Location location) {
  if (tp::getDensity(symbols.getShape(getTensor(value))) == tp::Density::Dense)
    return value;
  return tp::CopyOp::create(builder, location, value,
                            /*preserve_strides=*/false);
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

void RegionRewriter::rewriteReduce(const RegionOp &entry) {
  auto reduce = cast<tp::AllReduceOp>(entry.chain.front());
  unsigned dim = region.dims.lookup(entry.op->getResult(0));
  builder.setInsertionPoint(reduce);
  // Applying the views to the whole operand first is equivalent and free. The
  // operand may itself be computed on shards, as a replicated value.
  Value operand = getWhole(reduce.getInput());
  for (Operation *view : ArrayRef(entry.chain).drop_front()) {
    if (isa<tp::CompletionOpInterface>(view))
      continue;
    IRMapping mapping;
    mapping.map(view->getOperand(0), operand);
    Operation *moved = builder.clone(*view, mapping);
    moved->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
    inferStrides(symbols, moved);
    operand = moved->getResult(0);
  }
  operand = region.isPadded ? pad(operand, dim, reduce.getLoc()) : operand;
  operand = makeDense(operand, reduce.getLoc());
  auto scatter = tp::ReduceScatterOp::create(
      builder, reduce.getLoc(), reduce.getReduction(), operand, dim,
      region.group, reduce.getAsync());
  ++changes.numScatters;
  Value result = scatter.getResult();
  // A chain includes its wait; otherwise, the wait is an op of the region.
  if (reduce.getAsync() && entry.chain.size() > 1) {
    builder.setInsertionPoint(entry.op);
    result = tp::WaitOp::create(builder, entry.op->getLoc(), result);
  }
  Value old = entry.op->getResult(0);
  localValues.insert({result, {getTensor(old), dim}});
  old.replaceAllUsesWith(result);
  for (Operation *op : llvm::reverse(entry.chain))
    rewriter.eraseOp(op);
}

void RegionRewriter::rewriteGather(const RegionOp &entry) {
  auto gather = cast<tp::AllGatherOp>(entry.op);
  // Local users take the shard directly. For users of the whole value, the
  // shards are gathered again after the local ops.
  Value shard = getWhole(gather.getInput());
  Value result = gather.getResult();
  RankedTensorType type = getTensor(result);
  // Waits for the erased gather are no longer needed.
  for (Operation *user : llvm::make_early_inc_range(result.getUsers())) {
    if (!isa<tp::CompletionOpInterface>(user) || !gather.getAsync())
      continue;
    localOps.erase(user);
    user->getResult(0).replaceAllUsesWith(result);
    rewriter.eraseOp(user);
  }
  // Use a separate value, so that other users of the shard are unaffected.
  builder.setInsertionPoint(gather);
  auto local =
      tp::ReshapeOp::create(builder, gather.getLoc(), shard.getType(), shard);
  localValues.insert(
      {local.getResult(), {type, unsigned(gather.getGatherAxis())}});
  placeholders.push_back(local);
  result.replaceAllUsesWith(local.getResult());
  rewriter.eraseOp(gather);
  ++changes.numRemovedGathers;
}

Value RegionRewriter::getSlice(Value value, Operation *reader) {
  Value &known = slices[value];
  if (known)
    return known;
  builder.setInsertionPoint(reader);
  unsigned dim = region.dims.lookup(value);
  Value whole = region.isPadded ? pad(value, dim, value.getLoc()) : value;
  SliceMethod method =
      *findSliceMethod(value, dim, region.group, isRankSpecific);
  if (method == SliceMethod::ReduceScatter) {
    whole = makeDense(whole, value.getLoc());
    known = tp::ReduceScatterOp::create(builder, value.getLoc(),
                                        tp::ReductionKind::Max, whole, dim,
                                        region.group, /*async=*/false);
  } else {
    known = tp::RankSliceOp::create(builder, value.getLoc(), whole, dim,
                                    region.group);
  }
  ++changes.numSlices;
  changes.sliced.emplace_back(value, method);
  return known;
}

void RegionRewriter::cutOperands(const RegionOp &entry) {
  Operation *op = entry.op;
  for (OpOperand &operand : op->getOpOperands()) {
    Value value = operand.get();
    // Only results of local ops are shards; other values of the region are
    // whole and have to be sliced.
    if (region.dims.contains(value) && !localValues.contains(value))
      operand.set(getSlice(value, op));
    // A collective of another group may move blocks itself.
    auto dense = dyn_cast<tp::DenseOperandsOpInterface>(op);
    if (dense && dense.requiresDense(operand)) {
      builder.setInsertionPoint(op);
      operand.set(makeDense(operand.get(), op->getLoc()));
    }
  }
  ++changes.numLocalOps;
}

/// The sizes of an op's factors on a shard.
static SmallVector<int64_t> getShardSizes(const DimensionRule &rule,
                                          unsigned factor, int64_t count) {
  SmallVector<int64_t> sizes = llvm::map_to_vector(
      rule.factors, [](const tp::Factor &factor) { return factor.size; });
  if (!ShapedType::isDynamic(sizes[factor]))
    sizes[factor] = llvm::divideCeil(sizes[factor], count);
  return sizes;
}

void RegionRewriter::rewriteRowLocal(const RegionOp &entry) {
  Operation *op = entry.op;
  auto ruled = cast<tp::DimensionRuleOpInterface>(op);
  DimensionRule rule = ruled.getDimensionRule();
  cutOperands(entry);
  for (OpResult result : op->getResults()) {
    RankedTensorType whole = getTensor(result);
    unsigned dim = region.dims.lookup(result);
    // A merged dim is sharded along its outermost part.
    result.setType(getShardType(whole, dim));
    localValues.insert({result, {whole, dim}});
  }
  inferStrides(symbols, op);
  ruled.scaleAttributes(rule, getShardSizes(rule, entry.factor, count));
}

void RegionRewriter::rewriteRowReduction(const RegionOp &entry) {
  Operation *op = entry.op;
  auto ruled = cast<tp::DimensionRuleOpInterface>(op);
  DimensionRule rule = ruled.getDimensionRule();
  cutOperands(entry);
  ruled.scaleAttributes(rule, getShardSizes(rule, entry.factor, count));
  // Its result has the type that it had, but not the value: it is another op
  // than the one that the graph knows.
  op->setDiscardableAttrs(DictionaryAttr::get(builder.getContext()));
  builder.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    auto reduce = tp::AllReduceOp::create(
        builder, op->getLoc(), *rule.factors[entry.factor].reduction, result,
        region.group, /*async=*/false);
    result.replaceAllUsesExcept(reduce.getResult(), reduce);
    changes.completions.push_back(reduce);
  }
  ++changes.numReductions;
}

Value RegionRewriter::getWhole(Value value) {
  auto local = localValues.find(value);
  if (local == localValues.end())
    return value;
  Value &known = gathers[value];
  if (known)
    return known;
  auto [wholeType, dim] = local->second;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(value);
  Location location = value.getLoc();
  Value shard = makeDense(value, location);
  // Without padding, users keep the type they know: the sizes of shards of a
  // symbolic size may not be spelled as its quotient.
  auto gather =
      region.isPadded
          ? tp::AllGatherOp::create(builder, location, shard, dim, region.group,
                                    /*async=*/false)
          : tp::AllGatherOp::create(builder, location, wholeType, shard, dim,
                                    region.group, /*async=*/false);
  ++changes.numGathers;
  // The gather and the copy use the shard.
  localOps.insert(gather);
  if (shard != value)
    localOps.insert(shard.getDefiningOp());
  Value gathered = gather;
  if (gathered.getType() != wholeType) {
    gathered =
        tp::SliceOp::create(builder, location, gathered, symbols, dim,
                            /*start=*/0, /*step=*/1, wholeType.getDimSize(dim));
    // Users expect a dense value.
    if (gathered.getType() != wholeType)
      gathered = tp::CopyOp::create(builder, location, wholeType, gathered,
                                    /*preserve_strides=*/false);
  }
  return gathers[value] = gathered;
}

void RegionRewriter::gatherForReaders(Value value) {
  SmallVector<OpOperand *> readers;
  for (OpOperand &use : value.getUses())
    if (!localOps.contains(use.getOwner()) &&
        !analysis::readsOnlyTypes(use.getOwner()))
      readers.push_back(&use);
  if (readers.empty())
    return;
  Value gathered = getWhole(value);
  for (OpOperand *use : readers)
    use->set(gathered);
}

RegionChanges RegionRewriter::run() {
  for (unsigned index = 0; index < region.ops.size(); ++index)
    if (isLocal(index) && (runsOnRows(region.ops[index]) ||
                           region.ops[index].role == RegionRole::Slice))
      localOps.insert(region.ops[index].op);
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    if (!isLocal(index))
      continue;
    switch (entry.role) {
    case RegionRole::Reduce:
      rewriteReduce(entry);
      break;
    case RegionRole::Gather:
      rewriteGather(entry);
      break;
    case RegionRole::Slice: {
      // The slice requests a shard.
      auto sliceOp = cast<tp::RankSliceOp>(entry.op);
      if (localValues.contains(sliceOp.getInput())) {
        // Unlike other users of the value, users of the slice use a shard.
        builder.setInsertionPoint(sliceOp);
        auto shard = tp::ReshapeOp::create(builder, sliceOp.getLoc(),
                                           sliceOp.getInput().getType(),
                                           sliceOp.getInput());
        placeholders.push_back(shard);
        sliceOp.getResult().replaceAllUsesWith(shard.getResult());
        localOps.erase(sliceOp);
        rewriter.eraseOp(sliceOp);
        localOps.insert(shard);
        break;
      }
      // Share one slice of a whole value among all its users.
      Value &known = slices[sliceOp.getInput()];
      if (!known) {
        known = sliceOp.getResult();
      } else {
        sliceOp.getResult().replaceAllUsesWith(known);
        localOps.erase(sliceOp);
        rewriter.eraseOp(sliceOp);
      }
      break;
    }
    case RegionRole::RowLocal:
      if (localOps.contains(entry.op))
        rewriteRowLocal(entry);
      break;
    case RegionRole::RowReduction:
      rewriteRowReduction(entry);
      break;
    }
  }
  for (const auto &[value, local] : localValues)
    gatherForReaders(value);
  for (tp::ReshapeOp placeholder : placeholders) {
    placeholder.getResult().replaceAllUsesWith(placeholder.getInput());
    rewriter.eraseOp(placeholder);
  }
  return changes;
}

RegionChanges commute::rewriteRegion(const analysis::ShardRegion &region,
                                     llvm::function_ref<bool(unsigned)> isLocal,
                                     bool isRankSpecific,
                                     RewriterBase &rewriter) {
  return RegionRewriter(region, isLocal, isRankSpecific, rewriter).run();
}
