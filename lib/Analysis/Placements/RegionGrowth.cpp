//===- RegionGrowth.cpp - one region from one dim of a value ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Placements/RegionGrowth.h"

#include "Placements/RowRules.h"

#include "commute/Analysis/OtherRanks.h"
#include "commute/Dialect/GroupSpelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

static RankedTensorType getTensor(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

bool analysis::isRearrangement(Operation *op) {
  auto strided = dyn_cast<tp::StrideOpInterface>(op);
  if (!strided || !strided.mayShareMemory() || op->getNumOperands() != 1 ||
      op->getNumResults() != 1)
    return false;
  RankedTensorType from = getTensor(op->getOperand(0));
  RankedTensorType to = getTensor(op->getResult(0));
  if (!from || !to || from.getElementType() != to.getElementType())
    return false;
  // Slices and broadcasts change the number of elements.
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled)
    return false;
  DimensionRule rule = ruled.getDimensionRule();
  auto collect = [](const DimensionRule::TensorFactors &tensor) {
    SmallVector<unsigned> factors;
    for (const DimensionRule::DimFactors &dim : tensor)
      llvm::append_range(factors, dim);
    llvm::sort(factors);
    return factors;
  };
  return llvm::none_of(rule.factors,
                       [](const tp::Factor &f) { return f.isFixed; }) &&
         collect(rule.operands[0]) == collect(rule.results[0]);
}

bool RegionGrowth::isExpressible(Operation *op, tp::ReductionKind kind) const {
  return kind == tp::ReductionKind::Sum ||
         !tp::getGroupSpelling(region.group, op).onlySums;
}

bool RegionGrowth::isReplicated(Value value) const {
  if (placements.getPlacement(value, region.group).getKind() ==
      tp::PlacementKind::Replicated)
    return true;
  if (assumed.empty())
    return false;
  SmallVector<BlockArgument> lacking =
      findUnstatedInputs(value, region.group, placements);
  return !lacking.empty() && llvm::all_of(lacking, [&](BlockArgument input) {
    return llvm::is_contained(assumed, input);
  });
}

void RegionGrowth::addValue(Value value, unsigned dim) {
  auto [known, isNew] = region.dims.try_emplace(value, dim);
  if (isNew) {
    worklist.emplace_back(value, dim);
    return;
  }
  if (known->second == dim)
    return;
  // The value cannot be sharded along both dims, so its definition and all its
  // users need the whole value.
  if (Operation *definition = value.getDefiningOp())
    torn.insert(definition);
  for (Operation *user : value.getUsers())
    torn.insert(user);
}

bool RegionGrowth::isDivisible(Operation *op, const DimensionRule &rule,
                               unsigned factor) {
  int64_t count = region.group.getSize();
  int64_t extent = rule.factors[factor].size;
  if (region.isPadded) {
    // Rows can be padded at the end only if the dim is not merged with others.
    auto isAlone = [&](const DimensionRule::TensorFactors &tensor) {
      std::optional<unsigned> dim = findRowDim(tensor, factor);
      return !dim || tensor[*dim].size() == 1;
    };
    return extent == region.rows && llvm::all_of(rule.operands, isAlone) &&
           llvm::all_of(rule.results, isAlone);
  }
  if (!ShapedType::isDynamic(extent))
    return extent % count == 0;
  // A symbolic factor has the size of a dim that consists of this factor alone.
  auto check = [&](Value value, const DimensionRule::TensorFactors &tensor) {
    for (unsigned dim = 0; dim < tensor.size(); ++dim) {
      if (tensor[dim].size() != 1 || tensor[dim].front() != factor)
        continue;
      Divisibility answer = sizes.isDivisible(getTensor(value), dim, count);
      for (const std::string &assumption : answer.assumptions)
        if (!llvm::is_contained(region.assumptions, assumption))
          region.assumptions.push_back(assumption);
      return answer.holds();
    }
    return false;
  };
  for (auto [value, tensor] : llvm::zip_equal(op->getOperands(), rule.operands))
    if (getTensor(value) && check(value, tensor))
      return true;
  for (auto [value, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    if (check(value, tensor))
      return true;
  return false;
}

Refusal RegionGrowth::refuseVarying(Operation *op, unsigned operand) {
  Refusal refusal{op, RefusalCode::Varying,
                  "uses operand " + std::to_string(operand) +
                      ", which is not known to be replicated",
                  "if it is, declare that with --input-placement"};
  std::optional<MissingStatement> missing =
      findMissingStatement(op->getOpOperand(operand), region.group, placements);
  if (!missing)
    return refusal;
  // The weights of products are shards more often than not.
  if (!missing->isOfProduct) {
    refusal.remedy = missing->remedy;
    refusal.option = missing->option;
  }
  region.unstated[op] = std::move(*missing);
  return refusal;
}

Refusal RegionGrowth::refuseIndivisible(Operation *op, int64_t rows) const {
  std::string ranks = std::to_string(region.group.getSize()) + " ranks";
  if (ShapedType::isDynamic(rows))
    return {op, RefusalCode::Indivisible,
            "has a number of rows that is not known to be divisible by " +
                ranks};
  return {op, RefusalCode::Indivisible,
          "has " + std::to_string(rows) + " rows, which are not divisible by " +
              ranks};
}

Legal<RegionOp> RegionGrowth::findRowLocal(Operation *op, Value value,
                                           unsigned dim) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || !isMemoryEffectFree(op))
    return refuseRows(op, RefusalCode::Opaque);
  // Ranks that do not run the op would not take part in gathering its rows.
  if (op->hasAttr(tp::TPDialect::variantAttrName))
    return refuseRows(op, RefusalCode::OfRank);
  if (!placements.knowsOtherRanks() && !isa<tp::CompletionOpInterface>(op))
    return refuseForUnknownRanks(op, "runs on shards only if all ranks run it");
  DimensionRule rule = ruled.getDimensionRule();
  const DimensionRule::TensorFactors *tensor = nullptr;
  if (value.getDefiningOp() == op)
    tensor = &rule.results[cast<OpResult>(value).getResultNumber()];
  else
    tensor = &rule.operands[llvm::find(op->getOperands(), value).getIndex()];
  Legal<unsigned> factor = findRowFactor(op, rule, *tensor, dim);
  bool isReduction = false;
  // Rows that pad others would take part in a reduction.
  if (!factor && value.getDefiningOp() != op && !region.isPadded &&
      region.allowsReductions)
    if (std::optional<unsigned> reduced =
            findReducedFactor(op, rule, *tensor, dim);
        reduced && isExpressible(op, *rule.factors[*reduced].reduction)) {
      factor = *reduced;
      isReduction = true;
    }
  if (!factor)
    return std::move(factor.getRefusal());
  if (!hasRowsEverywhere(op, rule, value, dim, *factor))
    return refuseRows(op, RefusalCode::WholeRows);
  for (auto [index, operand] : llvm::enumerate(op->getOperands()))
    if (getTensor(operand) && !isReplicated(operand))
      return refuseVarying(op, index);
  if (!isDivisible(op, rule, *factor))
    return region.isPadded ? refuseRows(op, RefusalCode::Unpaddable)
                           : refuseIndivisible(op, rule.factors[*factor].size);
  // addValue rejects an operand that would be sharded along two dims.
  for (auto [operand, factors] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    if (std::optional<unsigned> own = findRowDim(factors, *factor))
      addValue(operand, *own);
  if (isReduction)
    return RegionOp{op, RegionRole::RowReduction, *factor, {}};
  for (auto [result, factors] : llvm::zip_equal(op->getResults(), rule.results))
    addValue(result, *findRowDim(factors, *factor));
  return RegionOp{op, RegionRole::RowLocal, *factor, {}};
}

std::optional<RegionOp> RegionGrowth::findReduceBehind(Value value) {
  SmallVector<Operation *, 2> chain;
  for (Operation *op = value.getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    chain.push_back(op);
    if (auto reduce = dyn_cast<tp::AllReduceOp>(op)) {
      if (!isOwn(reduce.getGroup()) || region.isPadded)
        return std::nullopt;
      RankedTensorType type = getTensor(value);
      if (!sizes
               .isDivisible(type, region.dims.lookup(value),
                            region.group.getSize())
               .holds())
        return std::nullopt;
      std::reverse(chain.begin(), chain.end());
      return RegionOp{value.getDefiningOp(), RegionRole::Reduce, 0, chain};
    }
    if (!isRearrangement(op) || !op->getOperand(0).hasOneUse())
      return std::nullopt;
  }
  return std::nullopt;
}

Legal<RegionOp> RegionGrowth::findRole(Operation *op, Value value,
                                       unsigned dim) {
  bool isDefinition = value.getDefiningOp() == op;
  if (op->hasTrait<OpTrait::IsTerminator>())
    return refuseRows(op, RefusalCode::Output);
  if (auto reduce = dyn_cast<tp::AllReduceOp>(op);
      reduce && isOwn(reduce.getGroup())) {
    if (!isDefinition)
      return refuseRows(op, RefusalCode::Collective);
    return RegionOp{op, RegionRole::Reduce, 0, {op}};
  }
  if (auto gather = dyn_cast<tp::AllGatherOp>(op);
      gather && isOwn(gather.getGroup())) {
    if (!isDefinition || gather.getGatherAxis() != dim)
      return refuseRows(op, RefusalCode::Collective);
    return RegionOp{op, RegionRole::Gather, 0, {}};
  }
  if (auto slice = dyn_cast<tp::RankSliceOp>(op);
      slice && isOwn(slice.getGroup())) {
    if (isDefinition || slice.getSliceAxis() != dim || region.isPadded)
      return refuseRows(op, RefusalCode::Collective);
    return RegionOp{op, RegionRole::Slice, 0, {}};
  }
  // A collective over another group may run on shards where its ranks hold the
  // same block of this one.
  if (auto grouped = dyn_cast<tp::GroupOpInterface>(op))
    if (isOwn(grouped.getRankGroup()) ||
        !areIndependent(grouped.getRankGroup()))
      return refuseRows(op, isa<tp::RankSelectOp>(op)
                                ? RefusalCode::OfRank
                                : RefusalCode::Collective);
  return findRowLocal(op, value, dim);
}

void RegionGrowth::addOp(Operation *op, Value value, unsigned dim) {
  auto known = indexOfOp.find(op);
  if (known != indexOfOp.end()) {
    // The op was reached before through another value: its rows must be the
    // same.
    const RegionOp &entry = region.ops[known->second];
    if (!runsOnRows(entry))
      return;
    DimensionRule rule =
        cast<tp::DimensionRuleOpInterface>(op).getDimensionRule();
    if (!hasRowsEverywhere(op, rule, value, dim, entry.factor))
      torn.insert(op);
    return;
  }
  bool isDefinition = value.getDefiningOp() == op;
  if (isDefinition ? refusedDefinitions.contains(op)
                   : region.borders.count(op) > 0)
    return;
  Legal<RegionOp> entry = findRole(op, value, dim);
  if (!entry && isDefinition)
    if (std::optional<RegionOp> reduce = findReduceBehind(value))
      entry = std::move(*reduce);
  if (entry) {
    indexOfOp[op] = region.ops.size();
    region.ops.push_back(std::move(*entry));
  } else if (isDefinition) {
    refusedDefinitions.insert(op);
  } else {
    region.borders.insert({op, std::move(entry.getRefusal())});
  }
}

/// Ops that run on shards together or not at all.
static void tieOps(ShardRegion &region) {
  DenseMap<Operation *, unsigned> indexOf;
  for (auto [index, entry] : llvm::enumerate(region.ops))
    indexOf[entry.op] = index;
  // By layer and place among the marks of a border: the first one met.
  DenseMap<std::pair<int64_t, unsigned>, unsigned> marks;
  DenseMap<std::pair<int64_t, unsigned>, unsigned> numMarks;
  for (auto [index, entry] : llvm::enumerate(region.ops)) {
    if (auto completion = dyn_cast<tp::CompletionOpInterface>(entry.op))
      if (auto begun = indexOf.find(completion.getBegun().getDefiningOp());
          begun != indexOf.end())
        region.ties.emplace_back(index, begun->second);
    if (auto mark = dyn_cast<tp::RepetitionOpInterface>(entry.op)) {
      unsigned place = numMarks[{mark.getLayer(), mark.getBorder()}]++;
      auto [known, isNew] = marks.try_emplace({mark.getLayer(), place}, index);
      if (!isNew)
        region.ties.emplace_back(index, known->second);
    }
  }
}

ShardRegion RegionGrowth::grow(Value value, unsigned dim, bool isPadded,
                               bool allowsReductions) {
  region.isPadded = isPadded;
  region.allowsReductions = allowsReductions;
  region.rows = getTensor(value).getDimSize(dim);
  addValue(value, dim);
  while (!worklist.empty()) {
    auto [next, nextDim] = worklist.pop_back_val();
    if (Operation *definition = next.getDefiningOp())
      addOp(definition, next, nextDim);
    // The first dim that reaches a value wins. MLIR does not define the order
    // of users; sort them, so that copies of a program get the same regions.
    SmallVector<Operation *> users(next.getUsers());
    llvm::sort(users, [](Operation *a, Operation *b) {
      return a != b && a->isBeforeInBlock(b);
    });
    for (Operation *user : users)
      if (!readsOnlyTypes(user))
        addOp(user, next, nextDim);
  }
  for (Operation *op : torn)
    region.borders.insert({op, refuseRows(op, RefusalCode::TwoDims)});
  // An op that is row-local for one value but needs all rows of another cannot
  // run on shards.
  llvm::erase_if(region.ops, [&](const RegionOp &entry) {
    return torn.contains(entry.op) ||
           (runsOnRows(entry) && region.borders.count(entry.op) > 0);
  });
  llvm::sort(region.ops, [](const RegionOp &a, const RegionOp &b) {
    return a.op->isBeforeInBlock(b.op);
  });
  tieOps(region);
  return std::move(region);
}
