//===- Logarithms.cpp - sums with logarithms and maxima ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Logarithms.h"

#include "commute/Equivalence/PrimeField.h"

using namespace commute::equivalence;

void Logarithms::add(uint64_t element, Form form) {
  if (!forms.try_emplace(element, form).second)
    return;
  auto setBit = [&](uint64_t own) {
    filter[getWord(own)] |= uint64_t(1) << own % 64;
  };
  constexpr size_t leastWords = 1 << 12, bitsPerForm = 16;
  if (forms.size() * bitsPerForm <= filter.size() * 64)
    return setBit(element);
  filter.assign(std::max(leastWords, 2 * filter.size()), 0);
  for (const auto &[own, known] : forms)
    setBit(own);
}

void Logarithms::noteMaximum(uint64_t element) {
  constexpr uint64_t maximumKey = 0x6a09e667f3bcc908;
  if (!opaque.contains(element))
    note(element, PrimeField::mix(element, maximumKey));
}

void Logarithms::noteSum(uint64_t a, uint64_t b, bool subtracts,
                         uint64_t result) {
  if (!recordsSums)
    return;
  std::optional<Form> first = find(a), second = find(b);
  if ((!first && !second) || opaque.contains(result))
    return;
  Form x = first.value_or(Form{a, 1}), y = second.value_or(Form{b, 1});
  if (subtracts && y.factor == 0)
    return;
  if (subtracts && y.factor != divisor) {
    divisor = y.factor;
    inverse = PrimeField::invert(divisor);
  }
  uint64_t factor =
      PrimeField::multiply(x.factor, subtracts ? inverse : y.factor);
  if (factor == 1)
    return;
  add(result, Form{subtracts ? PrimeField::subtract(x.rest, y.rest)
                             : PrimeField::add(x.rest, y.rest),
                   factor});
}

void Logarithms::noteScaledSum(llvm::ArrayRef<uint64_t> elements,
                               uint64_t result) {
  if (elements.empty())
    return;
  std::optional<Scale> scale = findScale(elements.front());
  if (!scale)
    return;
  for (uint64_t element : elements.drop_front()) {
    std::optional<Scale> own = findScale(element);
    if (!own || own->factor != scale->factor)
      return;
  }
  noteScale(result, *scale);
}

void Logarithms::noteScaledProduct(uint64_t a, uint64_t b, uint64_t result) {
  std::optional<Scale> first = findScale(a);
  std::optional<Scale> second = first ? findScale(b) : std::nullopt;
  if (!second)
    return;
  uint64_t factor = PrimeField::multiply(first->factor, second->factor);
  if (factor != 1)
    noteScale(result,
              {factor, PrimeField::add(first->logarithm, second->logarithm)});
}
