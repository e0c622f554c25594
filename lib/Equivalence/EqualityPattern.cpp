//===- EqualityPattern.cpp - which elements are equal -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EqualityPattern.h"

#include "commute/Equivalence/PrimeField.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

EqualityPattern::EqualityPattern(ArrayRef<LiveValue> live) {
  for (const LiveValue &value : live) {
    const FieldTensor &any = *value.values.front();
    Entry &entry = entries.emplace_back();
    entry.elementType = any.getElementType();
    llvm::append_range(entry.sizes, any.getSizes());
    entry.isConstant = value.isConstant;
    entry.isLiveInFirst = value.isLiveInFirst;
    entry.isLiveInSecond = value.isLiveInSecond;
    llvm::SmallDenseMap<const FieldTensor *, unsigned> known;
    for (const FieldValue &tensor : value.values) {
      auto [it, isNew] = known.try_emplace(tensor.get(), entry.tensors.size());
      if (isNew) {
        // Ranks may have computed the same each by itself.
        auto equal = llvm::find(entry.tensors, tensor->elements);
        it->second = equal - entry.tensors.begin();
        if (equal == entry.tensors.end())
          entry.tensors.push_back(tensor->elements);
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
    append(content, entry.sizes.size());
    for (int64_t size : entry.sizes)
      append(content, size);
    for (unsigned tensor : entry.tensorOfRank)
      append(content, tensor);
    for (std::vector<uint64_t> &tensor : entry.tensors)
      for (uint64_t &element : tensor) {
        if (!entry.isKept() && element != 0) {
          element =
              numbers.try_emplace(element, numbers.size() + 1).first->second;
          holders.resize(numbers.size());
          holders[element - 1] |= holder;
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
    for (const std::vector<uint64_t> &pattern : entry.tensors) {
      auto tensor =
          std::make_shared<FieldTensor>(entry.sizes, entry.elementType);
      for (auto [element, number] : llvm::zip_equal(tensor->elements, pattern))
        element = entry.isKept() || number == 0 ? number
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
