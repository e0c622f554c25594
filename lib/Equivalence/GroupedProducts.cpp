//===- GroupedProducts.cpp - products of groups of rows ---------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The group of a row depends on the row's position and on all offsets, so rows
// and groups are evaluated at all indices.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/FieldAlgebra.h"

#include "commute/Equivalence/PrimeField.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

/// Returns the group of each of `rows` rows: the first group whose offset is
/// greater than the row. For a row of no group, this is the number of groups.
static std::vector<size_t> getGroups(ArrayRef<uint64_t> offsets, int64_t rows) {
  std::vector<size_t> groups(rows);
  for (int64_t row = 0; row < rows; ++row)
    groups[row] = llvm::find_if(offsets,
                                [&](uint64_t end) {
                                  return static_cast<int64_t>(end) > row;
                                }) -
                  offsets.begin();
  return groups;
}

/// Adds `factor` times a row to another.
static void addMultiple(uint64_t factor, const uint64_t *row, int64_t count,
                        uint64_t *sum) {
  for (int64_t column = 0; column < count; ++column)
    sum[column] =
        PrimeField::add(sum[column], PrimeField::multiply(factor, row[column]));
}

FieldValue FieldAlgebra::makeWhole(const FieldValue &value, unsigned dim) {
  SampledDim own = value->getDims()[dim];
  if (!own.isUniform && !own.sample->isFull()) {
    fail(SampleProblem::Mismatch, "a dim that is grouped is not whole",
         value->getSizes(), value->getElementType());
    return value;
  }
  return conform(value, dim, getDim(own.getSize()));
}

AlgebraValue FieldAlgebra::multiplyGroups(const AlgebraValue &lhs,
                                          const AlgebraValue &rhs,
                                          const AlgebraValue &offsets,
                                          const AlgebraValue &rest, Type type) {
  bool contracts = rhs->getRank() == 2;
  FieldValue ends = makeWhole(share(offsets), 0);
  FieldValue a = makeWhole(share(lhs), contracts ? 1 : 0);
  FieldValue b = makeWhole(share(rhs), 0);
  FieldValue other = rest ? makeWhole(share(rest), 0) : FieldValue();
  int64_t numGroups = offsets->getSizes()[0];
  SmallVector<int64_t> sizes =
      contracts ? SmallVector<int64_t>{numGroups, lhs->getSizes()[0],
                                       rhs->getSizes()[1]}
                : SmallVector<int64_t>{lhs->getSizes()[0], rhs->getSizes()[2]};
  if (context.problem)
    return fail(SampleProblem::Mismatch, "", sizes, type);
  if (contracts) {
    std::shared_ptr<FieldTensor> result =
        make({getDim(numGroups), a->getDims()[0], b->getDims()[1]}, type);
    if (!result)
      return fail(SampleProblem::TooLarge, "", sizes, type);
    int64_t rows = a->getCounts()[0], inner = a->getCounts()[1];
    int64_t columns = b->getCounts()[1];
    std::vector<size_t> groups = getGroups(ends->elements, inner);
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t row = 0;
           row < rows && groups[k] < static_cast<size_t>(numGroups); ++row)
        addMultiple(a->elements[row * inner + k],
                    b->elements.data() + k * columns, columns,
                    result->elements.data() +
                        (static_cast<int64_t>(groups[k]) * rows + row) *
                            columns);
    return result;
  }
  std::optional<SampledDim> shared = join(a->getDims()[1], b->getDims()[1]);
  std::optional<SampledDim> last = b->getDims()[2];
  if (other)
    last = join(*last, other->getDims()[1]);
  if (!shared || !last)
    return fail(SampleProblem::Mismatch, "operands have different samples",
                sizes, type);
  a = conform(a, 1, *shared);
  b = conform(conform(b, 1, *shared), 2, *last);
  if (other)
    other = conform(other, 1, *last);
  std::shared_ptr<FieldTensor> result = make({a->getDims()[0], *last}, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  int64_t rows = a->getCounts()[0], inner = shared->getCount();
  int64_t columns = last->getCount();
  std::vector<size_t> groups = getGroups(ends->elements, rows);
  for (int64_t row = 0; row < rows; ++row) {
    uint64_t *output = result->elements.data() + row * columns;
    if (groups[row] == static_cast<size_t>(numGroups)) {
      if (other)
        std::copy_n(other->elements.data() + row * columns, columns, output);
      continue;
    }
    const uint64_t *matrix =
        b->elements.data() +
        static_cast<int64_t>(groups[row]) * inner * columns;
    for (int64_t k = 0; k < inner; ++k) {
      int64_t weight =
          shared->isUniform ? shared->getSize() : shared->sample->getWeight(k);
      uint64_t factor = PrimeField::multiply(
          a->elements[row * inner + k],
          PrimeField::reduce(static_cast<uint64_t>(weight)));
      addMultiple(factor, matrix + k * columns, columns, output);
    }
  }
  return result;
}
