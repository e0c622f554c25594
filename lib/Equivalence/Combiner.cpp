//===- Combiner.cpp - reductions of field elements --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"

#include "commute/Equivalence/PrimeField.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::ReductionKind;

Combiner::Combiner(ScalarContext &context, ReductionKind kind, Type from,
                   Type to)
    : context(context), kind(kind), from(from), to(to),
      isTruth(isTruthType(to)), isField(isFieldType(to)),
      isComplex(isa<ComplexType>(to)) {}

uint64_t Combiner::prepare(uint64_t element, int64_t weight) const {
  uint64_t value = convertElement(context, element, from, to);
  if (weight == 1 || isTruth)
    return value;
  auto count = static_cast<uint64_t>(weight);
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return isField ? multiply(value, PrimeField::reduce(count)) : value * count;
  case ReductionKind::Product: {
    if (isField)
      return PrimeField::power(value, count);
    uint64_t result = 1;
    for (; count; count >>= 1, value *= value)
      if (count & 1)
        result *= value;
    return result;
  }
  case ReductionKind::Max:
  case ReductionKind::Min:
    return value;
  }
  llvm_unreachable("a reduction that is not listed");
}

uint64_t Combiner::multiply(uint64_t value, uint64_t number) const {
  uint64_t result = PrimeField::multiply(value, number);
  context.getLogarithms().noteMultiple(value, result);
  if (isComplex) {
    ComplexParts &parts = context.getComplexParts();
    auto [real, imaginary] = parts.get(value);
    parts.note(result, {PrimeField::multiply(real, number),
                        PrimeField::multiply(imaginary, number)});
  }
  return result;
}

uint64_t Combiner::add(ArrayRef<uint64_t> elements) const {
  uint64_t sum = 0;
  for (uint64_t element : elements)
    sum = PrimeField::add(sum, element);
  context.getLogarithms().noteScaledSum(elements, sum);
  context.getMonotoneImages().noteSum(elements, sum);
  if (isComplex) {
    ComplexParts::Parts all = {0, 0};
    for (uint64_t element : elements) {
      auto [real, imaginary] = context.getComplexParts().get(element);
      all = {PrimeField::add(all.first, real),
             PrimeField::add(all.second, imaginary)};
    }
    context.getComplexParts().note(sum, all);
  }
  return sum;
}

uint64_t Combiner::combine(uint64_t a, uint64_t b) const {
  if (isTruth) {
    uint64_t both = PrimeField::multiply(a, b);
    bool isAnd = kind == ReductionKind::Min || kind == ReductionKind::Product;
    return isAnd ? both : PrimeField::subtract(PrimeField::add(a, b), both);
  }
  auto ia = static_cast<int64_t>(a), ib = static_cast<int64_t>(b);
  switch (kind) {
  case ReductionKind::Sum:
  case ReductionKind::Avg:
    return isField ? add({a, b}) : a + b;
  case ReductionKind::Product:
    return isField ? PrimeField::multiply(a, b) : a * b;
  case ReductionKind::Max:
    return isField ? context.getMaximum({a, b})
                   : static_cast<uint64_t>(std::max(ia, ib));
  case ReductionKind::Min:
    return isField ? context.getMinimum({a, b})
                   : static_cast<uint64_t>(std::min(ia, ib));
  }
  llvm_unreachable("a reduction that is not listed");
}

uint64_t Combiner::combine(ArrayRef<uint64_t> elements) const {
  if (elements.empty()) {
    bool isAnd = isTruth && kind == ReductionKind::Min;
    return kind == ReductionKind::Product || isAnd ? 1 : 0;
  }
  if (isField && kind == ReductionKind::Max)
    return context.getMaximum(elements);
  if (isField && kind == ReductionKind::Min)
    return context.getMinimum(elements);
  bool isSum = kind == ReductionKind::Sum || kind == ReductionKind::Avg;
  if (isField && isSum)
    return add(elements);
  uint64_t result = elements.front();
  for (uint64_t element : elements.drop_front())
    result = combine(result, element);
  return result;
}

uint64_t Combiner::finish(uint64_t value, int64_t count) const {
  if (kind == ReductionKind::Avg && count == 0 && isField)
    return getNotANumber(context);
  if (kind == ReductionKind::Avg && count > 0 && !isTruth)
    return isField
               ? multiply(value,
                          PrimeField::invert(PrimeField::fromInteger(count)))
               : static_cast<uint64_t>(static_cast<int64_t>(value) / count);
  return isField || isTruth ? value
                            : wrapInteger(static_cast<int64_t>(value), to);
}
