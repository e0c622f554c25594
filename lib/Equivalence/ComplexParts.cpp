//===- ComplexParts.cpp - real and imaginary parts of elements ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/ComplexParts.h"

using namespace commute::equivalence;

uint64_t ComplexParts::getRoot() {
  // The power (p - 1) / 4 of a number that is no square.
  uint64_t p = PrimeField::getPrime();
  for (uint64_t number = 2; root == 0; ++number)
    if (PrimeField::power(number, (p - 1) / 2) == p - 1)
      root = PrimeField::power(number, (p - 1) / 4);
  return root;
}

ComplexParts::Parts ComplexParts::get(uint64_t element) {
  constexpr uint64_t realKey = 0x428a2f98d728ae22;
  auto [parts, isNew] = known.try_emplace(element);
  if (isNew) {
    uint64_t real = PrimeField::mix(element, realKey);
    // The inverse of i is -i.
    uint64_t imaginary =
        PrimeField::multiply(PrimeField::subtract(real, element), getRoot());
    parts->second = {real, imaginary};
  }
  return parts->second;
}
