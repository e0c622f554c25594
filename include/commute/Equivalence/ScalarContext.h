//===- ScalarContext.h - choices and unknowns of an evaluation --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_SCALARCONTEXT_H
#define COMMUTE_EQUIVALENCE_SCALARCONTEXT_H

#include "commute/Equivalence/ComplexParts.h"
#include "commute/Equivalence/IntegerPool.h"
#include "commute/Equivalence/Logarithms.h"
#include "commute/Equivalence/Magnitudes.h"
#include "commute/Equivalence/MonotoneImages.h"
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

/// How the truth value of a float comparison is modelled.
enum class Choices {
  /// An unknown number c, so that `where(c, a, b)` is c a + (1 - c) b, and the
  /// maximum of some values is an unknown that depends on their set. This model
  /// is more general than truth values: values that are equal in it are equal
  /// for both outcomes.
  Symbolic,
  /// The same, but bounds by constants are choices: the maximum of x and a
  /// constant c is `where(x > c, x, c)`. This model is also more general than
  /// truth values. It serves programs that spell bounds by comparisons.
  SymbolicBounds,
  /// The same with `where(x >= c, x, c)`.
  SymbolicClosedBounds,
  /// A random bit: laws that use c c = c hold too. One evaluation covers one
  /// outcome of each comparison, so equality in this model is not a proof.
  Sampled,
};

/// A semilattice without further laws: the maximum (or minimum) of elements is
/// an unknown that depends only on the set of elements.
class FreeSemilattice {
public:
  explicit FreeSemilattice(uint64_t key) : key(key) {}

  /// The elements that `elements` are the joins of, ascending.
  std::vector<uint64_t> getAllMembers(llvm::ArrayRef<uint64_t> elements) const;
  /// The join of `members`, which ascend; there is at least one.
  uint64_t join(std::vector<uint64_t> members);
  /// True if `element` is the join of `member` and others.
  bool contains(uint64_t element, uint64_t member) const {
    return llvm::is_contained(getMembers(element), member);
  }
  /// The elements that `element` is the join of, ascending.
  llvm::ArrayRef<uint64_t> getMembers(const uint64_t &element) const;

private:
  uint64_t key;
  /// For each unknown, the elements that it is the join of, ascending.
  llvm::DenseMap<uint64_t, std::vector<uint64_t>> membersOf;
};

/// State shared by the scalar functions on all ranks.
class ScalarContext {
public:
  ScalarContext(Choices choices, uint64_t seed) : choices(choices), seed(seed) {
    noteNumber(0, 0);
  }

  /// Compares field elements. The result is a truth value: 0, 1, or an unknown.
  uint64_t isEqual(uint64_t a, uint64_t b);
  /// True if two elements are identical, or were drawn to be equal.
  bool areAlike(uint64_t a, uint64_t b) const;
  uint64_t isLess(uint64_t a, uint64_t b);
  /// The same of numbers that are whole. `a < b` is `a + 1 <= b` then.
  uint64_t isWholeEqual(uint64_t a, uint64_t b);
  uint64_t isWholeLess(uint64_t a, uint64_t b);
  /// With fixed inputs, whole numbers are taken for known that may, rarely, be
  /// unknown ones: the search for integers that show a difference is checked.
  void setHasFixedNumbers(bool has) { hasFixedNumbers = has; }
  uint64_t isNan(uint64_t a);
  /// The maximum or minimum of two operands, of which one may be a bound.
  uint64_t boundBelow(uint64_t a, uint64_t b) { return bound(a, b, true); }
  uint64_t boundAbove(uint64_t a, uint64_t b) { return bound(a, b, false); }
  /// Records the number that an element is: elements of constants, and of
  /// floats made of integers, are compared as numbers.
  void noteNumber(uint64_t element, double number) {
    numbers.try_emplace(element, number);
  }
  /// The number that was noted for an element, or for its opposite.
  std::optional<double> getNotedNumber(uint64_t element) const {
    if (auto noted = numbers.find(element); noted != numbers.end())
      return noted->second;
    if (auto noted = numbers.find(PrimeField::negate(element));
        noted != numbers.end())
      return -noted->second;
    return std::nullopt;
  }
  /// The number that an element is known to be: one that was noted, or a small
  /// fraction, such as a count.
  std::optional<double> getKnownNumber(uint64_t element) const;
  /// True if an element is known to be a negative number: one that was noted,
  /// the negation of one, or a fraction.
  bool isNegative(uint64_t element) const;
  /// Records an element of a constant, which may also be a bound.
  void noteConstant(uint64_t element, double number) {
    noteNumber(element, number);
    constants.insert(element);
    if (!std::isfinite(number))
      noteInfinite(element);
  }
  /// Records a value that is infinite or no number, such as 1/0: zero times
  /// such a value is not zero, nor is its difference from itself.
  void noteInfinite(uint64_t element) { infinite.insert(element); }
  bool isInfinite(uint64_t element) const {
    return !infinite.empty() && infinite.contains(element);
  }
  /// Records that an idempotent function does not change `element`. `law` names
  /// the property of its results, such as being whole numbers.
  void noteFixed(uint64_t element, uint64_t law) {
    fixed.insert(PrimeField::mix(element, law));
  }
  bool isFixed(uint64_t element, uint64_t law) const {
    return fixed.contains(PrimeField::mix(element, law));
  }
  /// The maximum or minimum of `elements`, of which there is at least one.
  uint64_t getMaximum(llvm::ArrayRef<uint64_t> elements) {
    return getExtreme(elements, true);
  }
  uint64_t getMinimum(llvm::ArrayRef<uint64_t> elements) {
    return getExtreme(elements, false);
  }
  /// The magnitude of an element: the maximum of it and its opposite.
  uint64_t getAbsolute(uint64_t a);
  /// Records that `result` is the product of two elements, or the quotient.
  void noteProduct(uint64_t a, uint64_t b, uint64_t result);
  void noteQuotient(uint64_t a, uint64_t b, uint64_t result);
  /// Compares elements, and chooses the larger of them, like a sort does. Only
  /// for drawn choices.
  void setOrdersByKeys(bool orders) { ordersByKeys = orders; }
  /// A number by which elements are sorted: the number that an element is, or
  /// one that is drawn for an unknown.
  double getSortKey(uint64_t element);
  /// Begins an op that reads at most `numElements` elements of one value on
  /// each of `numRanks` ranks. Truth values that first become bits in this op
  /// are drawn with one probability, which may be near zero, or one in all.
  void beginOp(size_t numElements, size_t numRanks);
  /// Draws a truth value that decides about an integer as a bit. Its negation
  /// gets the opposite bit.
  bool toBit(uint64_t truth);
  /// Draws an unknown integer, such as a float cast to an integer, from the
  /// pool by `content`.
  int64_t drawInteger(uint64_t content, mlir::Type type) const;
  /// Draws an unknown truth value.
  uint64_t drawTruth(uint64_t content);

  /// Sets the numbers from which unknown integers are drawn: the numbers that
  /// the programs compare integers with, and their neighbours.
  void setPool(IntegerPool numbers) { pool = std::move(numbers); }
  const IntegerPool &getPool() const { return pool; }

  Logarithms &getLogarithms() { return logarithms; }
  ComplexParts &getComplexParts() { return complexParts; }
  MonotoneImages &getMonotoneImages() { return monotoneImages; }

  /// The element of a constant that a function is defined with.
  uint64_t getElement(double number);
  /// The elements for infinity and NaN.
  uint64_t getInfinity() const { return infinity; }
  uint64_t getNotANumber() const { return notANumber; }

  Choices getChoices() const { return choices; }
  uint64_t getSeed() const { return seed; }
  /// True if the evaluation covered only one of several outcomes: its result
  /// may not hold for the others.
  bool hasSampled() const { return sampled; }
  /// True if there was a choice that other models decide differently: any
  /// choice for `hasChosen`, a bound by a constant for `hasBounded`.
  bool hasChosen() const { return chosen; }
  bool hasBounded() const { return bounded; }
  /// True if unknowns were sorted, so that it matters whether some are equal.
  bool hasSorted() const { return sorted; }
  /// True if an integer was divided by zero, an error in PyTorch, since the
  /// flag was cleared.
  bool hasDividedByZero() const { return dividedByZero; }
  void noteDivisionByZero() { dividedByZero = true; }
  void clearDivisionByZero() { dividedByZero = false; }
  void noteSampled() { sampled = true; }

private:
  bool hasFixedNumbers = false;
  bool ordersByKeys = false;
  /// True if a whole number is above zero.
  uint64_t isPositiveWhole(uint64_t a);
  /// The range of a value after bounds by numbers.
  struct Range {
    double least = -std::numeric_limits<double>::infinity();
    double most = std::numeric_limits<double>::infinity();
    bool operator==(const Range &other) const = default;
  };

  bool drawBit(uint64_t random) const;
  /// One in two to this many drawn bits differs from the others; see drawBit.
  unsigned getShift() const;
  /// Draws the order of two elements, not both of them numbers: below zero,
  /// zero, or above. The order is kept, and later orders of an unknown and
  /// numbers are consistent with it.
  int drawOrder(uint64_t a, uint64_t b);
  /// The number that an element is known, or was drawn, to be.
  std::optional<double> getNumber(uint64_t element) const;
  /// What is known of the numbers that an unknown may be.
  Range getRange(uint64_t element) const;
  void noteRange(uint64_t element, Range range);
  uint64_t getExtreme(llvm::ArrayRef<uint64_t> elements, bool isMaximum);
  /// True if `element` is the minimum of `member` and others.
  bool isMinimumOf(uint64_t element, uint64_t member) const {
    return maxima.contains(PrimeField::negate(element),
                           PrimeField::negate(member));
  }
  /// Drops members that are minima of other members, and so not above these.
  void dropMinima(std::vector<uint64_t> &members) const;
  /// Drops the members that numbers bound: of all numbers, only the greatest
  /// matters, and only if no unknown is known to be beyond it. Returns the
  /// number that is kept.
  std::optional<double> dropBounded(std::vector<uint64_t> &members) const;
  /// True if a maximum is not below the magnitude of `element`.
  bool boundsMagnitude(uint64_t maximum, uint64_t element) const {
    return maxima.contains(maximum, element) &&
           maxima.contains(maximum, PrimeField::negate(element));
  }
  /// Records that the magnitude of an element is at most that of a number.
  void noteMagnitude(uint64_t element, uint64_t number);
  uint64_t bound(uint64_t a, uint64_t b, bool isBelow);
  uint64_t findBound(uint64_t a, uint64_t b, bool isBelow);
  uint64_t boundUnknown(uint64_t a, uint64_t b, bool isBelow);

  Choices choices;
  uint64_t seed;
  // They depend on the modulus, and sums are compared with them.
  uint64_t infinity =
      PrimeField::fromDouble(std::numeric_limits<double>::infinity());
  uint64_t notANumber =
      PrimeField::fromDouble(std::numeric_limits<double>::quiet_NaN());
  /// The elements of doubles, by their bits.
  llvm::DenseMap<uint64_t, uint64_t> elements;
  llvm::DenseSet<uint64_t> constants = {0};
  llvm::DenseMap<uint64_t, double> numbers;
  llvm::DenseMap<uint64_t, Range> ranges;
  /// In `Choices::Sampled`, for each distance between two elements, the order
  /// of the element that it starts from (-1, 0, 1), and the ranges of unknowns
  /// that follow from the drawn orders.
  llvm::DenseMap<uint64_t, int> orders;
  llvm::DenseMap<uint64_t, Range> drawnRanges;
  /// Unknowns that were drawn to be equal to numbers.
  llvm::DenseMap<uint64_t, double> drawnNumbers;
  /// By hash of two elements and the side: which was drawn to be their bound.
  llvm::DenseMap<uint64_t, uint64_t> drawnBounds;
  llvm::DenseSet<uint64_t> fixed;
  llvm::DenseSet<uint64_t> infinite;
  Logarithms logarithms;
  Magnitudes magnitudes;
  ComplexParts complexParts;
  MonotoneImages monotoneImages;
  /// Bits of truth values, keyed by the smaller of the value and its negation.
  llvm::DenseMap<uint64_t, bool> bits;
  uint64_t numOps = 0;
  /// This share of bits, in units of 2^-32, differs from the others, which are
  /// `usual`.
  uint64_t rareShare = uint64_t(1) << 31;
  bool usual = false;
  bool sampled = false;
  bool sorted = false;
  bool dividedByZero = false;
  bool chosen = false;
  bool bounded = false;
  IntegerPool pool{{0, 1, 2, 3, -1, 7, 100}};
  /// Minima are the opposites of the maxima of opposite elements.
  FreeSemilattice maxima{0x3c6ef372fe94f82b};
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_SCALARCONTEXT_H
