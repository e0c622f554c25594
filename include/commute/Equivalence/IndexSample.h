//===- IndexSample.h - the indices of a dim that are evaluated --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// Programs are compared at the sizes that they have, but not at all indices of
// a dim. A tensor is stored on the product of its dims' samples. An index keeps
// its value, so that a slice's start, a threshold or a diagonal means what it
// means in the program. See docs/equivalence.md.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_EQUIVALENCE_INDEXSAMPLE_H
#define COMMUTE_EQUIVALENCE_INDEXSAMPLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace commute::equivalence {

/// Indices of a dim of `size` elements, in ascending order, each with a weight:
/// the number of indices that it represents. Weights add up to the size, so
/// that a sum of ones is the size. Samples are uniqued: equal samples have one
/// address.
class IndexSample {
public:
  int64_t getSize() const { return size; }
  /// True if every index is sampled.
  bool isFull() const { return full; }
  /// The number of sampled indices.
  int64_t getCount() const {
    return full ? size : static_cast<int64_t>(indices.size());
  }
  int64_t getIndex(int64_t position) const {
    return full ? position : indices[position];
  }
  int64_t getWeight(int64_t position) const {
    return full ? 1 : weights[position];
  }
  /// The position of an index; nullopt if it is not sampled.
  std::optional<int64_t> find(int64_t index) const;
  /// The position of the first sampled index that is not below `index`: of the
  /// run that holds it, if the sample has runs.
  int64_t findRun(int64_t index) const {
    return full ? index : llvm::lower_bound(indices, index) - indices.begin();
  }
  /// True if each sampled index represents the run of indices that ends at it.
  /// Prefix sums are then exact at the samples.
  bool hasRuns() const { return runs; }

private:
  friend class IndexSamples;
  int64_t size = 0;
  bool full = true;
  bool runs = true;
  std::vector<int64_t> indices;
  std::vector<int64_t> weights;
};

/// Creates, uniques and owns samples.
class IndexSamples {
public:
  const IndexSample *getFull(int64_t size);
  /// `indices` ascend and are below `size`; weights are positive.
  const IndexSample *get(int64_t size, std::vector<int64_t> indices,
                         std::vector<int64_t> weights);
  /// Each index represents the run that ends at it. The last index is added.
  const IndexSample *getRuns(int64_t size, std::vector<int64_t> indices);

  /// The sample of the indices `start + i * step` for i below `count`; null if
  /// the weights do not determine the number of indices in the slice, because
  /// the sample has no cuts at the ends of the slice.
  const IndexSample *getSlice(const IndexSample *sample, int64_t start,
                              int64_t step, int64_t count);
  /// The sample of a concatenation of `parts`.
  const IndexSample *getConcat(llvm::ArrayRef<const IndexSample *> parts);
  /// The sample of dims merged into one, the major dim first.
  const IndexSample *getProduct(llvm::ArrayRef<const IndexSample *> factors);
  /// The samples of the dims into which a dim is split, from major to minor;
  /// nullopt if the sample is not a product of such samples.
  std::optional<llvm::SmallVector<const IndexSample *>>
  split(const IndexSample *sample, llvm::ArrayRef<int64_t> sizes);

private:
  const IndexSample *intern(IndexSample sample);

  llvm::DenseMap<int64_t, std::unique_ptr<IndexSample>> fullSamples;
  std::map<std::pair<int64_t, std::vector<int64_t>>,
           std::vector<std::unique_ptr<IndexSample>>>
      partSamples;
  std::map<std::tuple<const IndexSample *, int64_t, int64_t, int64_t>,
           const IndexSample *>
      slices;
  std::map<std::vector<const IndexSample *>, const IndexSample *> concats;
  std::map<std::vector<const IndexSample *>, const IndexSample *> products;
  std::map<std::pair<const IndexSample *, std::vector<int64_t>>,
           std::optional<llvm::SmallVector<const IndexSample *>>>
      splits;
};

} // namespace commute::equivalence

#endif // COMMUTE_EQUIVALENCE_INDEXSAMPLE_H
