//===- EqualityPattern.h - which elements are equal -------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H
#define COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H

#include "commute/Equivalence/LockstepEvaluator.h"

#include <array>

namespace commute::equivalence {

/// The information about a value that is kept at a cut, on all ranks. Unknown
/// elements are numbered. Equal elements have equal numbers, also across
/// values; the numbers start at `firstUnknown`. Zero, known truth values,
/// integers and values that depend on no input are kept unchanged.
struct EqualityPattern {
  static constexpr uint64_t firstUnknown = 2;

  mlir::Type elementType;
  /// The value depends on no input: its elements are numbers, not unknowns.
  bool isConstant = false;
  /// The value is computed from integers, truth values and constants alone, so
  /// that it may be one of a few numbers: which of its elements are equal
  /// depends on the integers.
  bool isDiscrete = false;
  /// By tensor.
  std::vector<llvm::SmallVector<SampledDim, 4>> dims;
  std::vector<std::vector<uint64_t>> elements;
  /// The tensor of each rank. Ranks with equal tensors share one.
  llvm::SmallVector<unsigned> tensorOfRank;
  CountedBytes counted;

  /// Copies the values; elements are not numbered yet.
  EqualityPattern(const RankValues &values, bool isConstant, bool isDiscrete);
  /// A value of which nothing is known but which ranks hold the same tensor.
  /// Its elements are numbered from `first` on.
  EqualityPattern(mlir::RankedTensorType type,
                  llvm::ArrayRef<SampledDim> dimsOfTensors,
                  llvm::ArrayRef<unsigned> tensorOfRank, uint64_t first);

  bool isTruth() const { return elementType.isInteger(1); }
  /// Returns true if no element is an unknown.
  bool isKept() const {
    return isConstant ||
           (mlir::isa<mlir::IntegerType>(elementType) && !isTruth());
  }
  bool isKnown(uint64_t element) const {
    return isKept() || element == 0 || (isTruth() && element == 1);
  }
  /// Calls `number` for every unknown element, to change it.
  template <typename Function>
  void renumber(Function number) {
    if (isKept())
      return;
    // The element 1 is known only as a truth value.
    uint64_t largestKnown = isTruth();
    for (std::vector<uint64_t> &tensor : elements)
      for (uint64_t &element : tensor)
        if (element > largestKnown)
          element = number(element);
  }
  template <typename Function>
  void forEachUnknown(Function visit) const {
    if (isKept())
      return;
    uint64_t largestKnown = isTruth();
    for (const std::vector<uint64_t> &tensor : elements)
      for (uint64_t element : tensor)
        if (element > largestKnown)
          visit(element);
  }

  /// Creates a random value with this pattern. Equal numbers become equal
  /// elements in all values that are created with the same seed.
  RankValues instantiate(uint64_t seed) const;
  size_t getNumBytes() const;
};

/// A hash of 128 bits. Equal hashes are taken to mean equal content.
using ContentHash = std::array<uint64_t, 2>;

/// Hashes a sequence of numbers.
class ContentHasher {
public:
  void add(uint64_t number) { numbers.push_back(number); }
  void add(const ContentHash &hash) {
    add(hash[0]);
    add(hash[1]);
  }
  /// Hashes a whole pattern; `number` returns the number to use for an unknown.
  template <typename Function>
  void add(const EqualityPattern &pattern, Function number) {
    addShape(pattern);
    bool isKept = pattern.isKept();
    uint64_t largestKnown = pattern.isTruth();
    for (const std::vector<uint64_t> &tensor : pattern.elements)
      for (uint64_t element : tensor)
        add(isKept || element <= largestKnown ? element : number(element));
  }
  /// Hashes a pattern but for its unknowns, and where it is zero or a known
  /// truth value.
  void addKind(const EqualityPattern &pattern);
  ContentHash finish() const;

private:
  void addShape(const EqualityPattern &pattern);

  std::vector<uint64_t> numbers;
};

} // namespace commute::equivalence

#endif // COMMUTE_LIB_EQUIVALENCE_EQUALITYPATTERN_H
