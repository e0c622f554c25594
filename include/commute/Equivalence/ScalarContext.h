//===- ScalarContext.h - choices and unknowns of an evaluation --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_SCALARCONTEXT_H
#define COMMUTE_EQUIVALENCE_SCALARCONTEXT_H

#include "commute/Equivalence/IntegerPool.h"
#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace commute::equivalence {

/// What the truth of a comparison of floats is.
enum class Choices {
  /// An unknown number c, so that `where(c, a, b)` is c a + (1 - c) b, and the
  /// maximum of some values is an unknown that belongs to the set of them. More
  /// general than truth values: what is equal here is equal for both outcomes.
  Symbolic,
  /// The same, but bounds by constants are choices: the maximum of x and a
  /// constant
  /// c is `where(x > c, x, c)`. A more general model as well, for programs that
  /// spell bounds by comparisons.
  SymbolicBounds,
  /// The same with `where(x >= c, x, c)`.
  SymbolicClosedBounds,
  /// A random bit: laws that use that c c = c hold too. One evaluation looks at
  /// one
  /// outcome of each comparison, so that what is equal here is not proven.
  Sampled,
};

/// Elements of a semilattice without further laws: the maximum (or minimum) of
/// elements is an unknown that depends on the set of them alone.
class FreeSemilattice {
public:
  explicit FreeSemilattice(uint64_t key) : key(key) {}

  uint64_t join(uint64_t a, uint64_t b);
  /// The join of at least one element.
  uint64_t join(llvm::ArrayRef<uint64_t> elements);
  /// Whether `element` is the join of `member` and others.
  bool contains(uint64_t element, uint64_t member) const {
    return llvm::is_contained(getMembers(element), member);
  }

private:
  llvm::ArrayRef<uint64_t> getMembers(const uint64_t &element) const;

  uint64_t key;
  /// By unknown: what it is the maximum of, in ascending order.
  llvm::DenseMap<uint64_t, std::vector<uint64_t>> members;
};

/// What scalar functions share on all ranks.
class ScalarContext {
public:
  ScalarContext(Choices choices, uint64_t seed) : choices(choices), seed(seed) {
    noteNumber(0, 0);
  }

  /// Comparisons of field elements, as truth values: 0, 1, or an unknown.
  uint64_t isEqual(uint64_t a, uint64_t b);
  /// Whether two elements are one, or were drawn to be equal.
  bool areAlike(uint64_t a, uint64_t b) const;
  uint64_t isLess(uint64_t a, uint64_t b);
  uint64_t isNan(uint64_t a);
  /// Of two operands, of which one may be a bound.
  uint64_t boundBelow(uint64_t a, uint64_t b) { return bound(a, b, true); }
  uint64_t boundAbove(uint64_t a, uint64_t b) { return bound(a, b, false); }
  /// Elements of constants, and of floats made of integers, are these numbers:
  /// they are compared as such.
  void noteNumber(uint64_t element, double number) {
    numbers.try_emplace(element, number);
  }
  /// Whether an element is known as a number below zero.
  bool isNegative(uint64_t element) const {
    auto known = numbers.find(element);
    return known != numbers.end() && known->second < 0;
  }
  /// Elements of constants are bounds as well.
  void noteConstant(uint64_t element, double number) {
    noteNumber(element, number);
    constants.insert(element);
    if (!std::isfinite(number))
      noteInfinite(element);
  }
  /// Values that are infinite or no number, as 1/0 is: zero times such a value
  /// is not zero, nor is its difference from itself.
  void noteInfinite(uint64_t element) { infinite.insert(element); }
  bool isInfinite(uint64_t element) const {
    return !infinite.empty() && infinite.contains(element);
  }
  /// Functions that change nothing where they have been applied before: `law`
  /// names what they make, such as whole numbers.
  void noteFixed(uint64_t element, uint64_t law) {
    fixed.insert(PrimeField::mix(element, law));
  }
  bool isFixed(uint64_t element, uint64_t law) const {
    return fixed.contains(PrimeField::mix(element, law));
  }
  /// Of at least one element.
  uint64_t getMaximum(llvm::ArrayRef<uint64_t> elements) {
    return getExtreme(elements, maxima, true);
  }
  uint64_t getMinimum(llvm::ArrayRef<uint64_t> elements) {
    return getExtreme(elements, minima, false);
  }
  /// Begins an op that reads at most so many elements of one value, on each of
  /// so many ranks: truth values that become bits in it for the first time do
  /// so with one probability, which may be next to none, or that of one in all.
  void beginOp(size_t numElements, size_t numRanks);
  /// A truth value as a bit, where it decides about an integer. That of the
  /// negation is the opposite one.
  bool toBit(uint64_t truth);
  /// An integer that nothing is known of, such as a float cast to an integer:
  /// one of the pool for each `content`.
  int64_t drawInteger(uint64_t content, mlir::Type type) const;
  /// A truth value that nothing is known of.
  uint64_t drawTruth(uint64_t content);

  /// What unknown integers are drawn from: the numbers that the programs
  /// compare integers with, and their neighbours.
  void setPool(IntegerPool numbers) { pool = std::move(numbers); }
  const IntegerPool &getPool() const { return pool; }

  Choices getChoices() const { return choices; }
  uint64_t getSeed() const { return seed; }
  /// Whether an outcome was looked at that is one of several: what holds for it
  /// may not hold for others.
  bool hasSampled() const { return sampled; }
  /// Whether there was a choice that other models decide otherwise: anything,
  /// or a bound by a constant.
  bool hasChosen() const { return chosen; }
  bool hasBounded() const { return bounded; }
  void noteSampled() { sampled = true; }

private:
  bool drawBit(uint64_t random) const;
  /// The order of two elements, not both of them numbers, where outcomes are
  /// drawn: below zero, zero, or above. It stays, and further orders of an
  /// unknown and numbers fit it.
  int drawOrder(uint64_t a, uint64_t b);
  /// The number that an element is known, or was drawn, to be.
  std::optional<double> getNumber(uint64_t element) const;
  uint64_t getExtreme(llvm::ArrayRef<uint64_t> elements,
                      FreeSemilattice &extremes, bool isMaximum);
  uint64_t bound(uint64_t a, uint64_t b, bool isBelow);
  uint64_t findBound(uint64_t a, uint64_t b, bool isBelow);
  uint64_t boundUnknown(uint64_t a, uint64_t b, bool isBelow);

  /// What a value lies between, as bounds by numbers have left it.
  struct Range {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
  };

  Choices choices;
  uint64_t seed;
  llvm::DenseSet<uint64_t> constants = {0};
  llvm::DenseMap<uint64_t, double> numbers;
  llvm::DenseMap<uint64_t, Range> ranges;
  /// In `Choices::Sampled`, by distance of two elements, the order of the one
  /// that it leads from (-1, 0, 1), and what unknowns lie between by it.
  llvm::DenseMap<uint64_t, int> orders;
  llvm::DenseMap<uint64_t, Range> drawnRanges;
  /// Unknowns that were drawn to be equal to numbers.
  llvm::DenseMap<uint64_t, double> drawnNumbers;
  /// By hash of two elements and the side: which was drawn to be their bound.
  llvm::DenseMap<uint64_t, uint64_t> drawnBounds;
  llvm::DenseSet<uint64_t> fixed;
  llvm::DenseSet<uint64_t> infinite;
  /// Truth values that became bits, by the smaller one of each and its
  /// negation.
  llvm::DenseMap<uint64_t, bool> bits;
  uint64_t numOps = 0;
  /// One bit in 2^rareness is another one than most, which are `usual`.
  unsigned rareness = 1;
  bool usual = false;
  bool sampled = false;
  bool chosen = false;
  bool bounded = false;
  IntegerPool pool{{0, 1, 2, 3, -1, 7, 100}};
  FreeSemilattice maxima{0x3c6ef372fe94f82b};
  FreeSemilattice minima{0xa54ff53a5f1d36f1};
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_SCALARCONTEXT_H
