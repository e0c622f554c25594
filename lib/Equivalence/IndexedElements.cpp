//===- IndexedElements.cpp - reading and writing at indices -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Sorting, gather and scatter over the prime field. Rows are read and written
// at the sampled indices. A sorted row is evaluated at all indices.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/FieldAlgebra.h"

#include "FieldFunctions.h"
#include "FieldOperands.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Equivalence/PrimeField.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/xxhash.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;

/// Returns the index that `element` denotes in a dim of `size`, or nullopt if
/// it is out of range.
static std::optional<int64_t> getIndex(uint64_t element, int64_t size,
                                       bool wrapsNegative) {
  auto index = static_cast<int64_t>(element);
  if (wrapsNegative && index < 0)
    index += size;
  return index >= 0 && index < size ? std::optional(index) : std::nullopt;
}

/// The numbers of rows before a dim and after it.
static std::pair<int64_t, int64_t> getOuterAndInner(ArrayRef<int64_t> counts,
                                                    unsigned dim) {
  auto multiply = [](ArrayRef<int64_t> sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                           std::multiplies<>());
  };
  return {multiply(counts.take_front(dim)),
          multiply(counts.drop_front(dim + 1))};
}

bool FieldAlgebra::joinBeside(MutableArrayRef<FieldValue> values,
                              unsigned dim) {
  for (unsigned other = 0; other < values.front()->getRank(); ++other) {
    if (other == dim)
      continue;
    SampledDim joined = values.front()->getDims()[other];
    for (const FieldValue &value : values.drop_front()) {
      std::optional<SampledDim> next;
      if (value->getSizes()[other] == joined.getSize())
        next = join(joined, value->getDims()[other]);
      if (!next) {
        fail(SampleProblem::Mismatch, "operands have different samples",
             value->getSizes(), value->getElementType());
        return false;
      }
      joined = *next;
    }
    for (FieldValue &value : values)
      value = conform(value, other, joined);
  }
  return !context.problem;
}

uint64_t FieldAlgebra::getOutsideElement(uint64_t index, Type type) {
  // No program may read there. The value depends only on the index, because the
  // position in the result differs on shards.
  return convertElement(context.scalars,
                        PrimeField::mix(index, 0xbb67ae8584caa73b),
                        Float64Type::get(type.getContext()), type);
}

void FieldAlgebra::noteMissing(ArrayRef<int64_t> indices) {
  if (!indices.empty() && !context.problem)
    context.problem = SampleProblem{SampleProblem::MissingIndices,
                                    "indices that are not sampled", indices};
}

/// Makes some unknown elements of a row equal to others. The seed divides all
/// elements into classes, whatever row they are in: to tie the elements of a
/// row again, or to tie those of several rows and then of all of them, changes
/// nothing, as for elements that are equal.
static void tieElements(MutableArrayRef<uint64_t> row,
                        const ScalarContext &scalars) {
  // All elements are equal, or there are two numbers, or many or few ties. The
  // rounds take turns.
  static constexpr uint64_t numClasses[] = {1, 2, 5, 64};
  uint64_t seed = scalars.getSeed();
  uint64_t count = numClasses[seed / periodOfTies % std::size(numClasses)];
  uint64_t key = PrimeField::mix(seed, 0x71c3a2e4b5960d1f);
  // The element that stands for a class: a number, if there is one. In a row of
  // the opposite elements, it is the opposite one.
  using Choice = std::tuple<bool, uint64_t, uint64_t>;
  llvm::DenseMap<uint64_t, Choice> classes;
  auto getMagnitude = [](uint64_t element) {
    return std::min(element, PrimeField::negate(element));
  };
  auto getClass = [&](uint64_t element) {
    return (PrimeField::mix(getMagnitude(element), key) >> 8) % count;
  };
  auto isTied = [&](uint64_t element) { return !scalars.isInfinite(element); };
  for (uint64_t element : row) {
    if (!isTied(element))
      continue;
    Choice own(!scalars.getKnownNumber(element), getMagnitude(element),
               element);
    auto [known, isNew] = classes.try_emplace(getClass(element), own);
    if (!isNew)
      known->second = std::min(known->second, own);
  }
  for (uint64_t &element : row)
    if (isTied(element) && !scalars.getKnownNumber(element))
      element = std::get<2>(classes.find(getClass(element))->second);
}

static uint64_t hashRow(ArrayRef<uint64_t> row) {
  uint64_t hash = row.size();
  for (uint64_t element : row)
    hash = PrimeField::mix(element, hash);
  return hash;
}

FieldValue FieldAlgebra::tieSortedRows(const FieldValue &table, unsigned dim) {
  SampledDim own = table->getDims()[dim];
  if (context.ties != Ties::SameValues || context.sortedRows.empty() ||
      !table->isField() || own.isUniform || !own.sample->isFull())
    return table;
  std::shared_ptr<FieldTensor> result;
  auto [outer, inner] = getOuterAndInner(table->getCounts(), dim);
  int64_t size = own.getSize();
  std::vector<uint64_t> row(size);
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < size; ++j)
        row[j] = table->elements[(o * size + j) * inner + i];
      if (!context.sortedRows.contains(hashRow(row)))
        continue;
      if (!result) {
        result = make(table->getDims(), table->getElementType());
        if (!result)
          return table;
        result->elements = table->elements;
      }
      tieElements(row, context.scalars);
      for (int64_t j = 0; j < size; ++j)
        result->elements[(o * size + j) * inner + i] = row[j];
    }
  return result ? result : table;
}

AlgebraValue FieldAlgebra::take(const AlgebraValue &table,
                                const AlgebraValue &indices, unsigned dim,
                                bool wrapsNegative) {
  FieldValue from = tieSortedRows(share(table), dim);
  const FieldTensor &at = get(indices);
  Dims dims(from->getDims().take_front(dim));
  llvm::append_range(dims, at.getDims());
  llvm::append_range(dims, from->getDims().drop_front(dim + 1));
  SampledDim own = from->getDims()[dim];
  std::shared_ptr<FieldTensor> result = make(dims, from->getElementType());
  if (!result)
    return fail(
        SampleProblem::TooLarge, "",
        llvm::map_to_vector(dims, [](SampledDim own) { return own.getSize(); }),
        from->getElementType());
  SmallVector<int64_t> counts = from->getCounts();
  auto [outer, inner] = getOuterAndInner(counts, dim);
  std::vector<int64_t> missing;
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (uint64_t element : at.elements) {
      std::optional<int64_t> index =
          getIndex(element, own.getSize(), wrapsNegative);
      std::optional<int64_t> position;
      if (index)
        position = own.isUniform ? 0 : own.sample->find(*index);
      if (position) {
        const uint64_t *row =
            from->elements.data() + (o * counts[dim] + *position) * inner;
        output = std::copy(row, row + inner, output);
        continue;
      }
      if (index)
        missing.push_back(*index);
      else
        context.hasReadOutside = true;
      for (int64_t i = 0; i < inner; ++i)
        *output++ = getOutsideElement(element, from->getElementType());
    }
  noteMissing(missing);
  return result;
}

AlgebraValue FieldAlgebra::takeAlong(const AlgebraValue &table,
                                     const AlgebraValue &indices,
                                     unsigned dim) {
  FieldValue operands[] = {share(table), share(indices)};
  Type type = table->getElementType();
  if (!joinBeside(operands, dim))
    return fail(SampleProblem::TooLarge, "", indices->getSizes(), type);
  operands[0] = tieSortedRows(operands[0], dim);
  const FieldTensor &from = *operands[0], &at = *operands[1];
  std::shared_ptr<FieldTensor> result = make(at.getDims(), type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", indices->getSizes(), type);
  SampledDim own = from.getDims()[dim];
  auto [outer, inner] = getOuterAndInner(at.getCounts(), dim);
  int64_t rows = at.getCounts()[dim], tableRows = own.getCount();
  std::vector<int64_t> missing;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < rows; ++j)
      for (int64_t i = 0; i < inner; ++i) {
        int64_t offset = (o * rows + j) * inner + i;
        uint64_t element = at.elements[offset];
        uint64_t &output = result->elements[offset];
        std::optional<int64_t> index =
            getIndex(element, own.getSize(), /*wrapsNegative=*/false);
        std::optional<int64_t> position;
        if (index)
          position = own.isUniform ? 0 : own.sample->find(*index);
        if (position) {
          output = from.elements[(o * tableRows + *position) * inner + i];
          continue;
        }
        if (index)
          missing.push_back(*index);
        else
          context.hasReadOutside = true;
        output = getOutsideElement(element, type);
      }
  noteMissing(missing);
  return result;
}

AlgebraValue FieldAlgebra::scatter(const AlgebraValue &input,
                                   const AlgebraValue &indices,
                                   const AlgebraValue &updates, unsigned dim,
                                   bool accumulates, bool wrapsNegative) {
  FieldValue operands[] = {share(input), share(indices), share(updates)};
  Type type = input->getElementType();
  std::optional<SampledDim> updated =
      join(operands[1]->getDims()[dim], operands[2]->getDims()[dim]);
  if (!updated || !joinBeside(operands, dim))
    return fail(SampleProblem::Mismatch, "operands have different samples",
                input->getSizes(), type);
  operands[0] = conform(operands[0], dim, {operands[0]->getDims()[dim].sample});
  operands[1] = conform(operands[1], dim, *updated);
  operands[2] = conform(operands[2], dim, *updated);
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", input->getSizes(), type);
  const FieldTensor &at = *operands[1], &values = *operands[2];
  SampledDim own = operands[0]->getDims()[dim];
  std::shared_ptr<FieldTensor> result = make(operands[0]->getDims(), type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", input->getSizes(), type);
  result->elements = operands[0]->elements;
  auto [outer, inner] = getOuterAndInner(at.getCounts(), dim);
  int64_t rows = updated->getCount(), resultRows = own.getCount();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < rows; ++j) {
      // The number of updates that the stored one represents.
      auto weight = static_cast<uint64_t>(updated->isUniform
                                              ? updated->getSize()
                                              : updated->sample->getWeight(j));
      for (int64_t i = 0; i < inner; ++i) {
        int64_t offset = (o * rows + j) * inner + i;
        std::optional<int64_t> index =
            getIndex(at.elements[offset], own.getSize(), wrapsNegative);
        if (!index) {
          context.hasReadOutside = true;
          continue;
        }
        std::optional<int64_t> position = own.sample->find(*index);
        if (!position)
          continue;
        uint64_t &output =
            result->elements[(o * resultRows + *position) * inner + i];
        uint64_t value = values.elements[offset];
        if (!accumulates)
          output = value;
        else if (result->isField())
          output = PrimeField::add(output, PrimeField::multiply(value, weight));
        else
          output = wrapInteger(output + value * weight, type);
      }
    }
  return result;
}

/// Gives elements whose order the algorithm leaves undefined an order of its
/// own: equal elements of a sorted row, and all that are returned if these are
/// unordered. The order is a random function of the algorithm, of its arguments
/// and of how all elements of the row compare.
static void shuffle(MutableArrayRef<int64_t> order, const tp::SortOrder &how,
                    llvm::function_ref<bool(int64_t, int64_t)> differ) {
  uint64_t key = PrimeField::mix(
      2 * how.isDescending + how.isUnordered,
      PrimeField::mix(llvm::xxh3_64bits(how.algorithm), 0x2545f4914f6cdd1d));
  key = PrimeField::mix(how.count.value_or(-1), key);
  for (size_t j = 0; j < order.size(); ++j)
    key = PrimeField::mix(
        2 * order[j] + (j > 0 && differ(order[j - 1], order[j])), key);
  auto shuffleRun = [&](MutableArrayRef<int64_t> run) {
    llvm::sort(run, [&](int64_t a, int64_t b) {
      return std::pair(PrimeField::mix(a, key), a) <
             std::pair(PrimeField::mix(b, key), b);
    });
  };
  for (size_t begin = 0; begin < order.size();) {
    size_t end = begin + 1;
    while (end < order.size() && !differ(order[begin], order[end]))
      ++end;
    shuffleRun(order.slice(begin, end - begin));
    begin = end;
  }
  if (how.isUnordered)
    shuffleRun(order.take_front(how.count.value_or(order.size())));
}

AlgebraValue FieldAlgebra::sortedOrder(const AlgebraValue &input, unsigned dim,
                                       const tp::SortOrder &how, Type type) {
  const FieldTensor &from = get(input);
  SampledDim own = from.getDims()[dim];
  Dims dims(from.getDims());
  int64_t size = own.getSize(), count = how.count.value_or(size);
  dims[dim] = getDim(count);
  if (!own.isUniform && !own.sample->isFull())
    return fail(SampleProblem::Mismatch, "a row to sort is not whole",
                from.getSizes(), type);
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result)
    return fail(SampleProblem::TooLarge, "", from.getSizes(), type);
  auto [outer, inner] = getOuterAndInner(from.getCounts(), dim);
  std::vector<int64_t> order(size);
  std::vector<double> keys(size);
  std::vector<uint64_t> row(size);
  bool isInteger = !from.isField() && !from.isTruth();
  bool isUnsigned = from.getElementType().isUnsignedInteger();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < size; ++j)
        row[j] = from.elements[own.isUniform ? o * inner + i
                                             : (o * size + j) * inner + i];
      if (from.isField())
        if (std::optional<std::vector<uint64_t>> sources =
                context.scalars.getMonotoneImages().getSources(row))
          row = std::move(*sources);
      if (context.ties != Ties::None && from.isField()) {
        context.sortedRows.insert(hashRow(row));
        tieElements(row, context.scalars);
      }
      bool areEqual = llvm::all_equal(row);
      for (int64_t j = 0; j < size && !isInteger && !areEqual; ++j)
        keys[j] = from.isTruth() ? context.scalars.toBit(row[j])
                                 : context.scalars.getSortKey(row[j]);
      std::iota(order.begin(), order.end(), 0);
      auto isLess = [&](int64_t a, int64_t b) {
        if (!isInteger)
          return keys[a] < keys[b];
        return isUnsigned ? row[a] < row[b]
                          : static_cast<int64_t>(row[a]) <
                                static_cast<int64_t>(row[b]);
      };
      auto isBefore = [&](int64_t a, int64_t b) {
        bool ascends = isLess(a, b), descends = isLess(b, a);
        // Equal elements keep their order.
        if (!ascends && !descends)
          return a < b;
        return how.isDescending ? descends : ascends;
      };
      if (!areEqual)
        llvm::sort(order, isBefore);
      if (!how.algorithm.empty())
        shuffle(order, how, [&](int64_t a, int64_t b) {
          return !areEqual && (isLess(a, b) || isLess(b, a));
        });
      for (int64_t j = 0; j < count; ++j)
        result->elements[(o * count + j) * inner + i] = order[j];
    }
  return result;
}
