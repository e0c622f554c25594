//===- IntegerUnion.cpp - which integers an input may have
//------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/IntegerUnion.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute::equivalence;

bool IntegerUnion::contains(int64_t number) const {
  return llvm::any_of(intervals, [&](Interval own) {
    return own.first <= number && number < own.second;
  });
}

IntegerUnion IntegerUnion::unite(const IntegerUnion &other) const {
  llvm::SmallVector<Interval> all(getIntervals());
  llvm::append_range(all, other.intervals);
  llvm::sort(all);
  IntegerUnion result;
  for (Interval next : all)
    if (result.isEmpty() || result.getEnd() < next.first)
      result.intervals.push_back(next);
    else
      result.intervals.back().second = std::max(result.getEnd(), next.second);
  return result;
}

IntegerUnion IntegerUnion::getComplement() const {
  IntegerUnion result;
  int64_t first = least;
  for (auto [low, high] : intervals) {
    if (first < low)
      result.intervals.emplace_back(first, low);
    first = high;
  }
  if (first < most)
    result.intervals.emplace_back(first, most);
  return result;
}

IntegerUnion IntegerUnion::intersect(const IntegerUnion &other) const {
  return getComplement().unite(other.getComplement()).getComplement();
}

std::string IntegerUnion::getText() const {
  // Single numbers last.
  std::string text, numbers;
  for (auto [low, high] : intervals)
    if (low + 1 == high)
      numbers += (numbers.empty() ? "" : " or ") + std::to_string(low);
    else
      text += (text.empty() ? "in [" : " or [") + std::to_string(low) + ", " +
              std::to_string(high) + ")";
  return text + (text.empty() || numbers.empty() ? "" : " or ") + numbers;
}
