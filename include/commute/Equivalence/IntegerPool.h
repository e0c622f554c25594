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
/// differences are found. Three things hide differences: numbers without a
/// threshold of the programs between them, extremes that occur more than once
/// (the largest element of half a tensor is then that of the whole), and
/// factors of zero or two (a product of many is then zero). Therefore rounds
/// alternate between three ways of drawing.
class IntegerPool {
public:
  enum class Way {
    /// The numbers of the pool.
    Listed,
    /// Any numbers up to 2^20, which are mostly different. Products of three of
    /// them are exact.
    Wide,
    /// Odd numbers up to 2^20.
    Odd,
  };

  /// `numbers` are the numbers to draw from. Integers that are not elements of
  /// a tensor are sometimes the first of them.
  IntegerPool(std::vector<int64_t> numbers) : numbers(std::move(numbers)) {}

  llvm::ArrayRef<int64_t> getNumbers() const { return numbers; }
  /// The way of a round for the integers of one source. In every other round
  /// all sources use the same way, so that an op on integers of two sources
  /// meets each way.
  static Way chooseWay(uint64_t round, uint64_t source);
  /// Draws the integer for `content`, a hash, as an element of `type`.
  uint64_t draw(uint64_t content, Way way, mlir::Type type) const;

private:
  std::vector<int64_t> numbers;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_INTEGERPOOL_H
