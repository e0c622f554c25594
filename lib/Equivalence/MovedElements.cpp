//===- MovedElements.cpp - elements at other indices ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FieldOperands.h"
#include "commute/Dialect/StridedWalk.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::AlgebraValue;
using tp::forEachOffset;
using tp::getRowMajorStrides;

/// Returns the places at which two lists of sizes can be split: where prefixes
/// of both have equal products. Each entry is the number of sizes taken from
/// either list.
static std::optional<SmallVector<std::pair<unsigned, unsigned>>>
matchProducts(ArrayRef<int64_t> before, ArrayRef<int64_t> after) {
  SmallVector<std::pair<unsigned, unsigned>> groups;
  size_t i = 0, j = 0;
  while (i < before.size() || j < after.size()) {
    size_t firstI = i, firstJ = j;
    int64_t a = 1, b = 1;
    if (i < before.size())
      a = before[i++];
    if (j < after.size())
      b = after[j++];
    while (a != b) {
      bool takesBefore = a < b;
      if (takesBefore ? i == before.size() : j == after.size())
        return std::nullopt;
      if (takesBefore ? llvm::MulOverflow(a, before[i++], a)
                      : llvm::MulOverflow(b, after[j++], b))
        return std::nullopt;
    }
    groups.push_back({i - firstI, j - firstJ});
  }
  return groups;
}

AlgebraValue FieldAlgebra::reshape(const AlgebraValue &input,
                                   ArrayRef<int64_t> sizes) {
  if (input->getSizes() == sizes)
    return input;
  FieldValue from = share(input);
  Type type = from->getElementType();
  if (llvm::is_contained(sizes, 0)) {
    Dims dims;
    for (int64_t size : sizes)
      dims.push_back(getDim(size));
    return std::make_shared<FieldTensor>(dims, type);
  }
  auto groups = matchProducts(from->getSizes(), sizes);
  if (!groups || context.problem)
    return fail(SampleProblem::Sizes,
                "the reshaped value has another number of elements", sizes,
                type);
  Dims dims;
  unsigned before = 0;
  for (auto [numBefore, numAfter] : *groups) {
    ArrayRef<int64_t> ownSizes = sizes.slice(dims.size(), numAfter);
    if (numBefore == 1 && numAfter == 1) {
      dims.push_back(from->getDims()[before++]);
      continue;
    }
    bool isUniform = true;
    for (SampledDim dim : from->getDims().slice(before, numBefore))
      isUniform &= dim.isUniform || dim.getSize() == 1;
    if (isUniform) {
      for (int64_t size : ownSizes)
        dims.push_back(getUniform(size));
      before += numBefore;
      continue;
    }
    SmallVector<const IndexSample *> factors;
    for (unsigned index = 0; index < numBefore; ++index, ++before) {
      const IndexSample *sample = from->getDims()[before].sample;
      from = conform(from, before, {sample});
      factors.push_back(sample);
    }
    if (context.problem)
      return fail(SampleProblem::TooLarge, "", sizes, type);
    auto split =
        context.samples.split(context.samples.getProduct(factors), ownSizes);
    if (!split)
      return fail(SampleProblem::Mismatch,
                  "the samples of a dim are no product of those it is split "
                  "into",
                  sizes, type);
    for (const IndexSample *sample : *split)
      dims.push_back({sample});
  }
  auto result = std::make_shared<FieldTensor>(dims, type);
  result->elements = from->elements;
  return result;
}

static AlgebraValue gatherStrided(const FieldTensor &from,
                                  ArrayRef<SampledDim> dims,
                                  ArrayRef<int64_t> strides) {
  auto result = std::make_shared<FieldTensor>(dims, from.getElementType());
  uint64_t *output = result->elements.data();
  forEachOffset<1>(
      result->getCounts(), {SmallVector<int64_t>(strides)},
      [&](const auto &offsets) { *output++ = from.elements[offsets[0]]; });
  return result;
}

AlgebraValue FieldAlgebra::permute(const AlgebraValue &input,
                                   ArrayRef<int64_t> permutation) {
  const FieldTensor &from = get(input);
  SmallVector<int64_t> ownStrides = getRowMajorStrides(from.getCounts());
  Dims dims;
  SmallVector<int64_t> strides;
  for (int64_t dim : permutation) {
    dims.push_back(from.getDims()[dim]);
    strides.push_back(ownStrides[dim]);
  }
  return gatherStrided(from, dims, strides);
}

AlgebraValue FieldAlgebra::slice(const AlgebraValue &input, unsigned dim,
                                 int64_t start, int64_t step, int64_t size) {
  FieldValue from = share(input);
  SampledDim own = from->getDims()[dim];
  const IndexSample *sample =
      context.samples.getSlice(own.sample, start, step, size);
  if (own.isUniform || (sample && size == own.getSize())) {
    Dims dims(from->getDims());
    dims[dim] = {sample ? sample : context.samples.getFull(size),
                 own.isUniform && size != 1};
    if (size != 0) {
      auto result = std::make_shared<FieldTensor>(dims, from->getElementType());
      result->elements = from->elements;
      return result;
    }
    sample = context.samples.getFull(0);
  }
  if (!sample) {
    SmallVector<int64_t> sizes(from->getSizes());
    sizes[dim] = size;
    return fail(SampleProblem::Mismatch,
                "the samples of a dim are not cut where the slice is", sizes,
                from->getElementType());
  }
  SmallVector<int64_t> positions(sample->getCount());
  for (auto [index, position] : llvm::enumerate(positions))
    position = *own.sample->find(start + sample->getIndex(index) * step);
  return pick(from, dim, {sample}, positions);
}

AlgebraValue FieldAlgebra::concat(ArrayRef<AlgebraValue> inputs, unsigned dim) {
  Type type = inputs.front()->getElementType();
  SmallVector<int64_t> sizes(inputs.front()->getSizes());
  sizes[dim] = 0;
  for (const AlgebraValue &input : inputs)
    sizes[dim] += input->getSizes()[dim];
  Dims dims(get(inputs.front()).getDims());
  SmallVector<const IndexSample *> parts;
  for (const AlgebraValue &input : inputs) {
    const FieldTensor &from = get(input);
    parts.push_back(from.getDims()[dim].sample);
    for (size_t other = 0; other < dims.size(); ++other) {
      if (other == dim)
        continue;
      std::optional<SampledDim> joined;
      if (from.getSizes()[other] == sizes[other])
        joined = join(dims[other], from.getDims()[other]);
      if (!joined)
        return fail(SampleProblem::Mismatch, "operands have different samples",
                    sizes, type);
      dims[other] = *joined;
    }
  }
  dims[dim] = {context.samples.getConcat(parts)};
  std::shared_ptr<FieldTensor> result = make(dims, type);
  if (!result || context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  SmallVector<FieldValue> operands;
  int64_t outer = 1;
  for (size_t other = 0; other < dim; ++other)
    outer *= dims[other].getCount();
  for (const AlgebraValue &input : inputs) {
    FieldValue operand = share(input);
    for (size_t other = 0; other < dims.size(); ++other)
      operand =
          conform(operand, other,
                  other == dim ? SampledDim{operand->getDims()[dim].sample}
                               : dims[other]);
    operands.push_back(std::move(operand));
  }
  if (context.problem)
    return fail(SampleProblem::TooLarge, "", sizes, type);
  uint64_t *output = result->elements.data();
  for (int64_t o = 0; o < outer; ++o)
    for (const FieldValue &operand : operands) {
      int64_t run = static_cast<int64_t>(operand->elements.size()) / outer;
      const uint64_t *source = operand->elements.data() + o * run;
      output = std::copy(source, source + run, output);
    }
  return result;
}

AlgebraValue FieldAlgebra::broadcast(const AlgebraValue &input,
                                     ArrayRef<int64_t> sizes) {
  const FieldTensor &from = get(input);
  Dims dims;
  size_t shift = sizes.size() - from.getRank();
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    bool isOwn = dim >= shift && from.getSizes()[dim - shift] == size;
    if (!isOwn && dim >= shift && from.getSizes()[dim - shift] != 1)
      return fail(SampleProblem::Mismatch, "sizes do not fit", sizes,
                  from.getElementType());
    dims.push_back(isOwn       ? from.getDims()[dim - shift]
                   : size == 0 ? getDim(0)
                               : getUniform(size));
  }
  auto result = std::make_shared<FieldTensor>(dims, from.getElementType());
  // Repeated dims are stored once, so the stored elements are unchanged.
  if (!result->elements.empty())
    result->elements = from.elements;
  return result;
}
