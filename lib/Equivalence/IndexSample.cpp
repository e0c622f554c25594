//===- IndexSample.cpp - the indices of a dim that are evaluated *- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/IndexSample.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace commute::equivalence;

std::optional<int64_t> IndexSample::find(int64_t index) const {
  if (full)
    return index >= 0 && index < size ? std::optional(index) : std::nullopt;
  auto found = llvm::lower_bound(indices, index);
  if (found == indices.end() || *found != index)
    return std::nullopt;
  return found - indices.begin();
}

const IndexSample *IndexSamples::getFull(int64_t size) {
  std::unique_ptr<IndexSample> &sample = fullSamples[size];
  if (!sample) {
    sample = std::make_unique<IndexSample>();
    sample->size = size;
  }
  return sample.get();
}

const IndexSample *IndexSamples::intern(IndexSample sample) {
  auto &known = partSamples[{sample.size, sample.indices}];
  for (const std::unique_ptr<IndexSample> &other : known)
    if (other->weights == sample.weights)
      return other.get();
  known.push_back(std::make_unique<IndexSample>(std::move(sample)));
  return known.back().get();
}

const IndexSample *IndexSamples::get(int64_t size, std::vector<int64_t> indices,
                                     std::vector<int64_t> weights) {
  if (static_cast<int64_t>(indices.size()) == size)
    return getFull(size);
  IndexSample sample;
  sample.size = size;
  sample.full = false;
  int64_t previous = -1;
  for (auto [index, weight] : llvm::zip_equal(indices, weights)) {
    sample.runs &= weight == index - previous;
    previous = index;
  }
  sample.indices = std::move(indices);
  sample.weights = std::move(weights);
  return intern(std::move(sample));
}

const IndexSample *IndexSamples::getRuns(int64_t size,
                                         std::vector<int64_t> indices) {
  if (size > 0 && (indices.empty() || indices.back() != size - 1))
    indices.push_back(size - 1);
  std::vector<int64_t> weights;
  int64_t previous = -1;
  for (int64_t index : indices) {
    weights.push_back(index - previous);
    previous = index;
  }
  return get(size, std::move(indices), std::move(weights));
}

const IndexSample *IndexSamples::getSlice(const IndexSample *sample,
                                          int64_t start, int64_t step,
                                          int64_t count) {
  if (sample->isFull())
    return getFull(count);
  if (start == 0 && step == 1 && count == sample->getSize())
    return sample;
  auto [it, isNew] = slices.try_emplace({sample, start, step, count}, nullptr);
  if (!isNew)
    return it->second;
  std::vector<int64_t> indices, weights;
  int64_t total = 0;
  for (int64_t position = 0; position < sample->getCount(); ++position) {
    int64_t distance = sample->getIndex(position) - start;
    if (distance < 0 || distance % step != 0 || distance / step >= count)
      continue;
    indices.push_back(distance / step);
    weights.push_back(sample->getWeight(position));
    total += weights.back();
  }
  if (total == count)
    it->second = get(count, std::move(indices), std::move(weights));
  return it->second;
}

const IndexSample *
IndexSamples::getConcat(llvm::ArrayRef<const IndexSample *> parts) {
  if (parts.size() == 1)
    return parts.front();
  auto [it, isNew] = concats.try_emplace(parts.vec(), nullptr);
  if (!isNew)
    return it->second;
  std::vector<int64_t> indices, weights;
  int64_t start = 0;
  bool isFull = true;
  for (const IndexSample *part : parts) {
    isFull &= part->isFull();
    start += part->getSize();
  }
  if (isFull)
    return it->second = getFull(start);
  start = 0;
  for (const IndexSample *part : parts) {
    for (int64_t position = 0; position < part->getCount(); ++position) {
      indices.push_back(start + part->getIndex(position));
      weights.push_back(part->getWeight(position));
    }
    start += part->getSize();
  }
  return it->second = get(start, std::move(indices), std::move(weights));
}

const IndexSample *
IndexSamples::getProduct(llvm::ArrayRef<const IndexSample *> factors) {
  if (factors.size() == 1)
    return factors.front();
  auto [it, isNew] = products.try_emplace(factors.vec(), nullptr);
  if (!isNew)
    return it->second;
  int64_t size = 1;
  bool isFull = true;
  std::vector<int64_t> indices = {0}, weights = {1};
  for (const IndexSample *factor : factors) {
    size *= factor->getSize();
    isFull &= factor->isFull();
  }
  if (isFull)
    return it->second = getFull(size);
  for (const IndexSample *factor : factors) {
    std::vector<int64_t> nextIndices, nextWeights;
    nextIndices.reserve(indices.size() * factor->getCount());
    nextWeights.reserve(indices.size() * factor->getCount());
    for (auto [index, weight] : llvm::zip_equal(indices, weights))
      for (int64_t position = 0; position < factor->getCount(); ++position) {
        nextIndices.push_back(index * factor->getSize() +
                              factor->getIndex(position));
        nextWeights.push_back(weight * factor->getWeight(position));
      }
    indices = std::move(nextIndices);
    weights = std::move(nextWeights);
  }
  return it->second = get(size, std::move(indices), std::move(weights));
}

std::optional<llvm::SmallVector<const IndexSample *>>
IndexSamples::split(const IndexSample *sample, llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<const IndexSample *> factors;
  if (sample->isFull()) {
    for (int64_t size : sizes)
      factors.push_back(getFull(size));
    return factors;
  }
  auto [it, isNew] = splits.try_emplace({sample, sizes.vec()}, std::nullopt);
  if (!isNew)
    return it->second;
  // The weight of an index of one dim is the total weight of all indices that
  // contain it, divided by the number of indices of the other dims.
  int64_t minor = 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    int64_t size = sizes[dim];
    std::map<int64_t, int64_t> weightOf;
    for (int64_t position = 0; position < sample->getCount(); ++position)
      weightOf[sample->getIndex(position) / minor % size] +=
          sample->getWeight(position);
    std::vector<int64_t> indices, weights;
    int64_t others = sample->getSize() / size;
    for (auto [index, weight] : weightOf) {
      if (weight % others != 0)
        return std::nullopt;
      indices.push_back(index);
      weights.push_back(weight / others);
    }
    factors.push_back(get(size, std::move(indices), std::move(weights)));
    minor *= size;
  }
  std::reverse(factors.begin(), factors.end());
  if (getProduct(factors) == sample)
    it->second = std::move(factors);
  // `getProduct` may have added entries to other maps only.
  return it->second;
}
