//===- KnownElements.cpp - tensors found by their elements ----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "KnownElements.h"

#include <tuple>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldTensor;

bool refinement::hasRandomElements(const FieldValue &content) {
  return content && content->isField() && !content->isTruth() &&
         !content->elements.empty();
}

StoredElements::StoredElements(const FieldTensor &tensor) : tensor(tensor) {
  int64_t stride = 1;
  for (const equivalence::SampledDim &dim : llvm::reverse(tensor.getDims())) {
    if (dim.getSize() != 1)
      dims.push_back({&dim, stride});
    stride *= dim.getCount();
  }
  std::reverse(dims.begin(), dims.end());
}

SmallVector<int64_t> StoredElements::getIndices(size_t position) const {
  SmallVector<int64_t> indices;
  for (auto [dim, stride] : dims) {
    int64_t number = static_cast<int64_t>(position) / stride % dim->getCount();
    indices.push_back(dim->isUniform ? 0 : dim->sample->getIndex(number));
  }
  return indices;
}

std::optional<uint64_t> StoredElements::get(ArrayRef<int64_t> indices) const {
  int64_t position = 0;
  for (auto [place, index] : llvm::zip_equal(dims, indices)) {
    auto [dim, stride] = place;
    std::optional<int64_t> number =
        dim->isUniform ? 0 : dim->sample->find(index);
    if (!number)
      return std::nullopt;
    position += *number * stride;
  }
  return tensor.elements[position];
}

void KnownElements::add(const FieldValue &content, size_t owner,
                        bool isConstant) {
  if (!hasRandomElements(content))
    return;
  if (isConstant)
    constants.insert(content->elements.begin(), content->elements.end());
  if (!hashes.insert(equivalence::getContentHash(content)).second)
    return;
  for (auto [position, element] : llvm::enumerate(content->elements))
    places.push_back({element, static_cast<uint32_t>(tensors.size()),
                      static_cast<uint32_t>(position)});
  tensors.emplace_back(content, owner);
}

ArrayRef<KnownElements::Place>
KnownElements::findPlaces(uint64_t element) const {
  auto first =
      llvm::lower_bound(places, element, [](const Place &place, uint64_t own) {
        return place.element < own;
      });
  constexpr size_t mostPlaces = 8;
  size_t count = 0;
  while (count < mostPlaces && first + count != places.end() &&
         first[count].element == element)
    ++count;
  return ArrayRef(places).slice(first - places.begin(), count);
}

/// If a tensor is a block of another, where the elements at the two positions
/// are the same, returns the offsets of the block. `dims` are those that the
/// dims of the block lie along; the block has one index of each other dim.
static std::optional<SmallVector<int64_t>>
findOffsets(const FieldTensor &content, size_t position,
            const StoredElements &own, const StoredElements &all, size_t start,
            ArrayRef<size_t> dims) {
  SmallVector<int64_t> offsets = all.getIndices(start),
                       first = own.getIndices(position);
  for (auto [number, dim] : llvm::enumerate(dims)) {
    offsets[dim] -= first[number];
    if (own.isUniform(number) != all.isUniform(dim) || offsets[dim] < 0 ||
        offsets[dim] + own.getSize(number) > all.getSize(dim))
      return std::nullopt;
  }
  for (size_t other = 0; other < content.elements.size(); ++other) {
    SmallVector<int64_t> indices = offsets, inBlock = own.getIndices(other);
    for (auto [number, dim] : llvm::enumerate(dims))
      indices[dim] += inBlock[number];
    if (all.get(indices) != content.elements[other])
      return std::nullopt;
  }
  return offsets;
}

static std::optional<SmallVector<int64_t>>
findOffsets(const FieldTensor &content, size_t position,
            const FieldTensor &whole, size_t start) {
  if (content.getElementType() != whole.getElementType())
    return std::nullopt;
  StoredElements own(content), all(whole);
  SmallVector<size_t> dims;
  auto visit = [&](auto &self,
                   size_t next) -> std::optional<SmallVector<int64_t>> {
    if (dims.size() == own.getRank())
      return findOffsets(content, position, own, all, start, dims);
    for (size_t dim = next; dim < all.getRank(); ++dim) {
      dims.push_back(dim);
      if (auto offsets = self(self, dim + 1))
        return offsets;
      dims.pop_back();
    }
    return std::nullopt;
  };
  return visit(visit, 0);
}

std::optional<KnownElements::Block>
KnownElements::findBlock(const FieldValue &content,
                         std::optional<size_t> preferred) const {
  if (!hasRandomElements(content))
    return std::nullopt;
  // Constants are everywhere.
  for (auto [position, number] : llvm::enumerate(content->elements)) {
    ArrayRef<Place> own = findPlaces(number);
    if (own.empty())
      return std::nullopt;
    if (number == 0 || constants.contains(number))
      continue;
    std::optional<Block> found;
    for (auto [element, tensor, start] : own) {
      if (found && tensor != preferred)
        continue;
      if (auto offsets =
              findOffsets(*content, position, *tensors[tensor].first, start))
        found = Block{tensor, std::move(*offsets)};
    }
    return found;
  }
  return std::nullopt;
}

void KnownElements::sort() {
  llvm::sort(places, [](const Place &a, const Place &b) {
    return std::tie(a.element, a.tensor, a.position) <
           std::tie(b.element, b.tensor, b.position);
  });
}

bool KnownElements::contains(const FieldValue &content) const {
  // Zeros are padding.
  return hasRandomElements(content) &&
         llvm::all_of(content->elements, [&](uint64_t element) {
           return element == 0 || !findPlaces(element).empty();
         });
}

std::vector<size_t> KnownElements::getOwners(const FieldValue &content) const {
  std::vector<size_t> owners;
  if (!hasRandomElements(content))
    return owners;
  for (uint64_t element : content->elements) {
    ArrayRef<Place> place = findPlaces(element);
    if (place.empty() || constants.contains(element))
      continue;
    size_t owner = tensors[place.front().tensor].second;
    if (!llvm::is_contained(owners, owner))
      owners.push_back(owner);
  }
  return owners;
}
