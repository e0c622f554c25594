//===- EqualityPattern.cpp - which elements are equal -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EqualityPattern.h"

#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/Support/xxhash.h"

#include <numeric>
#include <unordered_map>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Returns true if elements are stored for the same indices.
static bool areEqual(ArrayRef<SampledDim> a, ArrayRef<SampledDim> b) {
  return llvm::equal(a, b, [](SampledDim x, SampledDim y) {
    return x.isUniform == y.isUniform &&
           (x.isUniform ? x.getSize() == y.getSize() : x.sample == y.sample);
  });
}

EqualityPattern::EqualityPattern(const RankValues &values, bool isConstant,
                                 bool isDiscrete)
    : elementType(values.front()->getElementType()), isConstant(isConstant),
      isDiscrete(isDiscrete), counted(0) {
  llvm::SmallDenseMap<const FieldTensor *, unsigned> known;
  std::unordered_map<size_t, SmallVector<unsigned, 1>> byContent;
  for (const FieldValue &held : values) {
    auto [it, isNew] = known.try_emplace(held.get(), elements.size());
    if (isNew) {
      // Normalize the sample, however it was computed.
      FieldValue tensor = collapse(held);
      // Ranks may have computed the same tensor separately.
      SmallVector<unsigned, 1> &candidates =
          byContent[llvm::hash_combine_range(tensor->elements)];
      auto *equal = llvm::find_if(candidates, [&](unsigned candidate) {
        return elements[candidate] == tensor->elements &&
               areEqual(dims[candidate], tensor->getDims());
      });
      if (equal != candidates.end()) {
        it->second = *equal;
      } else {
        candidates.push_back(it->second);
        elements.push_back(tensor->elements);
        dims.emplace_back(tensor->getDims());
      }
    }
    tensorOfRank.push_back(it->second);
  }
  counted.set(static_cast<int64_t>(getNumBytes()));
}

EqualityPattern::EqualityPattern(RankedTensorType type,
                                 ArrayRef<SampledDim> dimsOfTensors,
                                 ArrayRef<unsigned> tensorOfRank,
                                 uint64_t first)
    : elementType(type.getElementType()), tensorOfRank(tensorOfRank),
      counted(0) {
  size_t size = 1;
  for (SampledDim dim : dimsOfTensors)
    size *= static_cast<size_t>(dim.getCount());
  elements.resize(*llvm::max_element(tensorOfRank) + 1);
  dims.assign(elements.size(), llvm::SmallVector<SampledDim, 4>(dimsOfTensors));
  for (std::vector<uint64_t> &tensor : elements) {
    tensor.resize(size);
    std::iota(tensor.begin(), tensor.end(), first);
    first += size;
  }
  counted.set(static_cast<int64_t>(getNumBytes()));
}

RankValues EqualityPattern::instantiate(uint64_t seed) const {
  std::vector<FieldValue> tensors;
  for (auto [own, pattern] : llvm::zip_equal(dims, elements)) {
    auto tensor = std::make_shared<FieldTensor>(own, elementType);
    for (auto [element, number] : llvm::zip_equal(tensor->elements, pattern))
      element = isKnown(number) ? number : PrimeField::mix(number, seed);
    tensors.push_back(std::move(tensor));
  }
  RankValues values;
  for (unsigned tensor : tensorOfRank)
    values.push_back(tensors[tensor]);
  return values;
}

size_t EqualityPattern::getNumBytes() const {
  size_t bytes = sizeof(*this) + tensorOfRank.size() * sizeof(unsigned);
  for (const std::vector<uint64_t> &tensor : elements)
    bytes += tensor.size() * sizeof(uint64_t);
  return bytes;
}

void ContentHasher::addShape(const EqualityPattern &pattern) {
  add(reinterpret_cast<uintptr_t>(pattern.elementType.getAsOpaquePointer()));
  add(pattern.isKept());
  add(pattern.isDiscrete);
  add(pattern.dims.size());
  for (ArrayRef<SampledDim> dims : pattern.dims) {
    add(dims.size());
    for (SampledDim dim : dims) {
      add(dim.isUniform);
      add(dim.isUniform ? static_cast<uint64_t>(dim.getSize())
                        : reinterpret_cast<uintptr_t>(dim.sample));
    }
  }
  for (unsigned tensor : pattern.tensorOfRank)
    add(tensor);
}

void ContentHasher::addKind(const EqualityPattern &pattern) {
  addShape(pattern);
  for (const std::vector<uint64_t> &tensor : pattern.elements) {
    add(tensor.size());
    if (pattern.isKept())
      llvm::append_range(numbers, tensor);
  }
}

ContentHash ContentHasher::finish() const {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(
      ArrayRef(reinterpret_cast<const uint8_t *>(numbers.data()),
               numbers.size() * sizeof(uint64_t)));
  return {hash.low64, hash.high64};
}
