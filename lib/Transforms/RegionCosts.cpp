//===- RegionCosts.cpp - what a region costs on shards and whole *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionCosts.h"

#include "commute/Analysis/Products/PipelineFusion.h"
#include "commute/Dialect/GroupSpelling.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using analysis::RegionOp;
using analysis::RegionRole;
using tp::getTensor;

std::optional<SliceMethod> commute::findSliceMethod(Value value, unsigned dim,
                                                    tp::GroupAttr group,
                                                    bool isRankSpecific) {
  // The offset of a block of symbolic size cannot be represented.
  if (isRankSpecific && !getTensor(value).isDynamicDim(dim))
    return SliceMethod::RankSlice;
  // The method is a reduce_scatter(max) of equal values.
  if (tp::getGroupSpelling(group, value.getParentRegion()->getParentOp())
          .onlySums)
    return std::nullopt;
  return SliceMethod::ReduceScatter;
}

/// Whether a collective that moves blocks can use a value without a dense
/// copy.
static bool isDense(Value value) {
  tp::SymbolSpace symbols(value.getContext());
  return tp::getDensity(symbols.getShape(getTensor(value))) ==
         tp::Density::Dense;
}

/// The operand of the all_reduce of a source.
static Value getReducedValue(const RegionOp &entry) {
  return entry.chain.front()->getOperand(0);
}

//===----------------------------------------------------------------------===//
// Classes
//===----------------------------------------------------------------------===//

namespace {

/// The properties of an op of a region that determine its price: everything
/// but the definitions of its operands and the users of its results.
struct OpKey {
  Operation *op;
  RegionRole role;
  /// The sharded factor, or the dim of the result.
  unsigned cut;
  /// For a source: the operand needs a dense copy.
  bool isCopied = false;
  /// See `PriceModel::getKernelKey`.
  unsigned kernel = 0;
  /// Types of the products that can be fused with a collective.
  Type products = nullptr;
};

struct OpKeyInfo {
  static OpKey getEmptyKey() {
    return {DenseMapInfo<Operation *>::getEmptyKey(), RegionRole::RowLocal, 0};
  }
  static OpKey getTombstoneKey() {
    return {DenseMapInfo<Operation *>::getTombstoneKey(), RegionRole::RowLocal,
            0};
  }
  static OperationEquivalence::Flags getFlags() {
    return OperationEquivalence::IgnoreLocations |
           OperationEquivalence::IgnoreDiscardableAttrs;
  }
  static unsigned getHashValue(const OpKey &key) {
    llvm::hash_code op = OperationEquivalence::computeHash(
        key.op, [](Value value) { return hash_value(value.getType()); },
        OperationEquivalence::ignoreHashValue, getFlags());
    return llvm::hash_combine(op, key.role, key.cut, key.isCopied, key.kernel,
                              key.products);
  }
  static bool isEqual(const OpKey &a, const OpKey &b) {
    if (a.role != b.role || a.cut != b.cut || a.isCopied != b.isCopied ||
        a.kernel != b.kernel || a.products != b.products)
      return false;
    if (a.op == b.op)
      return true;
    for (const OpKey *key : {&a, &b})
      if (key->op == getEmptyKey().op || key->op == getTombstoneKey().op)
        return false;
    auto haveOneType = [](Value x, Value y) {
      return success(x.getType() == y.getType());
    };
    return OperationEquivalence::isEquivalentTo(
        a.op, b.op, haveOneType, /*markEquivalent=*/nullptr, getFlags());
  }
};

} // namespace

/// Products with equal types have equal prices; null for no products.
static Type getProductTypes(ArrayRef<tp::MatmulOp> products) {
  if (products.empty())
    return nullptr;
  SmallVector<Type> operands, results;
  for (tp::MatmulOp product : products) {
    llvm::append_range(operands, product->getOperandTypes());
    results.push_back(product.getType());
  }
  return FunctionType::get(results.front().getContext(), operands, results);
}

RegionCosts::RegionCosts(const analysis::ShardRegion &region,
                         const target::PriceModel &price, bool isRankSpecific,
                         bool isPipelined)
    : region(region), price(price), isRankSpecific(isRankSpecific),
      isPipelined(isPipelined && !region.isPadded &&
                  !tp::getGroupSpelling(region.group, region.ops.front().op)
                       .processGroup.empty()) {
  for (const RegionOp &entry : region.ops)
    regionOps.insert(entry.op);
  DenseMap<OpKey, unsigned, OpKeyInfo> opClasses;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    unsigned cut = runsOnRows(entry) ? entry.factor
                   : entry.role == RegionRole::Slice
                       ? 0
                       : region.dims.lookup(entry.op->getResult(0));
    bool isCopied =
        entry.role == RegionRole::Reduce && !isDense(getReducedValue(entry));
    Products products = findProducts(entry);
    auto [known, isNew] = opClasses.try_emplace(
        {entry.op, entry.role, cut, isCopied, price.getKernelKey(entry.op),
         getProductTypes(products)},
        ops.size());
    if (isNew) {
      ops.push_back(index);
      productsOfOps.push_back(std::move(products));
    }
    classOfOp.push_back(known->second);
  }
  DenseMap<std::tuple<Type, unsigned, Type>, unsigned> valueClasses;
  for (auto [value, dim] : region.dims) {
    Products products = findProducts(value);
    auto [known, isNew] = valueClasses.try_emplace(
        {value.getType(), dim, getProductTypes(products)}, values.size());
    if (isNew) {
      values.push_back(value);
      productsOfValues.push_back(std::move(products));
    }
    classOfValue[value] = known->second;
  }
}

RegionCosts::Products RegionCosts::findProducts(const RegionOp &entry) const {
  if (entry.role == RegionRole::Gather)
    return findProducts(entry.op->getResult(0));
  if (!isPipelined || entry.role != RegionRole::Reduce ||
      entry.chain.size() > 1)
    return {};
  return analysis::findScatterableProducts(getReducedValue(entry));
}

RegionCosts::Products RegionCosts::findProducts(Value value) const {
  if (!isPipelined)
    return {};
  Products products =
      analysis::findGatherableProducts(value, region.dims.lookup(value));
  // Products that may run on shards do not use the gathered value then.
  if (llvm::any_of(products, [&](tp::MatmulOp product) {
        return regionOps.contains(product);
      }))
    products.clear();
  return products;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

std::optional<double>
RegionCosts::getCollectiveSeconds(tp::CommunicationKind kind, Value value,
                                  double scale) const {
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes)
    return std::nullopt;
  // Blocks are contiguous only along the outermost dim.
  ArrayRef<int64_t> outer =
      getTensor(value).getShape().take_front(region.dims.lookup(value));
  bool rearranges = kind != tp::CommunicationKind::AllReduce &&
                    llvm::any_of(outer, [](int64_t size) { return size != 1; });
  double whole = *bytes * scale;
  double moved = kind == tp::CommunicationKind::AllReduce
                     ? whole
                     : whole * getPaddedShare();
  double seconds = price.getCommunicationSeconds(
      kind, region.group, static_cast<int64_t>(moved), rearranges);
  // Removing the padding takes a copy.
  if (region.isPadded && kind == tp::CommunicationKind::AllGather)
    seconds += price.getCopySeconds(whole);
  if (kind == tp::CommunicationKind::ReduceScatter)
    seconds += getPadSeconds(whole);
  return seconds;
}

double RegionCosts::getPaddedShare() const {
  if (!region.isPadded)
    return 1;
  return double(llvm::alignTo(region.rows, region.group.getSize())) /
         region.rows;
}

double RegionCosts::getPadSeconds(double bytes) const {
  if (!region.isPadded)
    return 0;
  // Two kernels: one writes the padding rows, one copies everything.
  double padded = bytes * getPaddedShare();
  return price.getCopySeconds(padded) + price.getCopySeconds(padded - bytes);
}

std::optional<double> RegionCosts::getScatterSeconds(Value value, bool isDense,
                                                     double scale) const {
  std::optional<double> seconds =
      getCollectiveSeconds(tp::CommunicationKind::ReduceScatter, value, scale);
  if (seconds && !isDense)
    *seconds += price.getCopySeconds(*price.getBytes(value.getType()) * scale);
  return seconds;
}

std::optional<double> RegionCosts::getCutSeconds(Value value,
                                                 double scale) const {
  // A slice is a view and costs nothing.
  if (!region.isPadded)
    return 0;
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (!bytes)
    return std::nullopt;
  return getPadSeconds(*bytes * scale);
}

std::optional<double>
RegionCosts::getExposedSeconds(const tp::Communication &communication,
                               ArrayRef<tp::MatmulOp> products,
                               double scale) const {
  double count = region.group.getSize();
  auto symbols = [&](StringRef name) { return price.getSize(name); };
  double apart = 0;
  tp::Work chunk;
  Type elementType;
  for (tp::MatmulOp matmul : products) {
    auto ruled = cast<tp::DimensionRuleOpInterface>(matmul.getOperation());
    tp::DimensionRule rule = ruled.getDimensionRule();
    auto type = cast<RankedTensorType>(matmul.getResult().getType());
    elementType = type.getElementType();
    // Only the rows are sharded; batches are not.
    std::optional<unsigned> rows =
        tp::DimensionRule::getMajorFactor(rule.results[0], type.getRank() - 2);
    if (!rows)
      return std::nullopt;
    std::optional<double> seconds =
        price.getShardSeconds(matmul, rule, *rows, 1 / scale);
    std::optional<tp::Work> part =
        tp::getShardedWork(matmul, rule, *rows, count / scale, symbols);
    if (!seconds || !part)
      return std::nullopt;
    apart += *seconds;
    chunk.matmulFlops += part->matmulFlops;
    chunk.elementwiseFlops += part->elementwiseFlops;
    chunk.bytesRead += part->bytesRead;
    chunk.bytesWritten += part->bytesWritten;
  }
  double fused =
      price.getPipelinePrice(communication, region.group, chunk, elementType)
          .getSeconds();
  return std::max(fused - apart, 0.0);
}

std::optional<double> RegionCosts::getSecondsBeside(
    ArrayRef<tp::MatmulOp> products, std::optional<double> seconds,
    tp::CommunicationKind kind, Value value, double scale) const {
  std::optional<int64_t> bytes = price.getBytes(value.getType());
  if (products.empty() || !seconds || !bytes)
    return seconds;
  tp::Communication communication;
  communication.kind = kind;
  communication.bytes = static_cast<int64_t>(*bytes * scale);
  std::optional<double> exposed =
      getExposedSeconds(communication, products, scale);
  if (!exposed)
    return seconds;
  // A gather along an inner dim returns the rows of products in another order.
  ArrayRef<int64_t> outer =
      getTensor(value).getShape().take_front(region.dims.lookup(value));
  if (kind == tp::CommunicationKind::AllGather &&
      llvm::any_of(outer, [](int64_t size) { return size != 1; }))
    for (tp::MatmulOp product : products)
      *exposed += price.getCopySeconds(
          price.getBytes(product.getType()).value_or(0) * scale);
  return std::min(*seconds, *exposed);
}

std::optional<double> RegionCosts::getSeconds(unsigned opClass, bool isLocal,
                                              double scale) const {
  const RegionOp &entry = region.ops[ops[opClass]];
  const Products &products = productsOfOps[opClass];
  double parts = isLocal ? region.group.getSize() / getPaddedShare() : 1;
  switch (entry.role) {
  case RegionRole::RowLocal:
  case RegionRole::RowReduction: {
    std::optional<double> seconds = price.getShardSeconds(
        entry.op,
        cast<tp::DimensionRuleOpInterface>(entry.op).getDimensionRule(),
        entry.factor, parts / scale);
    if (entry.role == RegionRole::RowLocal || !isLocal)
      return seconds;
    // The size of the results does not depend on the number of rows.
    for (Value result : entry.op->getResults()) {
      std::optional<int64_t> bytes = price.getBytes(result.getType());
      if (!seconds || !bytes)
        return std::nullopt;
      *seconds += price.getCommunicationSeconds(
          tp::CommunicationKind::AllReduce, region.group, *bytes,
          /*rearranges=*/false);
    }
    return seconds;
  }
  case RegionRole::Reduce: {
    Value result = entry.op->getResult(0);
    if (!isLocal)
      return getCollectiveSeconds(tp::CommunicationKind::AllReduce, result,
                                  scale);
    return getSecondsBeside(
        products,
        getScatterSeconds(result, isDense(getReducedValue(entry)), scale),
        tp::CommunicationKind::ReduceScatter, result, scale);
  }
  case RegionRole::Gather:
    if (isLocal)
      return 0;
    return getSecondsBeside(
        products,
        getCollectiveSeconds(tp::CommunicationKind::AllGather,
                             entry.op->getResult(0), scale),
        tp::CommunicationKind::AllGather, entry.op->getResult(0), scale);
  case RegionRole::Slice:
    // The shard exists already, or the program slices the value anyway.
    return 0;
  }
  llvm_unreachable("all roles are listed");
}

RegionCosts::Table RegionCosts::getTable(double scale) const {
  Table table;
  table.unitsPerSecond /= std::max(scale, 1.0);
  auto take = [&](std::optional<double> seconds) -> Cost {
    table.isComplete &= seconds.has_value();
    return table.unitsPerSecond * seconds.value_or(0);
  };
  for (auto [opClass, index] : llvm::enumerate(ops)) {
    const RegionOp &entry = region.ops[index];
    Cost local = take(getSeconds(opClass, /*isLocal=*/true, scale));
    Cost whole = take(getSeconds(opClass, /*isLocal=*/false, scale));
    // A cost above zero breaks ties against needless slices and gathers.
    table.ops.push_back(
        {local, whole + (entry.role == RegionRole::Slice ? 1 : 0)});
  }
  for (auto [value, products] : llvm::zip_equal(values, productsOfValues)) {
    ValueCosts costs = {MinimumCut::forbidden, MinimumCut::forbidden};
    // A gathered value is dense; users of another layout would see a change.
    if (isDense(value))
      costs.gather = take(getSecondsBeside(
          products,
          getCollectiveSeconds(tp::CommunicationKind::AllGather, value, scale),
          tp::CommunicationKind::AllGather, value, scale));
    std::optional<SliceMethod> method = findSliceMethod(
        value, region.dims.lookup(value), region.group, isRankSpecific);
    if (method == SliceMethod::ReduceScatter)
      costs.slice = take(getScatterSeconds(value, isDense(value), scale));
    else if (method == SliceMethod::RankSlice)
      costs.slice = 1 + take(getCutSeconds(value, scale));
    table.values.push_back(costs);
  }
  return table;
}
