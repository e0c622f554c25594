//===- IntegerPool.h - where unknown integers come from ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_INTEGERPOOL_H
#define COMMUTE_EQUIVALENCE_INTEGERPOOL_H

#include "mlir/IR/Types.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace commute::equivalence {

/// The numbers from which unknown integers are drawn.
///
/// Integers are evaluated exactly, so their distribution decides which
/// differences are found. Five things hide differences: numbers without a
/// threshold of the programs between them, thresholds that nearly all numbers
/// are on one side of (some row then has no other ones), extremes that occur
/// more than once (the largest element of half a tensor is then that of the
/// whole), factors of zero or two (a product of many is then zero), and sums of
/// many, which hardly ever are one given number. Therefore rounds alternate
/// between five ways of drawing. In every third round, each integer takes the
/// next number of the pool instead, so that even a single integer has taken all
/// of them after as many of these rounds as there are numbers.
class IntegerPool {
public:
  enum class Way {
    /// The numbers of the pool.
    Listed,
    /// Three neighbours in the pool.
    Near,
    /// Any numbers up to 2^20, which are mostly different. Products of three of
    /// them are exact.
    Wide,
    /// Odd numbers up to 2^20.
    Odd,
    /// Numbers of the pool among many of its first one, which is zero where it
    /// may be.
    Sparse,
    /// The numbers of the pool, one after the other.
    Sweep,
    /// Two numbers of the pool: one element of a tensor or of each of its rows
    /// along one dim, or as many as a number of the pool, are the one, and all
    /// others are the other.
    Apart,
  };
  /// Rounds from this one on, up to twice as many, draw elements apart from all
  /// others, other ones in each round.
  static constexpr uint64_t firstApart = uint64_t(1) << 62;
  /// One round in this many sweeps.
  static constexpr uint64_t sweepPeriod = 3;

  /// `numbers` are the numbers to draw from. Integers that are not elements of
  /// a tensor are sometimes the first of them.
  IntegerPool(std::vector<int64_t> numbers) : numbers(std::move(numbers)) {}

  llvm::ArrayRef<int64_t> getNumbers() const { return numbers; }
  /// How the integers of one source are drawn in one round.
  struct Drawing {
    Way way;
    /// Which neighbours, how many rounds have swept before, or how many have
    /// drawn elements apart.
    uint64_t choice;
    uint64_t source;
  };
  /// In every other round that does not sweep, all sources use the same way, so
  /// that an op on integers of two sources meets each way. `isListed`: only
  /// numbers of the pool may be drawn.
  static Drawing choose(uint64_t round, uint64_t source, bool isListed);
  /// Returns at least how many bits of surprise it would be if two integers
  /// that were drawn this way were equal: k, if they are with probability 2^-k.
  double getBits(Way way) const;
  /// Draws an integer as an element of `type`. `place` is a hash of where the
  /// integer is, equal in all rounds; `content` is one that differs between
  /// rounds.
  uint64_t draw(uint64_t content, uint64_t place, Drawing drawing,
                mlir::Type type) const;
  /// Draws an integer apart from the others of a row, or one of these others.
  /// `content` is the same for all elements of a row.
  uint64_t drawApart(uint64_t content, bool isApart, mlir::Type type) const;

private:
  std::vector<int64_t> numbers;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_INTEGERPOOL_H
