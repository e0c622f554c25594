//===- ScalarContext.cpp - choices and unknowns of an evaluation *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/ScalarContext.h"

#include "FieldFunctions.h"
#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute::equivalence;

//===----------------------------------------------------------------------===//
// FreeSemilattice
//===----------------------------------------------------------------------===//

llvm::ArrayRef<uint64_t>
FreeSemilattice::getMembers(const uint64_t &element) const {
  auto known = members.find(element);
  return known == members.end() ? llvm::ArrayRef(element)
                                : llvm::ArrayRef(known->second);
}

uint64_t FreeSemilattice::join(uint64_t a, uint64_t b) {
  if (a == b)
    return a;
  llvm::ArrayRef<uint64_t> ofA = getMembers(a), ofB = getMembers(b);
  std::vector<uint64_t> all;
  all.reserve(ofA.size() + ofB.size());
  std::set_union(ofA.begin(), ofA.end(), ofB.begin(), ofB.end(),
                 std::back_inserter(all));
  if (all.size() == ofA.size())
    return a;
  if (all.size() == ofB.size())
    return b;
  uint64_t result = key;
  for (uint64_t member : all)
    result = PrimeField::mix(member, result);
  members.try_emplace(result, std::move(all));
  return result;
}

//===----------------------------------------------------------------------===//
// ScalarContext
//===----------------------------------------------------------------------===//

namespace {
/// The difference of two elements, which decides about both orders of them.
struct Distance {
  Distance(uint64_t a, uint64_t b) : value(PrimeField::subtract(b, a)) {
    uint64_t opposite = PrimeField::negate(value);
    isSwapped = opposite < value;
    if (isSwapped)
      value = opposite;
  }
  uint64_t value;
  bool isSwapped;
};
} // namespace

static constexpr uint64_t equalKey = 0x510e527fade682d1;
static constexpr uint64_t lessKey = 0x9b05688c2b3e6c1f;
static constexpr uint64_t nanKey = 0x1f83d9abfb41bd6b;
static constexpr uint64_t bitKey = 0x5be0cd19137e2179;
static constexpr uint64_t orderKey = 0x6a09e667f3bcc908;

uint64_t ScalarContext::drawTruth(uint64_t content) {
  uint64_t unknown = PrimeField::mix(content, bitKey + seed);
  if (choices == Choices::Symbolic)
    return unknown;
  noteSampled();
  return unknown & 1;
}

uint64_t ScalarContext::isEqual(uint64_t a, uint64_t b) {
  if (a == b)
    return 1;
  return drawTruth(PrimeField::mix(Distance(a, b).value, equalKey));
}

uint64_t ScalarContext::isLess(uint64_t a, uint64_t b) {
  if (a == b)
    return 0;
  // Exactly one of a < b, a == b and b < a holds: the three add up to 1.
  Distance distance(a, b);
  uint64_t equal = isEqual(a, b);
  uint64_t less = drawTruth(PrimeField::mix(distance.value, lessKey));
  if (choices == Choices::Sampled) {
    if (equal)
      return 0;
    return distance.isSwapped ? 1 - less : less;
  }
  return distance.isSwapped
             ? PrimeField::subtract(PrimeField::subtract(1, equal), less)
             : less;
}

uint64_t ScalarContext::isNan(uint64_t a) {
  return drawTruth(PrimeField::mix(a, nanKey));
}

uint64_t ScalarContext::getMaximum(uint64_t a, uint64_t b) {
  if (choices == Choices::Symbolic)
    return maxima.join(a, b);
  if (a != b)
    noteSampled();
  auto place = [&](uint64_t x) {
    return std::pair(PrimeField::mix(x, orderKey + seed), x);
  };
  return place(a) < place(b) ? b : a;
}

uint64_t ScalarContext::getMinimum(uint64_t a, uint64_t b) {
  if (choices == Choices::Symbolic)
    return minima.join(a, b);
  return getMaximum(a, b) == a ? b : a;
}

bool ScalarContext::toBit(uint64_t truth) {
  if (truth <= 1)
    return truth == 1;
  noteSampled();
  return PrimeField::mix(truth, bitKey ^ seed) & 1;
}

int64_t ScalarContext::drawInteger(uint64_t content, mlir::Type type) const {
  uint64_t choice = PrimeField::mix(content, bitKey + 2 * seed + 1);
  return static_cast<int64_t>(wrapInteger(pool[choice % pool.size()], type));
}
