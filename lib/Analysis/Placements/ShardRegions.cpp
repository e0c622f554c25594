//===- ShardRegions.cpp - where values may live as shards -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Placements/ShardRegions.h"

#include "Placements/PlacementTransfer.h"
#include "Placements/RowRules.h"

#include "commute/Analysis/OtherRanks.h"
#include "commute/Dialect/GroupSpelling.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

bool analysis::readsOnlyTypes(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  return call && call.getReadsTypes();
}

static RankedTensorType getTensor(Value value) {
  return dyn_cast<RankedTensorType>(value.getType());
}

/// Whether an op only rearranges the elements of its operand, without adding,
/// dropping or changing any.
static bool isRearrangement(Operation *op) {
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

namespace {

/// Grows one region from one dim of one value.
class RegionGrowth {
public:
  /// Inputs in `assumed` are taken to be replicated on the group.
  RegionGrowth(tp::GroupAttr group, const PlacementAnalysis &placements,
               const SymbolicSizes &sizes, ArrayRef<BlockArgument> assumed = {})
      : placements(placements), sizes(sizes), assumed(assumed) {
    region.group = group;
  }

  ShardRegion grow(Value value, unsigned dim, bool isPadded,
                   bool allowsReductions);

private:
  /// Adds a value that is to be cut along `dim`.
  void addValue(Value value, unsigned dim);
  /// Adds an op that has a value of the region as operand or result.
  void addOp(Operation *op, Value value, unsigned dim);
  Legal<RegionOp> findRole(Operation *op, Value value, unsigned dim);
  Legal<RegionOp> findRowLocal(Operation *op, Value value, unsigned dim);
  Refusal refuseVarying(Operation *op, unsigned operand);
  Refusal refuseIndivisible(Operation *op, int64_t rows) const;
  /// The all_reduce of the group that `value` rearranges the result of.
  std::optional<RegionOp> findReduceBehind(Value value);
  bool isDivisible(Operation *op, const DimensionRule &rule, unsigned factor);
  bool isReplicated(Value value) const;
  /// Whether the program can have an all_reduce over the group.
  bool isExpressible(Operation *op, tp::ReductionKind kind) const {
    return kind == tp::ReductionKind::Sum ||
           !tp::getGroupSpelling(region.group, op).onlySums;
  }
  bool isOwn(tp::GroupAttr other) const {
    return other.hasSameMembers(region.group);
  }
  bool areIndependent(tp::GroupAttr other) const {
    return placements.getRelations().areIndependent(region.group, other);
  }

  const PlacementAnalysis &placements;
  const SymbolicSizes &sizes;
  ArrayRef<BlockArgument> assumed;
  ShardRegion region;
  DenseMap<Operation *, unsigned> indexOfOp;
  /// Ops that the region reaches along two dims that contradict each other.
  llvm::SmallPtrSet<Operation *, 4> torn;
  llvm::SmallPtrSet<Operation *, 4> refusedDefinitions;
  SmallVector<std::pair<Value, unsigned>> worklist;
};

} // namespace

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

/// Where a region may begin: the result of an all_reduce, each rearrangement of
/// it, and the gathered dim of an all_gather.
static SmallVector<std::pair<Value, unsigned>> getSeeds(Operation *op,
                                                        tp::GroupAttr group) {
  SmallVector<std::pair<Value, unsigned>> seeds;
  if (auto gather = dyn_cast<tp::AllGatherOp>(op)) {
    if (gather.getGroup().hasSameMembers(group))
      seeds.emplace_back(gather.getResult(), gather.getGatherAxis());
    return seeds;
  }
  auto reduce = dyn_cast<tp::AllReduceOp>(op);
  if (!reduce || !reduce.getGroup().hasSameMembers(group))
    return seeds;
  Value value = reduce.getResult();
  while (true) {
    for (unsigned dim = 0; dim < getTensor(value).getRank(); ++dim)
      seeds.emplace_back(value, dim);
    if (!value.hasOneUse() || !isRearrangement(*value.user_begin()))
      return seeds;
    value = (*value.user_begin())->getResult(0);
  }
}

/// "dims 0 (size 7) and 1 (size 15)".
static std::string describeDims(ArrayRef<std::string> dims) {
  std::string text = dims.size() > 1 ? "dims " : "dim ";
  for (auto [index, dim] : llvm::enumerate(dims))
    text += (index == 0 ? "" : index + 1 == dims.size() ? " and " : ", ") + dim;
  return text + (dims.size() > 1 ? " are " : " is ");
}

/// Describes the dims of an all_reduce's result that are not divisible by the
/// group's size, and what would change that; not applicable if all are
/// divisible.
static Refusal describeIndivisible(Operation *op, tp::GroupAttr group,
                                   const SymbolicSizes &sizes,
                                   bool allowsPadding) {
  RankedTensorType type = getTensor(op->getResult(0));
  if (type.getRank() == 0)
    return {op, RefusalCode::Indivisible, "its result is a scalar"};
  std::string ranks = std::to_string(group.getSize());
  SmallVector<std::string> refuted, unknown;
  std::string assumption;
  bool wouldPad = false;
  tp::SymbolSpace space(type.getContext());
  tp::Sizes dims = space.getSizes(type);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (sizes.isDivisible(type, dim, group.getSize()).holds())
      continue;
    std::string size;
    llvm::raw_string_ostream os(size);
    tp::printSize(os, dims[dim], space.getNames());
    std::string text = std::to_string(dim) + " (size " + size + ")";
    if (!type.isDynamicDim(dim)) {
      refuted.push_back(text);
      wouldPad |= type.getDimSize(dim) > group.getSize();
      continue;
    }
    unknown.push_back(text);
    std::string condition = size + " % " + ranks + " == 0";
    llvm::Expected<tp::SizeAssumption> parsed =
        tp::parseSizeAssumption(condition);
    if (!parsed)
      llvm::consumeError(parsed.takeError());
    else if (assumption.empty())
      assumption = condition;
  }
  std::string text;
  if (!refuted.empty())
    text = describeDims(refuted) + "not divisible by " + ranks + " ranks";
  if (!unknown.empty())
    text += (text.empty() ? "" : ", and ") + describeDims(unknown) +
            "not known to be divisible by " + ranks + " ranks";
  if (text.empty())
    return {};
  Refusal refusal{op, RefusalCode::Indivisible, text};
  if (!assumption.empty()) {
    refusal.remedy = "--assume '" + assumption + "' would allow it";
    refusal.option = {"assume", assumption};
  } else if (wouldPad && !allowsPadding) {
    refusal.remedy = "sequence-parallel{pad=true} would pad it";
    refusal.option = {"passes", "sequence-parallel{pad=true}"};
  }
  return refusal;
}

ShardRegions analysis::findShardRegions(func::FuncOp function,
                                        tp::GroupAttr group,
                                        const PlacementAnalysis &placements,
                                        const SymbolicSizes &sizes,
                                        RegionLimits limits) {
  bool allowsPadding = limits.allowsPadding;
  ShardRegions result;
  if (group.getSize() == 1) {
    function.walk([&](tp::AllReduceOp reduce) {
      if (reduce.getGroup().hasSameMembers(group))
        result.unused.push_back(
            {reduce, RefusalCode::SingleRank, "its group has one member"});
    });
    return result;
  }
  tp::GroupSpelling spelling = tp::getGroupSpelling(group, function);
  if (!spelling.hasReduceScatter) {
    std::string reason = spelling.vocabulary.str() +
                         " has no reduce_scatter, and PyTorch's name of group "
                         "'" +
                         group.getName().str() + "' is not stated";
    function.walk([&](tp::AllReduceOp reduce) {
      if (reduce.getGroup().hasSameMembers(group))
        result.unused.push_back({reduce, RefusalCode::UnnamedGroup, reason});
    });
    return result;
  }
  llvm::DenseSet<std::pair<Value, unsigned>> seen;
  for (Operation &op : function.getBody().front()) {
    SmallVector<std::pair<Value, unsigned>> seeds = getSeeds(&op, group);
    if (seeds.empty())
      continue;
    bool hasRegion = false;
    for (auto [value, dim] : seeds) {
      bool isDivisible =
          sizes.isDivisible(getTensor(value), dim, group.getSize()).holds();
      int64_t rows = getTensor(value).getDimSize(dim);
      bool isPadded = !isDivisible && allowsPadding &&
                      !ShapedType::isDynamic(rows) && rows > group.getSize();
      if (!isDivisible && !isPadded)
        continue;
      hasRegion = true;
      if (seen.contains({value, dim}))
        continue;
      ShardRegion region =
          RegionGrowth(group, placements, sizes)
              .grow(value, dim, isPadded, limits.allowsReductions);
      for (const auto &entry : region.dims)
        seen.insert(entry);
      result.regions.push_back(std::move(region));
    }
    if (!isa<tp::AllReduceOp>(op))
      continue;
    Refusal indivisible = describeIndivisible(&op, group, sizes, allowsPadding);
    if (!hasRegion)
      result.unused.push_back(std::move(indivisible));
    else if (indivisible.isApplicable())
      result.indivisible[&op] = std::move(indivisible);
  }
  return result;
}

ShardRegion analysis::growIfReplicated(const ShardRegion &region,
                                       ArrayRef<BlockArgument> inputs,
                                       const PlacementAnalysis &placements,
                                       const SymbolicSizes &sizes) {
  Value seed;
  for (const RegionOp &entry : region.ops)
    for (Value result : entry.op->getResults())
      if (!seed && region.dims.contains(result))
        seed = result;
  if (!seed)
    return region;
  return RegionGrowth(region.group, placements, sizes, inputs)
      .grow(seed, region.dims.lookup(seed), region.isPadded,
            region.allowsReductions);
}
