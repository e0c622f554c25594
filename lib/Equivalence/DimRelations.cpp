//===- DimRelations.cpp - dims that belong together -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Collects the facts about two programs that DimSamples needs to choose
// indices.
//
//===----------------------------------------------------------------------===//

#include "DimSamples.h"

#include "Mixtures.h"
#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

using Id = DimClasses::Id;

SmallVector<Id> &DimSamples::getDims(Value value) {
  auto [it, isNew] = dims.insert({value, {}});
  if (isNew)
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t size : type.getShape())
        it->second.push_back(classes.add(size));
  return it->second;
}

void DimSamples::fix(Id id, SampleReason reason) {
  fixed.insert({id, reason});
  classes.fix(id);
}

void DimSamples::collectReshape(tp::ReshapeOp op) {
  SmallVector<Id> before = getDims(op.getInput());
  SmallVector<Id> after = getDims(op.getResult());
  auto fixAll = [&](ArrayRef<Id> ids) {
    for (Id id : ids)
      fix(id, SampleReason::Misaligned);
  };
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    SmallVector<Id> lhs, rhs;
    int64_t a = 1, b = 1;
    auto take = [&](SmallVector<Id> &from, size_t &index, SmallVector<Id> &to,
                    int64_t &product) {
      int64_t size = classes.getSize(from[index]);
      if (size == 0 || llvm::MulOverflow(product, size, product))
        return false;
      to.push_back(from[index++]);
      return true;
    };
    bool fits = true;
    if (i < before.size())
      fits &= take(before, i, lhs, a);
    if (j < after.size())
      fits &= take(after, j, rhs, b);
    while (fits && a != b) {
      if (a < b)
        fits = i < before.size() && take(before, i, lhs, a);
      else
        fits = j < after.size() && take(after, j, rhs, b);
    }
    if (!fits) {
      fixAll(ArrayRef(before));
      fixAll(ArrayRef(after));
      return;
    }
    auto dropSingles = [&](SmallVector<Id> &ids) {
      llvm::erase_if(ids, [&](Id id) { return classes.getSize(id) == 1; });
    };
    dropSingles(lhs);
    dropSingles(rhs);
    if (!lhs.empty() && !rhs.empty())
      classes.unite(classes.addProduct(lhs), classes.addProduct(rhs));
  }
}

void DimSamples::collectRule(tp::DimensionRuleOpInterface op,
                             std::optional<unsigned> skippedDim) {
  tp::DimensionRule rule = op.getDimensionRule();
  SmallVector<Id> factors;
  for (const tp::Factor &factor : rule.factors)
    factors.push_back(classes.add(factor.size, factor.isFixed));
  auto unite = [&](ValueRange values,
                   ArrayRef<tp::DimensionRule::TensorFactors> tensors) {
    for (auto [value, tensor] : llvm::zip_equal(values, tensors)) {
      SmallVector<Id> valueDims = getDims(value);
      for (auto [index, dim, dimFactors] : llvm::enumerate(valueDims, tensor)) {
        if (dimFactors.empty() || index == skippedDim)
          continue;
        SmallVector<Id> parts;
        for (unsigned factor : dimFactors)
          parts.push_back(factors[factor]);
        classes.unite(dim, classes.addProduct(parts));
      }
    }
  };
  unite(op->getOperands(), rule.operands);
  unite(op->getResults(), rule.results);
}

void DimSamples::collect(func::FuncOp function) {
  for (Value argument : function.getArguments())
    getDims(argument);
  for (Operation &op : function.getBody().front()) {
    for (Value value : op.getResults())
      getDims(value);
    // The relation of an opaque op's dims is unknown, and does not matter,
    // because the op is a function of all its operands.
    if (isa<tp::CallOp>(op))
      continue;
    if (auto reshape = dyn_cast<tp::ReshapeOp>(op)) {
      collectReshape(reshape);
      continue;
    }
    auto rule = dyn_cast<tp::DimensionRuleOpInterface>(op);
    if (!rule)
      continue;
    if (auto slice = dyn_cast<tp::SliceOp>(op)) {
      auto dim = static_cast<unsigned>(slice.getDim());
      int64_t size = tp::getTensor(slice.getResult()).getDimSize(dim);
      bool isWhole = size == tp::getTensor(slice.getInput()).getDimSize(dim);
      collectRule(rule, isWhole ? std::nullopt : std::optional(dim));
      if (!isWhole && size > 0)
        slices.push_back({getDims(slice.getInput())[dim],
                          getDims(slice.getResult())[dim],
                          static_cast<int64_t>(slice.getStart()) *
                              (slice.getBlocks() ? size : 1),
                          static_cast<int64_t>(slice.getStep())});
      continue;
    }
    if (auto concat = dyn_cast<tp::ConcatOp>(op)) {
      auto dim = static_cast<unsigned>(concat.getDim());
      bool isWhole = concat.getInputs().size() == 1;
      collectRule(rule, isWhole ? std::nullopt : std::optional(dim));
      int64_t start = 0;
      for (Value input : concat.getInputs()) {
        if (!isWhole && tp::getTensor(input).getDimSize(dim) > 0)
          slices.push_back({getDims(concat.getResult())[dim],
                            getDims(input)[dim], start, 1});
        start += tp::getTensor(input).getDimSize(dim);
      }
      continue;
    }
    collectRule(rule, std::nullopt);
  }
}

void DimSamples::uniteTensors(Value a, Value b) {
  SmallVector<Id> aDims = getDims(a);
  SmallVector<Id> bDims = getDims(b);
  if (aDims.size() != bDims.size())
    return;
  for (auto [aDim, bDim] : llvm::zip_equal(aDims, bDims))
    if (classes.getSize(aDim) == classes.getSize(bDim))
      classes.unite(aDim, bDim);
}

static constexpr size_t mostPoints = 10;

/// At most ten of these points, others for each seed.
static SmallVector<int64_t> takeSome(ArrayRef<int64_t> points, uint64_t seed) {
  SmallVector<int64_t> some(points);
  if (some.size() <= mostPoints)
    return some;
  llvm::sort(some, [&](int64_t a, int64_t b) {
    return PrimeField::mix(a, seed) < PrimeField::mix(b, seed);
  });
  some.resize(mostPoints);
  return some;
}

SmallVector<int64_t> DimSamples::getBorders(Id extent) const {
  auto known = borders.find(extent);
  return known == borders.end() ? SmallVector<int64_t>()
                                : takeSome(known->second, seed);
}

SmallVector<int64_t> DimSamples::getBorders(Value value, unsigned dim) {
  Id id = getDims(value)[dim];
  // Asked for before borders are known: note that they are needed.
  auto known = borders.try_emplace(id).first;
  takesSomeBorders |= known->second.size() > mostPoints;
  return getBorders(id);
}

void DimSamples::collectMetPoints() {
  for (Id id : metByUnknown)
    borders.try_emplace(id);
  for (const auto &[argument, own] : bounds)
    for (const Bound &bound : own)
      borders.try_emplace(bound.dim);
  if (borders.empty())
    return;
  addBorders(Kept::None);
  for (auto &[id, points] : borders)
    points = getPoints(id);
  std::set<int64_t> met;
  for (Id id : metByUnknown) {
    const std::vector<int64_t> &points = borders.find(id)->second;
    met.insert(points.begin(), points.end());
  }
  allMetPoints.assign(met.begin(), met.end());
}

DimSamples::DimSamples(func::FuncOp first, func::FuncOp second,
                       IndexSamples &samples, uint64_t seed, bool reducesSizes)
    : first(first), second(second), samples(samples), seed(seed),
      reducesSizes(reducesSizes) {
  collect(first);
  collect(second);
  // Corresponding inputs and outputs of both programs are the same tensors, and
  // so are the results of an opaque call that both programs make.
  for (auto [x, y] : llvm::zip(first.getArguments(), second.getArguments()))
    uniteTensors(x, y);
  auto getResults = [](func::FuncOp function) {
    return function.getBody().front().getTerminator()->getOperands();
  };
  for (auto [x, y] : llvm::zip(getResults(first), getResults(second)))
    uniteTensors(x, y);
  for (auto [x, y] :
       llvm::zip(first.getOps<tp::CallOp>(), second.getOps<tp::CallOp>()))
    for (auto [p, q] : llvm::zip(x.getOutputs(), y.getOutputs()))
      uniteTensors(p, q);
  uniteRanges();
  PositionNumbers ofFirst(first, *this), ofSecond(second, *this);
  // Numbers that integers are added to, masked with or shifted by also matter.
  for (func::FuncOp function : {first, second})
    for (auto constant : function.getOps<tp::ConstantOp>())
      if (auto number = dyn_cast<IntegerAttr>(constant.getValue());
          number && !number.getType().isInteger(1))
        onNumber(number.getValue().getSExtValue());
  collectMetPoints();
  ofFirst.visitTables();
  ofSecond.visitTables();
  followRanges();
}

void DimSamples::uniteRanges() {
  DenseMap<std::pair<Attribute, Type>, Value> known;
  for (func::FuncOp function : {first, second})
    for (auto iota : function.getOps<tp::IotaOp>())
      if (Attribute name = iota->getAttr(rangeAttrName)) {
        dimsOfRanges.push_back(getDims(iota.getResult())[0]);
        auto [same, isNew] =
            known.try_emplace({name, iota.getType()}, iota.getResult());
        if (!isNew)
          uniteTensors(same->second, iota.getResult());
      }
}

void DimSamples::followRanges() {
  for (Id range : dimsOfRanges)
    ranges.insert(classes.find(range));
  if (ranges.empty() || diagonals.empty())
    return;
  // The dims that diagonals connect.
  llvm::EquivalenceClasses<Id> connected;
  for (Id range : ranges)
    connected.insert(range);
  for (const Diagonal &diagonal : diagonals)
    connected.unionSets(classes.find(diagonal.first),
                        classes.find(diagonal.second));
  std::set<Id> others;
  for (const Diagonal &diagonal : diagonals)
    // Points of one dim would have to be carried on without end.
    if (diagonal.firstFactor != -diagonal.secondFactor ||
        (diagonal.constant != 0 &&
         classes.find(diagonal.first) == classes.find(diagonal.second)))
      others.insert(connected.getLeaderValue(classes.find(diagonal.first)));
  constexpr unsigned mostCarries = 4;
  for (Id range : ranges) {
    auto members = connected.members(range);
    // An element of a table is computed from up to three integers, which may be
    // of one range.
    auto numSteps = std::max(2u, static_cast<unsigned>(std::distance(
                                     members.begin(), members.end())));
    if (numSteps > mostCarries ||
        others.contains(connected.getLeaderValue(range)))
      fix(range, SampleReason::Positions);
    else
      numCarries = std::max(numCarries, numSteps);
  }
}

void DimSamples::begin(uint64_t ownSeed) {
  seed = ownSeed;
  // If there are many, choose different ones in each round.
  metPoints = takeSome(allMetPoints, seed);
  addDrawnIndices();
}

void DimSamples::addDrawnIndices() {
  // If an integer input is compared with a position, it must be one of the
  // evaluated positions.
  for (Id id : metByUnknown) {
    std::set<int64_t> &own = singles[id];
    int64_t size = classes.getSize(id);
    own.insert({0, size - 1});
    for (uint64_t draw = 0; draw < 4; ++draw)
      own.insert(static_cast<int64_t>(
          PrimeField::mix(draw, PrimeField::mix(size, seed)) %
          static_cast<uint64_t>(size)));
  }
  // A table is read at the indices that are drawn for it. Adding these indices
  // now saves an attempt for each table.
  for (auto &[argument, own] : bounds)
    if (std::optional<IntegerPool> pool = getPool(argument))
      for (const Bound &bound : own) {
        int64_t size = classes.getSize(bound.dim);
        for (int64_t number : pool->getNumbers()) {
          std::optional<int64_t> index = bound.function.evaluate(number);
          if (index && *index < 0)
            *index += size;
          // The second program may have a smaller table.
          if (index && *index >= 0 && *index < size)
            singles[bound.dim].insert(*index);
        }
      }
}
