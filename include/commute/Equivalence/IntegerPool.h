// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.

#ifndef COMMUTE_EQUIVALENCE_INTEGERPOOL_H
#define COMMUTE_EQUIVALENCE_INTEGERPOOL_H

#include "mlir/IR/Types.h"

#include <cstdint>
#include <vector>

namespace commute::equivalence {

/// What integers that nothing is known of are drawn from.
///
/// An integer is computed with as it is, so what it is drawn from decides which
/// differences can be seen. Three things hide them: numbers that no threshold
/// of the programs lies between, extremes that occur more than once (the
/// largest element of half a tensor is then that of the whole), and factors of
/// zero or two (a product of many is then zero). Hence three ways of drawing,
/// by turns.
class IntegerPool {
public:
  enum class Way {
    /// The numbers of the pool.
    Listed,
    /// Any up to 2^20, which are mostly different. Products of three of them
    /// are exact.
    Wide,
    /// As `Wide`, but odd.
    Odd,
  };

  /// Numbers to draw from, of which the first one is what numbers that are no
  /// elements of a tensor are now and then.
  IntegerPool(std::vector<int64_t> numbers) : numbers(std::move(numbers)) {}

  llvm::ArrayRef<int64_t> getNumbers() const { return numbers; }
  /// The way of a round for the integers of one source. In every other round it
  /// is that of all sources, so that each way is met by what mixes two of them.
  static Way chooseWay(uint64_t round, uint64_t source);
  /// The integer for `content`, a hash, as an element of `type`.
  uint64_t draw(uint64_t content, Way way, mlir::Type type) const;

private:
  std::vector<int64_t> numbers;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_INTEGERPOOL_H
