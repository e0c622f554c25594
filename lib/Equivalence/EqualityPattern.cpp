//===- EqualityPattern.cpp - which elements are equal -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EqualityPattern.h"

#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/StringMap.h"

#include <unordered_map>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Whether elements are stored for the same indices.
static bool areEqual(ArrayRef<SampledDim> a, ArrayRef<SampledDim> b) {
  return llvm::equal(a, b, [](SampledDim x, SampledDim y) {
    return x.isUniform == y.isUniform &&
           (x.isUniform ? x.getSize() == y.getSize() : x.sample == y.sample);
  });
}

EqualityPattern::EqualityPattern(ArrayRef<LiveValue> live) {
  for (const LiveValue &value : live) {
    Entry &entry = entries.emplace_back();
    entry.elementType = value.values.front()->getElementType();
    entry.isConstant = value.isConstant;
    entry.isLiveInFirst = value.isLiveInFirst;
    entry.isLiveInSecond = value.isLiveInSecond;
    llvm::SmallDenseMap<const FieldTensor *, unsigned> known;
    std::unordered_map<size_t, SmallVector<unsigned, 1>> byContent;
    for (const FieldValue &held : value.values) {
      auto [it, isNew] = known.try_emplace(held.get(), entry.tensors.size());
      if (isNew) {
        // In one form, however it was computed.
        FieldValue tensor = collapse(held);
        // Ranks may have computed the same each by itself.
        SmallVector<unsigned, 1> &candidates =
            byContent[llvm::hash_combine_range(tensor->elements)];
        auto *equal = llvm::find_if(candidates, [&](unsigned candidate) {
          return entry.tensors[candidate] == tensor->elements &&
                 areEqual(entry.dims[candidate], tensor->getDims());
        });
        size_t index =
            equal == candidates.end() ? entry.tensors.size() : *equal;
        if (equal == candidates.end())
          candidates.push_back(index);
        it->second = index;
        if (index == entry.tensors.size()) {
          entry.tensors.push_back(tensor->elements);
          entry.dims.emplace_back(tensor->getDims());
        }
      }
      entry.tensorOfRank.push_back(it->second);
    }
  }
  finish();
}

EqualityPattern EqualityPattern::merge() const {
  EqualityPattern result;
  llvm::SmallDenseMap<unsigned, size_t> positions;
  for (auto [index, representative] : llvm::enumerate(representatives)) {
    if (representative == index) {
      positions[index] = result.entries.size();
      result.entries.push_back(entries[index]);
      continue;
    }
    Entry &entry = result.entries[positions[representative]];
    entry.isLiveInFirst |= entries[index].isLiveInFirst;
    entry.isLiveInSecond |= entries[index].isLiveInSecond;
  }
  result.finish();
  return result;
}

/// Appends the bytes of a number.
template <typename Number>
static void append(std::string &bytes, Number number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

void EqualityPattern::finish() {
  // Who has an unknown among its elements.
  enum { InFirst = 1, InSecond = 2 };
  std::vector<unsigned> holders;
  DenseMap<uint64_t, uint64_t> numbers;
  llvm::StringMap<unsigned> firstOfContent;
  for (auto [index, entry] : llvm::enumerate(entries)) {
    unsigned holder = (entry.isLiveInFirst ? InFirst : 0) |
                      (entry.isLiveInSecond ? InSecond : 0);
    std::string content;
    append(content, entry.elementType.getAsOpaquePointer());
    append(content, entry.isKept());
    append(content, entry.dims.size());
    for (ArrayRef<SampledDim> dims : entry.dims) {
      append(content, dims.size());
      for (SampledDim dim : dims) {
        append(content, dim.isUniform);
        if (dim.isUniform)
          append(content, dim.getSize());
        else
          append(content, dim.sample);
      }
    }
    for (unsigned tensor : entry.tensorOfRank)
      append(content, tensor);
    for (std::vector<uint64_t> &tensor : entry.tensors)
      for (uint64_t &element : tensor) {
        bool isKnown = element == 0 || (entry.isTruth() && element == 1);
        if (!entry.isKept() && !isKnown) {
          element =
              numbers.try_emplace(element, numbers.size() + 2).first->second;
          holders.resize(numbers.size());
          holders[element - 2] |= holder;
        }
        append(content, element);
      }
    representatives.push_back(
        firstOfContent.try_emplace(content, index).first->second);
    append(key, holder);
    key += content;
  }
  closed = llvm::all_of(
      holders, [](unsigned holder) { return holder == (InFirst | InSecond); });
}

std::vector<LiveValue> EqualityPattern::instantiate(uint64_t seed) const {
  std::vector<LiveValue> live;
  for (const Entry &entry : entries) {
    std::vector<FieldValue> tensors;
    for (auto [dims, pattern] : llvm::zip_equal(entry.dims, entry.tensors)) {
      auto tensor = std::make_shared<FieldTensor>(dims, entry.elementType);
      for (auto [element, number] : llvm::zip_equal(tensor->elements, pattern))
        element = entry.isKept() || number < 2 ? number
                                               : PrimeField::mix(number, seed);
      tensors.push_back(std::move(tensor));
    }
    LiveValue &value = live.emplace_back();
    for (unsigned tensor : entry.tensorOfRank)
      value.values.push_back(tensors[tensor]);
    value.isConstant = entry.isConstant;
    value.isLiveInFirst = entry.isLiveInFirst;
    value.isLiveInSecond = entry.isLiveInSecond;
  }
  return live;
}
