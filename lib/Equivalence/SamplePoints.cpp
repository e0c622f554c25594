//===- SamplePoints.cpp - points that belong to one another -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// How DimSamples carries the points of one dim to others.
//
//===----------------------------------------------------------------------===//

#include "DimSamples.h"

#include "commute/Equivalence/PrimeField.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

using Id = DimClasses::Id;

/// The number of indices chosen inside a cell, in addition to those at its
/// ends. With these, a polynomial that is symmetric in the indices of a cell is
/// distinguished from zero up to degree 5; see docs/equivalence.md.
static constexpr int64_t numInnerPoints = 3;
/// If more indices of an atom are needed, all are evaluated.
static constexpr size_t maxPoints = 768;
/// If more indices of an extent are needed, all indices of its atoms are
/// evaluated.
static constexpr int64_t maxExtentPoints = int64_t(1) << 16;
/// If one dim of a diagonal or of a look-up has more points, the other dim is
/// evaluated at all indices.
static constexpr size_t maxCarriedPoints = 128;

void DimSamples::setFull(Id atom, SampleReason reason) {
  Atom &info = atoms[atom];
  if (info.isFull)
    return;
  info.isFull = true;
  info.reason = reason;
  info.points.clear();
  changed.push_back(atom);
}

void DimSamples::forEachDigit(Id extent, int64_t index,
                              llvm::function_ref<void(Id, int64_t)> visit) {
  if (index < 0 || index >= classes.getSize(extent))
    return;
  SmallVector<Id> factors = classes.getAtoms(extent);
  for (Id atom : llvm::reverse(factors)) {
    int64_t size = classes.getSize(atom);
    visit(atom, index % size);
    index /= size;
  }
}

void DimSamples::addPoint(Id extent, int64_t index) {
  forEachDigit(extent, index, [&](Id atom, int64_t digit) {
    Atom &info = atoms[atom];
    if (info.isFull || !info.points.insert(digit).second)
      return;
    changed.push_back(atom);
    if (info.points.size() > maxPoints ||
        static_cast<int64_t>(info.points.size()) == classes.getSize(atom))
      setFull(atom, SampleReason::Closure);
  });
}

void DimSamples::addSingle(Id extent, int64_t index) {
  forEachDigit(extent, index, [&](Id atom, int64_t digit) {
    addPoint(atom, digit);
    addPoint(atom, digit - 1);
  });
}

void DimSamples::propagateAlongSlices() {
  while (!changed.empty()) {
    Id atom = changed.back();
    changed.pop_back();
    for (unsigned number : edgesOf.lookup(atom)) {
      const DimClasses::Part &edge = edges[number];
      bool isFull = atoms[atom].isFull;
      if (edge.whole == atom) {
        int64_t size = classes.getSize(edge.part);
        if (isFull) {
          setFull(edge.part, atoms[atom].reason);
          continue;
        }
        std::vector<int64_t> points(
            atoms[atom].points.lower_bound(edge.start),
            atoms[atom].points.lower_bound(edge.start + size));
        for (int64_t point : points)
          addPoint(edge.part, point - edge.start);
      }
      if (edge.part == atom) {
        if (isFull) {
          if (classes.getSize(atom) > static_cast<int64_t>(maxPoints))
            setFull(edge.whole, SampleReason::Closure);
          for (int64_t index = 0;
               index < classes.getSize(atom) && !atoms[edge.whole].isFull;
               ++index)
            addPoint(edge.whole, edge.start + index);
          continue;
        }
        std::vector<int64_t> points(atoms[atom].points.begin(),
                                    atoms[atom].points.end());
        for (int64_t point : points)
          addPoint(edge.whole, edge.start + point);
      }
    }
  }
}

std::vector<int64_t> DimSamples::getPoints(Id extent) {
  std::vector<int64_t> points = {0};
  for (Id atom : classes.getAtoms(extent)) {
    const Atom &info = atoms[atom];
    int64_t size = classes.getSize(atom);
    int64_t count =
        info.isFull ? size : static_cast<int64_t>(info.points.size());
    if (static_cast<int64_t>(points.size()) * count > maxExtentPoints)
      return {};
    std::vector<int64_t> next;
    for (int64_t point : points) {
      if (info.isFull)
        for (int64_t digit = 0; digit < size; ++digit)
          next.push_back(point * size + digit);
      else
        for (int64_t digit : info.points)
          next.push_back(point * size + digit);
    }
    points = std::move(next);
  }
  return points;
}

std::optional<std::vector<int64_t>>
DimSamples::getRoots(Id from, int64_t fromFactor, int64_t toFactor,
                     int64_t constant, bool addsNext) {
  std::vector<int64_t> points = getPoints(from);
  if (points.empty() || points.size() > maxCarriedPoints)
    return std::nullopt;
  std::vector<int64_t> roots;
  for (int64_t point : points) {
    int64_t sum;
    if (llvm::MulOverflow(fromFactor, point, sum) ||
        llvm::AddOverflow(sum, constant, sum))
      continue;
    int64_t root = llvm::divideFloorSigned(-sum, toFactor);
    roots.push_back(root);
    if (addsNext || sum % toFactor != 0)
      roots.push_back(root + 1);
  }
  return roots;
}

void DimSamples::setFullExtent(Id extent) {
  for (Id atom : classes.getAtoms(extent))
    setFull(atom, SampleReason::Closure);
}

void DimSamples::addRoots(Id extent,
                          const std::optional<std::vector<int64_t>> &roots) {
  if (!roots)
    return setFullExtent(extent);
  for (int64_t root : *roots)
    addPoint(extent, root);
}

std::pair<Id, std::optional<std::vector<int64_t>>>
DimSamples::getImage(const Diagonal &diagonal, bool ofFirst, bool addsNext) {
  if (ofFirst)
    return {diagonal.second,
            getRoots(diagonal.first, diagonal.firstFactor,
                     diagonal.secondFactor, diagonal.constant, addsNext)};
  return {diagonal.first,
          getRoots(diagonal.second, diagonal.secondFactor, diagonal.firstFactor,
                   diagonal.constant, addsNext)};
}

void DimSamples::propagate() {
  propagateAlongSlices();
  // Each changes the points of an atom at most as often as it has points.
  auto countPoints = [&] {
    size_t count = 0;
    for (const Slice &lookup : lookups)
      for (Id extent : {lookup.whole, lookup.part})
        for (Id atom : classes.getAtoms(extent))
          count +=
              atoms[atom].isFull ? maxPoints + 1 : atoms[atom].points.size();
    return count;
  };
  for (size_t before = 0, now = countPoints(); now != before;) {
    auto carry = [&](Id from, Id to, int64_t fromFactor, int64_t toFactor,
                     int64_t start) {
      addRoots(to, getRoots(from, fromFactor, toFactor, -start,
                            /*addsNext=*/false));
    };
    for (const Slice &lookup : lookups) {
      // whole - step * part - start = 0
      carry(lookup.part, lookup.whole, -lookup.step, 1, lookup.start);
      carry(lookup.whole, lookup.part, 1, -lookup.step, lookup.start);
    }
    propagateAlongSlices();
    before = std::exchange(now, countPoints());
  }
}

void DimSamples::carryDiagonals() {
  // Take all points from before this step, so that each is carried only once.
  std::vector<std::pair<Id, std::optional<std::vector<int64_t>>>> carried;
  std::set<std::tuple<Id, Id, int64_t, int64_t, int64_t>> done;
  for (const Diagonal &diagonal : diagonals) {
    if (!done.insert({classes.find(diagonal.first),
                      classes.find(diagonal.second), diagonal.firstFactor,
                      diagonal.secondFactor, diagonal.constant})
             .second)
      continue;
    for (bool ofFirst : {true, false})
      carried.push_back(getImage(diagonal, ofFirst, /*addsNext=*/true));
  }
  for (const auto &[extent, roots] : carried)
    addRoots(extent, roots);
  propagate();
}

void DimSamples::carryToRanges() {
  // Tables that ranges index may relate what is added here to positions again.
  constexpr unsigned mostPasses = 4;
  size_t numPoints = 0;
  for (unsigned pass = 0; pass < mostPasses; ++pass) {
    size_t before = std::exchange(numPoints, 0);
    for (const Diagonal &diagonal : diagonals) {
      bool ofFirst = isRange(diagonal.second);
      if (ofFirst == isRange(diagonal.first))
        continue;
      numPoints += getPoints(ofFirst ? diagonal.first : diagonal.second).size();
      auto [extent, roots] = getImage(diagonal, ofFirst, /*addsNext=*/false);
      addRoots(extent, roots);
    }
    propagate();
    if (numPoints == before)
      return;
  }
}

void DimSamples::addInnerPoints() {
  // Use the cells from before this step: points carried here from other dims
  // are inner points like all others.
  std::vector<std::pair<Id, std::vector<int64_t>>> cells;
  for (Id id = 0; id < classes.getCount(); ++id)
    if (classes.find(id) == id && classes.isAtom(id) && !atoms[id].isFull)
      cells.push_back({id, {atoms[id].points.begin(), atoms[id].points.end()}});
  for (auto &[atom, borders] : cells)
    for (size_t index = 0; index + 1 < borders.size(); ++index) {
      int64_t low = borders[index], high = borders[index + 1];
      int64_t inside = high - low - 1;
      if (inside < 1 || atoms[atom].isFull)
        continue;
      auto countPoints = [&] {
        return std::distance(atoms[atom].points.upper_bound(low),
                             atoms[atom].points.lower_bound(high));
      };
      uint64_t key = PrimeField::mix(
          low,
          PrimeField::mix(high, PrimeField::mix(classes.getSize(atom), seed)));
      if (inside <= numInnerPoints) {
        for (int64_t point = low + 1; point < high; ++point)
          addPoint(atom, point);
      } else {
        for (uint64_t draw = 0; draw < 16 && countPoints() < numInnerPoints;
             ++draw)
          addPoint(atom, low + 1 +
                             static_cast<int64_t>(PrimeField::mix(draw, key) %
                                                  uint64_t(inside)));
      }
      propagate();
    }
}
