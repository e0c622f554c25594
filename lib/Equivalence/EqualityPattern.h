//===- EqualityPattern.h - which elements are equal -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H
#define COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H

#include "commute/Equivalence/LockstepEvaluator.h"

#include <string>

namespace commute::equivalence {

/// A value at a cut: what all ranks hold of it, and who reads it further on.
struct LiveValue {
  RankValues values;
  /// Follows from no input: its elements are numbers, not unknowns.
  bool isConstant = false;
  bool isLiveInFirst = false;
  bool isLiveInSecond = false;
};

/// What is kept of the values at a cut: which elements, of all values on all
/// ranks, are equal, and which are zero. Integers, constants, and truth values
/// that are known are kept as they are.
class EqualityPattern {
public:
  explicit EqualityPattern(llvm::ArrayRef<LiveValue> live);

  /// Whether each element of one program is zero, or one of the other program:
  /// what either holds says nothing that the other does not know.
  bool isClosed() const { return closed; }
  /// Equal for equal patterns.
  llvm::StringRef getKey() const { return key; }
  /// By value: the first value that is equal to it on all ranks.
  llvm::ArrayRef<unsigned> getRepresentatives() const {
    return representatives;
  }
  /// The pattern in which equal values are one.
  EqualityPattern merge() const;

  /// Values with this pattern, but otherwise random.
  std::vector<LiveValue> instantiate(uint64_t seed) const;

private:
  EqualityPattern() = default;
  void finish();

  struct Entry {
    mlir::Type elementType;
    /// By tensor.
    std::vector<llvm::SmallVector<SampledDim, 4>> dims;
    bool isConstant = false;
    bool isLiveInFirst = false;
    bool isLiveInSecond = false;
    /// By rank: its tensor. Ranks with equal tensors share one.
    llvm::SmallVector<unsigned> tensorOfRank;
    /// Numbers of unknowns, in order of appearance from 2 on, 0 for zero, or 1
    /// for true; the elements themselves where they are kept.
    std::vector<std::vector<uint64_t>> tensors;

    bool isTruth() const { return elementType.isInteger(1); }
    bool isKept() const {
      return isConstant ||
             (mlir::isa<mlir::IntegerType>(elementType) && !isTruth());
    }
  };

  std::vector<Entry> entries;
  std::string key;
  llvm::SmallVector<unsigned> representatives;
  bool closed = false;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H
