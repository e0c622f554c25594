//===- DimSegments.cpp - what slices leave of a dim -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DimSegments.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute::equivalence;

unsigned DimSegments::addCut(Id whole, Id part, int64_t start) {
  cuts.push_back({whole, part, start});
  return cuts.size() - 1;
}

void DimSegments::divide() {
  dimOfCut.resize(cuts.size());
  std::vector<bool> isDone(cuts.size());
  for (unsigned first = 0; first < cuts.size(); ++first) {
    if (isDone[first])
      continue;
    Id whole = cuts[first].whole;
    // Dims become one while others are divided, and may be divided by then.
    bool isDivided = llvm::any_of(dims, [&](const Dim &dim) {
      return classes.areUnited(dim.whole, whole);
    });
    llvm::SmallVector<unsigned> numbers;
    for (unsigned number = first; number < cuts.size(); ++number)
      if (!isDone[number] && classes.areUnited(cuts[number].whole, whole)) {
        numbers.push_back(number);
        isDone[number] = true;
      }
    if (isDivided || !hasFreeAtom(whole)) {
      classes.fix(whole);
      for (unsigned number : numbers)
        classes.fix(cuts[number].part);
      continue;
    }
    dims.push_back({whole, {}, {}});
    for (unsigned number : numbers)
      dimOfCut[number] = dims.size() - 1;
    divide(dims.back(), numbers);
  }
}

bool DimSegments::hasFreeAtom(Id id) {
  return llvm::any_of(classes.getAtoms(id),
                      [&](Id atom) { return classes.isFree(atom); });
}

void DimSegments::divide(Dim &dim, llvm::ArrayRef<unsigned> numbers) {
  int64_t size = classes.getSize(dim.whole);
  dim.starts = {0, size};
  for (unsigned number : numbers) {
    dim.starts.push_back(cuts[number].start);
    dim.starts.push_back(cuts[number].start +
                         classes.getSize(cuts[number].part));
  }
  llvm::sort(dim.starts);
  dim.starts.erase(llvm::unique(dim.starts), dim.starts.end());
  for (size_t index = 0; index + 1 < dim.starts.size(); ++index)
    dim.segments.push_back(
        classes.add(dim.starts[index + 1] - dim.starts[index]));
  for (unsigned number : numbers) {
    const Cut &cut = cuts[number];
    size_t begin =
        llvm::lower_bound(dim.starts, cut.start) - dim.starts.begin();
    size_t end =
        llvm::lower_bound(dim.starts, cut.start + classes.getSize(cut.part)) -
        dim.starts.begin();
    if (begin != end)
      classes.unite(
          cut.part,
          classes.addSum(
              llvm::ArrayRef(dim.segments).slice(begin, end - begin)));
  }
  // Else `settle` gives it its size.
  if (!classes.isProduct(dim.whole))
    classes.unite(dim.whole, classes.addSum(dim.segments));
}

bool DimSegments::settle(const Dim &dim) {
  auto getSum = [&] {
    int64_t sum = 0;
    for (Id segment : dim.segments)
      sum += classes.getNewSize(segment);
    return sum;
  };
  int64_t missing = classes.getNewSize(dim.whole) - getSum();
  if (missing == 0)
    return true;
  // The longest of those that nobody else has anything to do with.
  std::optional<Id> rest;
  for (Id segment : dim.segments)
    if (classes.isLoose(segment) &&
        (!rest || classes.getSize(segment) > classes.getSize(*rest)))
      rest = segment;
  if (!rest)
    return false;
  int64_t size = classes.getNewSize(*rest) + missing;
  if (size < 1 || size > classes.getSize(*rest))
    return false;
  classes.setNewSize(*rest, size);
  return true;
}

bool DimSegments::settle() {
  return llvm::all_of(dims, [&](const Dim &dim) { return settle(dim); });
}

std::optional<int64_t> DimSegments::getNewStart(unsigned cut) {
  if (!dimOfCut[cut])
    return std::nullopt;
  const Dim &dim = dims[*dimOfCut[cut]];
  int64_t start = 0;
  for (size_t index = 0; dim.starts[index] < cuts[cut].start; ++index)
    start += classes.getNewSize(dim.segments[index]);
  return start;
}
