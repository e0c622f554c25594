//===- IntegerPool.cpp - where unknown integers come from -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/IntegerPool.h"

#include "commute/Dialect/ScalarFunctions.h"
#include "commute/Equivalence/PrimeField.h"

#include "llvm/Support/ErrorHandling.h"

#include <algorithm>
#include <cmath>

using namespace commute;
using namespace commute::equivalence;

IntegerPool::Drawing IntegerPool::choose(uint64_t round, uint64_t source,
                                         bool isListed) {
  constexpr Way ways[] = {Way::Listed, Way::Wide, Way::Near,  Way::Odd,
                          Way::Listed, Way::Near, Way::Sparse};
  if (round >= firstApart && round < 2 * firstApart)
    return {Way::Apart, round - firstApart, source};
  if (round % sweepPeriod == sweepPeriod - 1)
    return {Way::Sweep, round / sweepPeriod, source};
  uint64_t other =
      round / sweepPeriod * (sweepPeriod - 1) + round % sweepPeriod;
  uint64_t choice = PrimeField::mix(round, source);
  Way way = ways[(other % 2 ? choice : other / 2) % std::size(ways)];
  if (isListed && (way == Way::Wide || way == Way::Odd))
    way = Way::Listed;
  return {way, PrimeField::mix(1, choice), source};
}

double IntegerPool::getBits(Way way) const {
  auto count = static_cast<double>(std::max<size_t>(numbers.size(), 1));
  switch (way) {
  case Way::Listed:
  case Way::Sweep:
    return std::log2(count);
  case Way::Near:
    return std::log2(std::min(count, 3.0));
  case Way::Sparse:
  case Way::Apart:
    // Most are the same number.
    return 0;
  case Way::Wide:
  case Way::Odd:
    return 20;
  }
  llvm_unreachable("a way of drawing that is not listed");
}

uint64_t IntegerPool::draw(uint64_t content, uint64_t place, Drawing drawing,
                           mlir::Type type) const {
  constexpr uint64_t range = uint64_t(1) << 20;
  int64_t wide =
      static_cast<int64_t>(content % (2 * range)) - static_cast<int64_t>(range);
  switch (drawing.way) {
  case Way::Listed:
  case Way::Apart:
    return tp::wrapInteger(numbers[content % numbers.size()], type);
  case Way::Near:
    return tp::wrapInteger(
        numbers[(drawing.choice + content % 3) % numbers.size()], type);
  case Way::Sparse: {
    // One in 2 to 64.
    bool isOther = (content >> 40) % (uint64_t(2) << drawing.choice % 6) == 0;
    return tp::wrapInteger(
        isOther ? numbers[content % numbers.size()] : numbers.front(), type);
  }
  case Way::Sweep: {
    // Sources move against each other once they have taken all numbers, so that
    // two of them take all pairs.
    uint64_t size = numbers.size();
    uint64_t shift = drawing.choice / size % size * (drawing.source % size);
    return tp::wrapInteger(
        numbers[(place % size + drawing.choice % size + shift) % size], type);
  }
  case Way::Wide:
    return tp::wrapInteger(wide, type);
  case Way::Odd:
    return tp::wrapInteger(wide | 1, type);
  }
  llvm_unreachable("a way of drawing that is not listed");
}

uint64_t IntegerPool::drawApart(uint64_t content, bool isApart,
                                mlir::Type type) const {
  uint64_t choice = isApart ? content >> 32 : content;
  return tp::wrapInteger(numbers[choice % numbers.size()], type);
}
