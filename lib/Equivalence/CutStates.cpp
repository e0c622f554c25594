//===- CutStates.cpp - what rounds held where programs are cut --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CutStates.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static constexpr uint64_t firstUnknown = EqualityPattern::firstUnknown;

/// Appends the elements of a tensor, one for each sampled index: whether they
/// are found to be uniform along a dim depends on the round.
static void appendElements(ArrayRef<SampledDim> dims, ArrayRef<uint64_t> stored,
                           std::vector<uint64_t> &elements) {
  size_t begin = elements.size();
  elements.push_back(0);
  // Positions in `stored`, from the last dim to the first.
  size_t stride = 1;
  for (const SampledDim &dim : llvm::reverse(dims)) {
    size_t block = elements.size() - begin;
    auto count = static_cast<size_t>(dim.sample->getCount());
    elements.resize(begin + block * count);
    for (size_t index = count; index-- > 0;)
      for (size_t inner = 0; inner < block; ++inner)
        elements[begin + index * block + inner] =
            elements[begin + inner] + (dim.isUniform ? 0 : index * stride);
    stride *= static_cast<size_t>(dim.getCount());
  }
  for (size_t position = begin; position < elements.size(); ++position)
    elements[position] = stored[elements[position]];
}

void CutState::add(Value value, const EqualityPattern &pattern) {
  if (pattern.isKept())
    return;
  size_t begin = elements.size();
  for (auto [dims, stored] : llvm::zip_equal(pattern.dims, pattern.elements))
    appendElements(dims, stored, elements);
  parts.push_back({value, pattern.tensorOfRank, elements.size() - begin});
}

/// Returns true if each element that the first state knows is the same in the
/// second.
static bool isMoreGeneral(ArrayRef<uint64_t> first, ArrayRef<uint64_t> second) {
  return llvm::all_of(llvm::zip_equal(first, second), [](auto elements) {
    auto [a, b] = elements;
    return a >= firstUnknown || a == b;
  });
}

const CutStates::Known *CutStates::find(size_t point,
                                        const CutState &state) const {
  auto kinds = byPoint.find(point);
  if (kinds == byPoint.end())
    return nullptr;
  auto kind = llvm::find_if(kinds->second, [&](const Known &known) {
    return known.parts == state.parts;
  });
  return kind == kinds->second.end() ? nullptr : &*kind;
}

void CutStates::note(size_t point, CutState state) {
  constexpr size_t mostKinds = 8;
  auto *found = const_cast<Known *>(find(point, state));
  if (!found) {
    std::vector<Known> &kinds = byPoint[point];
    if (kinds.size() == mostKinds)
      return;
    found = &kinds.emplace_back();
    found->parts = std::move(state.parts);
    found->classes.assign(state.elements.size(), 0);
  }
  Known &known = *found;
  DenseMap<std::pair<uint64_t, uint64_t>, uint64_t> classOf;
  for (auto [own, element] : llvm::zip_equal(known.classes, state.elements))
    own = classOf.try_emplace({own, element}, classOf.size()).first->second;
  for (uint64_t &element : state.elements)
    element = std::min(element, firstUnknown);
  constexpr size_t mostStates = 8;
  if (llvm::any_of(known.knowns, [&](const std::vector<uint64_t> &other) {
        return isMoreGeneral(other, state.elements);
      }))
    return;
  llvm::erase_if(known.knowns, [&](const std::vector<uint64_t> &other) {
    return isMoreGeneral(state.elements, other);
  });
  if (known.knowns.size() < mostStates)
    known.knowns.push_back(std::move(state.elements));
}

bool CutStates::cover(size_t point, const CutState &state) const {
  const Known *known = find(point, state);
  if (!known ||
      llvm::none_of(known->knowns, [&](const std::vector<uint64_t> &other) {
        return isMoreGeneral(other, state.elements);
      }))
    return false;
  DenseMap<uint64_t, uint64_t> elementOf;
  return llvm::all_of(
      llvm::zip_equal(known->classes, state.elements), [&](auto pair) {
        auto [own, element] = pair;
        return elementOf.try_emplace(own, element).first->second == element;
      });
}
