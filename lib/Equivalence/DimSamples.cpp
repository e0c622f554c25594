//===- DimSamples.cpp - which indices of each dim are evaluated -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DimSamples.h"

#include "commute/Equivalence/PrimeField.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

using Id = DimClasses::Id;

/// Dims up to this size are evaluated at all indices.
static constexpr int64_t maxSmallSize = 6;
/// The number of values for inputs that index a dim.
static constexpr size_t maxBoundValues = 48;

StringRef equivalence::getText(SampleReason reason) {
  switch (reason) {
  case SampleReason::Symmetric:
    return "ops treat the indices between two cuts alike";
  case SampleReason::Small:
    return "small";
  case SampleReason::Counted:
    return "counts ranks, pieces or steps";
  case SampleReason::Summands:
    return "its elements are counted";
  case SampleReason::Positions:
    return "its positions are computed with";
  case SampleReason::Misaligned:
    return "reshapes and slices cut it without common factors";
  case SampleReason::Mismatch:
    return "an op met samples that do not match";
  case SampleReason::Asked:
    return "real sizes were asked for, or cost next to nothing";
  case SampleReason::Closure:
    return "slices and diagonals relate too many of its indices";
  }
  llvm_unreachable("a reason that is not listed");
}

//===----------------------------------------------------------------------===//
// What indices meet
//===----------------------------------------------------------------------===//

void DimSamples::onCut(Value value, unsigned dim, int64_t index) {
  if (index > 0 && index < tp::getTensor(value).getDimSize(dim))
    cuts[getDims(value)[dim]].insert(index);
}

void DimSamples::onSingle(Value value, unsigned dim, int64_t index) {
  if (index >= 0 && index < tp::getTensor(value).getDimSize(dim))
    singles[getDims(value)[dim]].insert(index);
}

void DimSamples::onDiagonal(Value firstValue, unsigned firstDim,
                            Value secondValue, unsigned secondDim,
                            int64_t firstFactor, int64_t secondFactor,
                            int64_t constant) {
  diagonals.push_back({getDims(firstValue)[firstDim],
                       getDims(secondValue)[secondDim], firstFactor,
                       secondFactor, constant});
}

void DimSamples::onUnknownUse(Value value, unsigned dim) {
  if (tp::getTensor(value).getDimSize(dim) > 1)
    fix(getDims(value)[dim], SampleReason::Positions);
}

void DimSamples::onCounted(Value value, unsigned dim) {
  if (tp::getTensor(value).getDimSize(dim) > 1)
    fixed.insert({getDims(value)[dim], SampleReason::Summands});
}

void DimSamples::onMetByUnknown(Value value, unsigned dim) {
  metByUnknown.push_back(getDims(value)[dim]);
}

void DimSamples::onIndexed(Value table, unsigned tableDim, Value indices,
                           unsigned indexDim, int64_t start, int64_t step) {
  int64_t size = tp::getTensor(indices).getDimSize(indexDim);
  int64_t tableSize = tp::getTensor(table).getDimSize(tableDim);
  Id whole = getDims(table)[tableDim], part = getDims(indices)[indexDim];
  if (step != 1 || start < 0 || start + size > tableSize)
    lookups.push_back({whole, part, start, step});
  else if (size == tableSize)
    classes.unite(whole, part);
  else
    slices.push_back({whole, part, start, 1});
}

void DimSamples::onNumber(int64_t number) {
  if (numbers.size() < 512)
    numbers.insert(number);
}

void DimSamples::onBound(const InputFunction &function, Value table,
                         unsigned dim, int64_t least) {
  std::optional<IntegerUnion> legal =
      function.getPreimage({least, tp::getTensor(table).getDimSize(dim)});
  // A program that masks what is far away says nothing of it. An integer that
  // it reads out of range nevertheless is a mistake, not one that nobody
  // passes.
  if (legal && legal->isBounded())
    bounds[function.argument].push_back(
        {getDims(table)[dim], function, std::move(*legal),
         table.getParentBlock()->getParentOp() == first});
}

IntegerPool DimSamples::getPool() const {
  std::set<int64_t> pool = {0, 1, -1, 2, 1000003};
  auto add = [&](int64_t number) {
    for (int64_t offset : {-1, 0, 1})
      pool.insert(static_cast<int64_t>(static_cast<uint64_t>(number) +
                                       static_cast<uint64_t>(offset)));
  };
  for (int64_t number : numbers)
    add(number);
  for (Id id : metByUnknown)
    if (auto known = singles.find(id); known != singles.end())
      for (int64_t index : known->second)
        add(index);
  pool.insert(metPoints.begin(), metPoints.end());
  // Zero must come first; see makeRandom.
  pool.erase(0);
  std::vector<int64_t> numbersOfPool = {0};
  llvm::append_range(numbersOfPool, pool);
  return numbersOfPool;
}

std::optional<IntegerUnion> DimSamples::getRange(unsigned argument) const {
  auto known = bounds.find(argument);
  if (known == bounds.end())
    return std::nullopt;
  IntegerUnion legal = IntegerUnion::getAll();
  // The first program determines what is legal, if it uses the input as an
  // index: then the second has to run with all of that.
  bool isBoundByFirst = llvm::any_of(
      known->second, [](const Bound &bound) { return bound.isOfFirst; });
  for (const Bound &bound : known->second) {
    if (isBoundByFirst && !bound.isOfFirst)
      continue;
    legal = legal.intersect(bound.legal);
  }
  return legal.isEmpty() ? std::nullopt : std::optional(legal);
}

std::optional<IntegerPool> DimSamples::getPool(unsigned argument) const {
  std::optional<IntegerUnion> range = getRange(argument);
  if (!range)
    return std::nullopt;
  std::vector<int64_t> pool;
  auto add = [&](int64_t number) {
    if (range->contains(number) && pool.size() < maxBoundValues &&
        !llvm::is_contained(pool, number))
      pool.push_back(number);
  };
  add(0);
  ArrayRef<IntegerUnion::Interval> intervals = range->getIntervals();
  for (auto [low, high] : intervals) {
    add(low);
    add(high - 1);
  }
  // Room is left for what follows.
  for (int64_t number : numbers)
    for (int64_t offset : {-1, 0, 1})
      if (pool.size() < maxBoundValues / 2)
        add(number + offset);
  // What it reads, or is compared with, may be told apart there.
  for (const Bound &bound : bounds.find(argument)->second)
    for (int64_t border : getBorders(bound.dim))
      if (std::optional<int64_t> number = bound.function.findLeast(border))
        add(*number);
  for (int64_t point : metPoints)
    add(point);
  for (uint64_t draw = 0; draw < 6; ++draw) {
    auto [low, high] = intervals[draw % intervals.size()];
    uint64_t count = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    uint64_t offset = PrimeField::mix(draw, seed + argument) % count;
    add(static_cast<int64_t>(static_cast<uint64_t>(low) + offset));
  }
  return pool;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

void DimSamples::addBorders(Kept kept) {
  atoms.clear();
  edges.clear();
  edgesOf.clear();
  changed.clear();
  chosen.clear();
  result.clear();
  // Aligning one slice may divide an extent that another slice was aligned
  // with.
  std::vector<std::optional<DimClasses::Part>> parts;
  auto countAtoms = [&] {
    size_t count = 0;
    for (const Slice &slice : slices)
      count += classes.getAtoms(slice.whole).size() +
               classes.getAtoms(slice.part).size();
    return count;
  };
  size_t count;
  do {
    count = countAtoms();
    parts.clear();
    for (const Slice &slice : slices) {
      if (classes.getSize(slice.part) == 1) {
        parts.push_back(std::nullopt);
        continue;
      }
      parts.push_back(
          classes.alignPart(slice.whole, slice.part, slice.start, slice.step));
    }
  } while (countAtoms() != count);
  std::set<std::tuple<Id, Id, int64_t>> known;
  for (std::optional<DimClasses::Part> &part : parts)
    if (part && !part->isOneBlock) {
      part->whole = classes.find(part->whole);
      part->part = classes.find(part->part);
      if (!known.insert({part->whole, part->part, part->start}).second)
        continue;
      edgesOf[part->whole].push_back(edges.size());
      if (part->part != part->whole)
        edgesOf[part->part].push_back(edges.size());
      edges.push_back(*part);
    }

  auto forEachAtom = [&](auto visit) {
    for (Id id = 0; id < classes.getCount(); ++id)
      if (classes.find(id) == id && classes.isAtom(id))
        visit(id);
  };
  forEachAtom([&](Id id) {
    int64_t size = classes.getSize(id);
    if (size <= maxSmallSize)
      setFull(id, SampleReason::Small);
    else if (!reducesSizes && kept == Kept::All)
      setFull(id, SampleReason::Asked);
  });
  for (auto [id, reason] : fixed) {
    bool isKept = reason == SampleReason::Summands ? kept == Kept::All
                                                   : kept != Kept::None;
    if (isKept)
      for (Id atom : classes.getAtoms(id))
        setFull(atom, reason);
  }
  forEachAtom([&](Id id) {
    if (kept != Kept::None && classes.isFixed(id))
      setFull(id, SampleReason::Counted);
    addPoint(id, 0);
    addPoint(id, classes.getSize(id) - 1);
  });
  for (const DimClasses::Part &edge : edges) {
    addPoint(edge.whole, edge.start - 1);
    addPoint(edge.whole, edge.start);
    addPoint(edge.whole, edge.start + classes.getSize(edge.part) - 1);
    addPoint(edge.whole, edge.start + classes.getSize(edge.part));
  }
  for (const auto &[slice, part] : llvm::zip_equal(slices, parts))
    if (classes.getSize(slice.part) == 1 || (part && part->isOneBlock))
      addSingle(slice.whole, slice.start);
  for (auto &[id, indices] : cuts)
    for (int64_t index : indices) {
      addPoint(id, index - 1);
      addPoint(id, index);
    }
  for (auto &[id, indices] : singles)
    for (int64_t index : indices)
      addSingle(id, index);
  propagate();
}

void DimSamples::choose() {
  addBorders(Kept::All);
  addInnerPoints();
  for (unsigned carry = 0; carry < numCarries; ++carry)
    carryDiagonals();
  carryToRanges();
  storeSamples();
}

void DimSamples::chooseCells() {
  addBorders(Kept::AllButSummands);
  carryDiagonals();
  storeSamples();
}

void DimSamples::storeSamples() {
  for (auto &[value, ids] : dims) {
    SmallVector<const IndexSample *> &own = result[value];
    for (Id id : ids)
      own.push_back(getSample(id));
  }
}

const IndexSample *DimSamples::getSample(Id extent) {
  Id id = classes.find(extent);
  if (auto known = chosen.find(id); known != chosen.end())
    return known->second;
  SmallVector<const IndexSample *> factors;
  for (Id atom : classes.getAtoms(id)) {
    const Atom &info = atoms[atom];
    factors.push_back(info.isFull ? samples.getFull(classes.getSize(atom))
                                  : samples.getRuns(classes.getSize(atom),
                                                    {info.points.begin(),
                                                     info.points.end()}));
  }
  // An extent with a single element has only itself as an atom.
  return chosen[id] = samples.getProduct(factors);
}

//===----------------------------------------------------------------------===//
// Answers
//===----------------------------------------------------------------------===//

ArrayRef<const IndexSample *> DimSamples::get(Value value) const {
  auto known = result.find(value);
  return known == result.end() ? ArrayRef<const IndexSample *>()
                               : ArrayRef(known->second);
}

bool DimSamples::addIndices(Value value, unsigned dim,
                            ArrayRef<int64_t> indices) {
  std::set<int64_t> &known = singles[getDims(value)[dim]];
  size_t before = known.size();
  known.insert(indices.begin(), indices.end());
  return known.size() != before;
}

bool DimSamples::keepWhole(Operation *op) {
  bool changes = false;
  auto keep = [&](Value value) {
    for (Id id : SmallVector<Id>(getDims(value)))
      for (Id atom : classes.getAtoms(id))
        if (!atoms[atom].isFull) {
          fix(id, SampleReason::Mismatch);
          changes = true;
        }
  };
  llvm::for_each(op->getOperands(), keep);
  llvm::for_each(op->getResults(), keep);
  return changes;
}

bool DimSamples::refine(const SampleProblem &problem, Operation *culprit) {
  switch (problem.kind) {
  case SampleProblem::MissingIndices:
    if (auto op = dyn_cast_or_null<tp::IndexingOpInterface>(culprit))
      if (addIndices(op.getIndexed(), op.getIndexedDim(), problem.indices))
        return true;
    [[fallthrough]];
  case SampleProblem::Mismatch:
    return culprit && keepWhole(culprit);
  case SampleProblem::Sizes:
  case SampleProblem::TooLarge:
  case SampleProblem::TooLong:
    return false;
  }
  llvm_unreachable("a problem that is not listed");
}

std::vector<DimSamples::Line> DimSamples::describe() {
  std::vector<Line> lines;
  std::set<Id> seen;
  for (auto &[value, ids] : dims)
    for (auto [dim, id] : llvm::enumerate(ids)) {
      if (!seen.insert(classes.find(id)).second)
        continue;
      SampleReason reason = SampleReason::Symmetric;
      bool isFull = true;
      for (Id atom : classes.getAtoms(id)) {
        const Atom &info = atoms[atom];
        isFull &= info.isFull;
        if (info.isFull)
          reason = std::max(reason, info.reason);
      }
      // Small factors of a merged dim do not explain its size.
      if (!isFull && reason == SampleReason::Small)
        reason = SampleReason::Symmetric;
      lines.push_back({classes.getSize(id), getSample(id)->getCount(), reason,
                       value, static_cast<unsigned>(dim)});
    }
  return lines;
}
