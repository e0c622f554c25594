//===- FieldReductions.cpp - sums and products of the field -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldFunctions.h"
#include "FieldOperands.h"
#include "commute/Dialect/StridedWalk.h"
#include "commute/Equivalence/PrimeField.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;
using tp::forEachOffset;
using tp::getRowMajorStrides;

AlgebraValue FieldAlgebra::reduce(tp::ReductionKind kind,
                                  const AlgebraValue &input,
                                  ArrayRef<int64_t> dims, bool keepDims,
                                  Type type) {
  const FieldTensor &from = get(input);
  Dims kept(from.getDims()), resultDims;
  int64_t count = 1;
  for (int64_t dim : dims) {
    count *= kept[dim].getSize();
    kept[dim] = getDim(1);
  }
  for (auto [dim, own] : llvm::enumerate(kept))
    if (keepDims || !llvm::is_contained(dims, static_cast<int64_t>(dim)))
      resultDims.push_back(own);
  auto result = std::make_shared<FieldTensor>(resultDims, type);
  SmallVector<int64_t> outputStrides = getRowMajorStrides(
      llvm::map_to_vector(kept, [](SampledDim dim) { return dim.getCount(); }));
  for (auto [stride, dim] : llvm::zip_equal(outputStrides, kept))
    if (dim.getCount() == 1)
      stride = 0;
  // Returns the number of elements that each stored element represents.
  SmallVector<int64_t> counts = from.getCounts();
  std::vector<int64_t> weights = {1};
  SmallVector<int64_t> weightStrides(counts.size(), 0);
  int64_t weightStride = 1;
  for (size_t dim = counts.size(); dim-- > 0;) {
    SampledDim own = from.getDims()[dim];
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      continue;
    std::vector<int64_t> next;
    for (int64_t position = 0; position < own.getCount(); ++position)
      for (int64_t weight : weights)
        next.push_back(weight * (own.isUniform
                                     ? own.getSize()
                                     : own.sample->getWeight(position)));
    weights = std::move(next);
    weightStrides[dim] = counts[dim] == 1 ? 0 : weightStride;
    weightStride *= counts[dim];
  }
  Combiner combiner(context.scalars, kind, from.getElementType(), type);
  std::array<SmallVector<int64_t>, 3> strides = {getRowMajorStrides(counts),
                                                 outputStrides, weightStrides};
  // Elements that are reduced to one are made contiguous, because a maximum is
  // a function of a set.
  size_t numOutputs = result->elements.size();
  size_t numInputs = numOutputs == 0 ? 0 : from.elements.size() / numOutputs;
  std::vector<uint64_t> inputs(numOutputs * numInputs);
  std::vector<uint32_t> filled(numOutputs);
  forEachOffset<3>(counts, strides, [&](const auto &offsets) {
    size_t output = offsets[1];
    inputs[output * numInputs + filled[output]++] =
        combiner.prepare(from.elements[offsets[0]], weights[offsets[2]]);
  });
  for (auto [index, element] : llvm::enumerate(result->elements))
    element = combiner.finish(
        combiner.combine(ArrayRef(inputs).slice(index * numInputs, numInputs)),
        count);
  return result;
}

AlgebraValue FieldAlgebra::cumulativeSum(const AlgebraValue &input,
                                         unsigned dim, Type type) {
  FieldValue from = share(input);
  SampledDim own = from->getDims()[dim];
  if (!own.sample->hasRuns())
    return fail(SampleProblem::Mismatch,
                "prefixes cannot be summed along merged dims", from->getSizes(),
                type);
  from = conform(from, dim, {own.sample});
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", from->getSizes(), type);
  auto result = std::make_shared<FieldTensor>(from->getDims(), type);
  Combiner combiner(context.scalars, tp::ReductionKind::Sum,
                    from->getElementType(), type);
  SmallVector<int64_t> counts = from->getCounts();
  int64_t stride = getRowMajorStrides(counts)[dim];
  for (size_t index = 0; index < from->elements.size(); ++index) {
    int64_t position = static_cast<int64_t>(index) / stride % counts[dim];
    uint64_t value = combiner.prepare(from->elements[index],
                                      own.sample->getWeight(position));
    result->elements[index] =
        position == 0
            ? value
            : combiner.combine(result->elements[index - stride], value);
  }
  return result;
}

AlgebraValue FieldAlgebra::matmul(const AlgebraValue &lhs,
                                  const AlgebraValue &rhs, Type type) {
  FieldValue a = share(lhs), b = share(rhs);
  unsigned aRank = a->getRank(), bRank = b->getRank();
  SmallVector<int64_t> sizes;
  for (ArrayRef<int64_t> own :
       {a->getSizes().drop_back(2), b->getSizes().drop_back(2)})
    if (!tp::broadcastSizes(own, sizes))
      return fail(SampleProblem::Sizes, "batch dims have different sizes",
                  sizes, type);
  SmallVector<int64_t> batchSizes(sizes);
  sizes.append({a->getSizes()[aRank - 2], b->getSizes()[bRank - 1]});
  if (a->getSizes()[aRank - 1] != b->getSizes()[bRank - 2])
    return fail(SampleProblem::Sizes,
                "the contraction has size " + Twine(a->getSizes()[aRank - 1]) +
                    " in one operand and " + Twine(b->getSizes()[bRank - 2]) +
                    " in the other",
                sizes, type);
  std::optional<SampledDim> inner =
      join(a->getDims()[aRank - 1], b->getDims()[bRank - 2]);
  if (!inner)
    return fail(SampleProblem::Mismatch,
                "operands have different samples along the contraction", sizes,
                type);
  Dims dims;
  for (auto [dim, size] : llvm::enumerate(batchSizes)) {
    SampledDim joined = getUniform(size);
    for (const FieldValue &operand : {a, b}) {
      int64_t own = static_cast<int64_t>(dim) + operand->getRank() - 2 -
                    static_cast<int64_t>(batchSizes.size());
      if (own < 0 || operand->getSizes()[own] != size)
        continue;
      std::optional<SampledDim> next = join(joined, operand->getDims()[own]);
      if (!next)
        return fail(SampleProblem::Mismatch,
                    "operands have different samples along a batch dim", sizes,
                    type);
      joined = *next;
    }
    dims.push_back(joined);
  }
  a = conform(a, aRank - 1, *inner);
  b = conform(b, bRank - 2, *inner);
  for (FieldValue *operand : {&a, &b})
    for (size_t dim = 0; dim < batchSizes.size(); ++dim) {
      int64_t own = static_cast<int64_t>(dim) + (*operand)->getRank() - 2 -
                    static_cast<int64_t>(batchSizes.size());
      if (own >= 0 && (*operand)->getSizes()[own] == batchSizes[dim] &&
          !(*operand)->getDims()[own].isUniform)
        *operand = conform(*operand, own, dims[dim]);
    }
  dims.push_back(a->getDims()[aRank - 2]);
  dims.push_back(b->getDims()[bRank - 1]);
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  bool isField = result->isField();
  // Products of truth values or integers with floats use the operands after
  // promotion.
  auto prepare = [&](FieldValue &operand) {
    if (operand->isField() != isField)
      operand = share(cast(operand, type));
  };
  prepare(a);
  prepare(b);
  SmallVector<int64_t> aCounts = a->getCounts(), bCounts = b->getCounts();
  int64_t rows = aCounts[aRank - 2], columns = bCounts[bRank - 1];
  int64_t count = inner->getCount();
  std::vector<uint64_t> weights(count);
  for (int64_t k = 0; k < count; ++k)
    weights[k] =
        inner->isUniform ? inner->getSize() : inner->sample->getWeight(k);
  SmallVector<int64_t> batch =
      llvm::map_to_vector(ArrayRef(dims).drop_back(2),
                          [](SampledDim dim) { return dim.getCount(); });
  uint64_t *output = result->elements.data();
  // The columns of b are not contiguous; with a transposed copy, both inner
  // loops read contiguous memory.
  std::vector<uint64_t> transposed(count * columns);
  forEachOffset<2>(
      batch,
      {tp::getBroadcastStrides(ArrayRef(aCounts).drop_back(2), batch),
       tp::getBroadcastStrides(ArrayRef(bCounts).drop_back(2), batch)},
      [&](const auto &offsets) {
        const uint64_t *left = a->elements.data() + offsets[0] * rows * count;
        const uint64_t *right =
            b->elements.data() + offsets[1] * count * columns;
        for (int64_t k = 0; k < count; ++k)
          for (int64_t j = 0; j < columns; ++j) {
            uint64_t value = right[k * columns + j];
            transposed[j * count + k] =
                weights[k] == 1 ? value
                : isField       ? PrimeField::multiply(value, weights[k])
                                : value * weights[k];
          }
        for (int64_t i = 0; i < rows; ++i)
          for (int64_t j = 0; j < columns; ++j)
            *output++ = isField
                            ? dotField(left + i * count,
                                       transposed.data() + j * count, count)
                            : dotInteger(left + i * count,
                                         transposed.data() + j * count, count);
      });
  return result;
}
