//===- IntegerUnion.h - which integers an input may have ----------*- C++
//-*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_INTEGERUNION_H
#define COMMUTE_EQUIVALENCE_INTEGERUNION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>

namespace commute::equivalence {

/// A union of half-open intervals of integers of 64 bits, such as the labels of
/// a loss: those of the classes, and the one that is ignored. The largest
/// integer is in no set.
class IntegerUnion {
public:
  using Interval = std::pair<int64_t, int64_t>;

  /// The empty set.
  IntegerUnion() = default;
  /// The integers from `first` up to, but not including, `end`.
  IntegerUnion(int64_t first, int64_t end) {
    if (first < end)
      intervals.emplace_back(first, end);
  }
  /// Returns the set of all integers.
  static IntegerUnion getAll() { return {least, most}; }

  bool isEmpty() const { return intervals.empty(); }
  /// True if numbers that are far enough from zero are not in the set.
  bool isBounded() const {
    return isEmpty() || (getFirst() > least && getEnd() < most);
  }
  bool contains(int64_t number) const;
  /// Returns the intervals, from the least one on. No two of them touch.
  llvm::ArrayRef<Interval> getIntervals() const { return intervals; }
  /// Returns the least integer of a set that is not empty.
  int64_t getFirst() const { return intervals.front().first; }
  /// Returns the integer behind the last one of a set that is not empty.
  int64_t getEnd() const { return intervals.back().second; }

  IntegerUnion unite(const IntegerUnion &other) const;
  IntegerUnion intersect(const IntegerUnion &other) const;
  IntegerUnion getComplement() const;

  bool operator==(const IntegerUnion &other) const {
    return intervals == other.intervals;
  }

  /// Returns the set for a person to read: "in [0, 12) or -100".
  std::string getText() const;

private:
  static constexpr int64_t least = std::numeric_limits<int64_t>::min();
  static constexpr int64_t most = std::numeric_limits<int64_t>::max();

  llvm::SmallVector<Interval, 1> intervals;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_INTEGERUNION_H
