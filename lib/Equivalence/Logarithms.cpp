//===- Logarithms.cpp - sums with logarithms --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Logarithms.h"

#include "commute/Equivalence/PrimeField.h"

using namespace commute::equivalence;

void Logarithms::noteSum(uint64_t a, uint64_t b, bool subtracts,
                         uint64_t result) {
  if (forms.empty())
    return;
  std::optional<Form> first = find(a), second = find(b);
  if (!first && !second)
    return;
  Form x = first.value_or(Form{a, 1}), y = second.value_or(Form{b, 1});
  if (subtracts && y.factor == 0)
    return;
  uint64_t factor = PrimeField::multiply(
      x.factor, subtracts ? PrimeField::invert(y.factor) : y.factor);
  if (factor == 1)
    return;
  forms.try_emplace(result,
                    Form{subtracts ? PrimeField::subtract(x.rest, y.rest)
                                   : PrimeField::add(x.rest, y.rest),
                         factor});
}
