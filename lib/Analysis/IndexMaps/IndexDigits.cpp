//===- IndexDigits.cpp - addresses counted off along one dim ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IndexMaps/IndexDigits.h"

using namespace mlir;
using namespace commute::analysis;

SizePolynomial commute::analysis::getExtent(ArrayRef<IndexDigit> digits) {
  SizePolynomial extent = 1;
  for (const IndexDigit &digit : digits)
    extent *= digit.extent;
  return extent;
}

void commute::analysis::normalizeDigits(IndexDigits &digits) {
  IndexDigits result;
  for (IndexDigit &digit : digits) {
    if (digit.extent.isConstant(1))
      continue;
    if (!result.empty() &&
        result.back().stride == digit.extent * digit.stride) {
      result.back() = {result.back().extent * digit.extent,
                       std::move(digit.stride)};
      continue;
    }
    result.push_back(std::move(digit));
  }
  digits = std::move(result);
}

std::optional<SizePosition>
commute::analysis::divide(const SizePolynomial &position,
                          const SizePolynomial &block) {
  std::optional<int64_t> number = position.getConstant();
  std::optional<int64_t> divisor = block.getConstant();
  if (number && divisor && *divisor > 0)
    return SizePosition{*number / *divisor, *number % *divisor};
  SizePolynomial quotient = position.divideExactly(block);
  if (quotient.isKnown())
    return SizePosition{quotient, 0};
  return std::nullopt;
}

LogicalResult commute::analysis::sliceDigits(ArrayRef<IndexDigit> digits,
                                             const SizePolynomial &start,
                                             const SizePolynomial &size,
                                             SmallVectorImpl<DigitRun> &runs) {
  SizePolynomial position = 0;
  // Adds what `sliceDigits` of the minor digits gives, at its place.
  auto addMinor = [&](const SizePolynomial &from, const SizePolynomial &count,
                      const SizePolynomial &base) -> LogicalResult {
    size_t first = runs.size();
    if (failed(sliceDigits(digits.drop_front(), from, count, runs)))
      return failure();
    for (DigitRun &run : MutableArrayRef(runs).drop_front(first)) {
      run.position += position;
      run.base += base;
    }
    position += count;
    return success();
  };
  if (size.isConstant(0))
    return success();
  if (start.isConstant(0) && size == getExtent(digits)) {
    runs.push_back({0, IndexDigits(digits), 0});
    return success();
  }
  if (digits.empty())
    return failure();
  const IndexDigit &major = digits.front();
  if (digits.size() == 1) {
    IndexDigits rest{{size, major.stride}};
    normalizeDigits(rest);
    runs.push_back({0, std::move(rest), start * major.stride});
    return success();
  }
  SizePolynomial block = getExtent(digits.drop_front());
  // Within the first block, wherever its border is.
  if ((block - (start + size)).isNonNegative())
    return addMinor(start, size, 0);
  std::optional<SizePosition> first = divide(start, block);
  std::optional<SizePosition> last = divide(start + size, block);
  if (!first || !last)
    return failure();
  SizePolynomial firstBlock = first->quotient;
  const SizePolynomial &firstPosition = first->remainder;
  const SizePolynomial &lastBlock = last->quotient;
  const SizePolynomial &lastPosition = last->remainder;
  if (firstBlock == lastBlock)
    return addMinor(firstPosition, size, firstBlock * major.stride);
  if (!firstPosition.isConstant(0)) {
    if (failed(addMinor(firstPosition, block - firstPosition,
                        firstBlock * major.stride)))
      return failure();
    firstBlock += 1;
  }
  SizePolynomial numBlocks = lastBlock - firstBlock;
  if (!numBlocks.isConstant(0)) {
    IndexDigits whole{{numBlocks, major.stride}};
    whole.append(digits.begin() + 1, digits.end());
    normalizeDigits(whole);
    runs.push_back({position, std::move(whole), firstBlock * major.stride});
    position += numBlocks * block;
  }
  if (lastPosition.isConstant(0))
    return success();
  return addMinor(0, lastPosition, lastBlock * major.stride);
}

LogicalResult commute::analysis::splitDigits(ArrayRef<IndexDigit> digits,
                                             const SizePolynomial &extent,
                                             IndexDigits &major,
                                             IndexDigits &minor) {
  SizePolynomial rest = extent;
  while (!rest.isConstant(1)) {
    if (digits.empty())
      return failure();
    const IndexDigit &digit = digits.back();
    if (SizePolynomial next = rest.divideExactly(digit.extent);
        next.isKnown()) {
      minor.insert(minor.begin(), digit);
      rest = next;
      digits = digits.drop_back();
      continue;
    }
    SizePolynomial upper = digit.extent.divideExactly(rest);
    if (!upper.isKnown())
      return failure();
    minor.insert(minor.begin(), {rest, digit.stride});
    major.assign(digits.begin(), digits.end() - 1);
    major.push_back({upper, digit.stride * rest});
    normalizeDigits(major);
    return success();
  }
  major.assign(digits.begin(), digits.end());
  return success();
}
