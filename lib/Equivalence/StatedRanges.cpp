//===- StatedRanges.cpp - integers of inputs within bounds ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "StatedRanges.h"

using namespace commute;
using namespace commute::equivalence;

std::optional<IntegerPool>
equivalence::getPoolInRange(const DimSamples &dims, unsigned argument,
                            const VerifyOptions &options) {
  std::optional<IntegerPool> pool = dims.getPool(argument);
  auto range = options.ranges.find(argument);
  if (range == options.ranges.end())
    return pool;
  const IntegerUnion &legal = range->second;
  std::vector<int64_t> numbers;
  auto add = [&](int64_t number) {
    if (legal.contains(number) && !llvm::is_contained(numbers, number))
      numbers.push_back(number);
  };
  add(0);
  for (auto [low, high] : legal.getIntervals()) {
    add(low);
    add(high - 1);
  }
  const IntegerPool &known = pool ? *pool : dims.getPool();
  for (int64_t number : known.getNumbers())
    add(number);
  return IntegerPool(std::move(numbers));
}
