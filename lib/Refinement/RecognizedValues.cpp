//===- RecognizedValues.cpp - what the reference computes, too ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RecognizedValues.h"

#include <tuple>
#include <utility>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::FieldTensor;
using equivalence::share;

/// Small numbers and truth values occur everywhere, so that single integers say
/// nothing about where they come from.
static bool hasRandomElements(const FieldValue &content) {
  return content && content->isField() && !content->isTruth() &&
         !content->elements.empty();
}

RecognizedValues::RecognizedValues(ValueRelations &relations,
                                   const RankValues &values)
    : relations(relations), values(values) {
  llvm::DenseSet<Value> dependent;
  for (size_t index = 0; index < relations.getCount(); ++index) {
    Value value = relations.getValue(index);
    Operation *op = value.getDefiningOp();
    bool isConstant = op && llvm::none_of(op->getOperands(), [&](Value own) {
                        return dependent.contains(own);
                      });
    if (!isConstant)
      dependent.insert(value);
    add(relations.getContent(index), index, isConstant);
    auto result = dyn_cast<OpResult>(value);
    if (!isConstant && result && result.getResultNumber() == 0)
      for (const FieldValue &step : relations.getEvaluation().getSteps(op))
        add(step, index, isConstant);
  }
  llvm::sort(places, [](const Place &a, const Place &b) {
    return std::tie(a.element, a.tensor, a.position) <
           std::tie(b.element, b.tensor, b.position);
  });
}

void RecognizedValues::add(const FieldValue &content, size_t owner,
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

ArrayRef<RecognizedValues::Place>
RecognizedValues::findPlaces(uint64_t element) const {
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

namespace {
/// The stored elements of a tensor by their indices. Dims of one index are
/// left out.
class StoredElements {
public:
  explicit StoredElements(const FieldTensor &tensor) : tensor(tensor) {
    int64_t stride = 1;
    for (const equivalence::SampledDim &dim : llvm::reverse(tensor.getDims())) {
      if (dim.getSize() != 1)
        dims.push_back({&dim, stride});
      stride *= dim.getCount();
    }
    std::reverse(dims.begin(), dims.end());
  }

  size_t getRank() const { return dims.size(); }
  int64_t getSize(size_t dim) const { return dims[dim].first->getSize(); }
  bool isUniform(size_t dim) const { return dims[dim].first->isUniform; }
  SmallVector<int64_t> getIndices(size_t position) const {
    SmallVector<int64_t> indices;
    for (auto [dim, stride] : dims) {
      int64_t number =
          static_cast<int64_t>(position) / stride % dim->getCount();
      indices.push_back(dim->isUniform ? 0 : dim->sample->getIndex(number));
    }
    return indices;
  }
  /// Returns nullopt if no element is stored at the indices.
  std::optional<uint64_t> get(ArrayRef<int64_t> indices) const {
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

private:
  const FieldTensor &tensor;
  SmallVector<std::pair<const equivalence::SampledDim *, int64_t>, 4> dims;
};
} // namespace

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

std::optional<RecognizedValues::Block>
RecognizedValues::findBlock(const FieldValue &content,
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

bool RecognizedValues::findMisplaced(const RankValues::Node &node) {
  if (values.getRelation(node))
    return false;
  std::vector<std::pair<int64_t, Block>> blocks;
  for (auto [rank, content] : llvm::enumerate(node.contents)) {
    if (!content)
      continue;
    std::optional<Block> block = findBlock(
        content, blocks.empty() ? std::nullopt
                                : std::optional(blocks.front().second.tensor));
    // Ranks that run different programs hold different values.
    if (!block ||
        (!blocks.empty() && block->tensor != blocks.front().second.tensor))
      return false;
    blocks.emplace_back(relations.getWorld()[rank], std::move(*block));
  }
  if (blocks.empty())
    return false;
  StoredElements whole(*tensors[blocks.front().second.tensor].first);
  for (size_t dim = 0; dim < whole.getRank(); ++dim) {
    auto isAlong = [&](auto getStart) {
      std::optional<int64_t> first;
      return llvm::all_of(blocks, [&](const auto &own) {
        int64_t rest = own.second.offsets[dim] - getStart(own.first);
        return std::exchange(first, rest).value_or(rest) == rest;
      });
    };
    auto isAlongAxis = [&](const auto &axis) {
      return isAlong([&](int64_t rank) -> int64_t {
        const std::vector<int64_t> *members =
            relations.getMesh().getMembers(axis.first, rank);
        return members ? getBlock(*members, rank, whole.getSize(dim)).first : 0;
      });
    };
    if (!isAlong([](int64_t) { return int64_t(0); }) &&
        llvm::none_of(relations.getMesh().getAxes(), isAlongAxis))
      return true;
  }
  return false;
}

bool RecognizedValues::isMisplaced(const RankValues::Node &node) {
  auto known = misplaced.find(&node);
  if (known != misplaced.end())
    return known->second;
  return misplaced[&node] = findMisplaced(node);
}

std::optional<RecognizedValues::Multiple>
RecognizedValues::findMultiple(const RankValues::Node &node, size_t rank,
                               bool inOrder) {
  const FieldValue &content = node.contents[rank];
  if (!node.dependsOnInputs || !hasRandomElements(content) || contains(content))
    return std::nullopt;
  for (const auto &[count, axis] : relations.getCounts())
    for (bool isLarger : {true, false}) {
      FieldValue own =
          relations.scale(content, isLarger ? 1 : count, isLarger ? count : 1);
      if (inOrder ? !isBlock(own) : !contains(own))
        continue;
      ArrayRef<Place> first = findPlaces(own->elements.front());
      if (!first.empty())
        return Multiple{isLarger ? count : 1, isLarger ? 1 : count,
                        tensors[first.front().tensor].second};
    }
  return std::nullopt;
}

bool RecognizedValues::contains(const FieldValue &content) const {
  // Zeros are padding.
  return hasRandomElements(content) &&
         llvm::all_of(content->elements, [&](uint64_t element) {
           return element == 0 || !findPlaces(element).empty();
         });
}

bool RecognizedValues::dependsOnInputs(const RankValues::Node &node,
                                       size_t rank) {
  if (!node.dependsOnInputs)
    return false;
  FieldValue content = combine(node, rank, get(node, rank));
  if (!hasRandomElements(content))
    return true;
  return llvm::any_of(content->elements, [&](uint64_t element) {
    return element != 0 && !constants.contains(element);
  });
}

bool RecognizedValues::isHeld(size_t value) {
  if (!held) {
    held.emplace();
    for (const RankValues::Node &node : values.getNodes())
      for (size_t rank = 0; rank < node.values.size(); ++rank)
        if (node.values[rank] && node.getOp() && get(node, rank).isCertain())
          for (size_t owner : getOwners(node, rank))
            for (size_t equal :
                 relations.findEqual(relations.getContent(owner)))
              held->insert(equal);
  }
  // A value that something held is computed from is there in another form.
  return held->contains(value) ||
         llvm::any_of(relations.getValue(value).getUsers(),
                      [&](Operation *user) {
                        return llvm::any_of(user->getResults(), [&](Value own) {
                          return held->contains(relations.getIndex(own));
                        });
                      });
}

bool RecognizedValues::areElementsOf(const FieldValue &content, size_t value,
                                     bool scaled) {
  const FieldValue &whole = relations.getContent(value);
  if (!hasRandomElements(content) || !hasRandomElements(whole))
    return false;
  auto [place, isNew] = elementsOf.try_emplace(value);
  if (isNew)
    place->second.insert(whole->elements.begin(), whole->elements.end());
  auto areAmong = [&](const FieldValue &own) {
    return own && llvm::all_of(own->elements, [&](uint64_t element) {
             return element == 0 || place->second.contains(element);
           });
  };
  auto areAmongScaled = [&](const auto &count) {
    return areAmong(relations.scale(content, count.first, 1)) ||
           areAmong(relations.scale(content, 1, count.first));
  };
  return areAmong(content) ||
         (scaled && llvm::any_of(relations.getCounts(), areAmongScaled));
}

FieldValue RecognizedValues::combine(const RankValues::Node &node, size_t rank,
                                     const Recognition &recognition) {
  if (recognition.axes.empty())
    return node.contents[rank];
  int64_t member = relations.getWorld()[rank];
  FieldValue total = relations.sum(node.contents, recognition.axes, member);
  if (!total || recognition.kind != Kind::Mean)
    return total;
  auto count = static_cast<double>(
      relations.getMesh().getMembersAlong(recognition.axes, member).size());
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  Type type = total->getElementType();
  FieldValue mean = share(algebra.map(
      tp::MapFunction::Div, {total, algebra.scalar(count, type)}, type));
  return relations.getEvaluation().clearProblem() ? nullptr : mean;
}

const RecognizedValues::Recognition &
RecognizedValues::get(const RankValues::Node &node, size_t rank) {
  auto [place, isNew] = known.try_emplace({&node, rank});
  Recognition &found = place->second;
  const FieldValue &content = node.contents[rank];
  if (!isNew || !content)
    return found;
  if (!node.getOp() || values.getRelation(node)) {
    found.kind = Kind::Related;
    return found;
  }
  found.block = findBlock(content, std::nullopt);
  if (found.block) {
    found.kind = Kind::Related;
    return found;
  }
  if (contains(content))
    found.kind = Kind::Elements;
  for (const std::vector<std::string> &axes : relations.getAxisSets()) {
    if (axes.empty() || relations.areEqualAlong(node.contents, axes))
      continue;
    for (Kind kind : {Kind::Sum, Kind::Mean}) {
      Recognition candidate{kind, std::nullopt, axes};
      FieldValue total = combine(node, rank, candidate);
      if (isBlock(total)) {
        found = std::move(candidate);
        return found;
      }
      if (kind == Kind::Sum && found.kind == Kind::Unknown && contains(total))
        found = {Kind::Elements, std::nullopt, axes};
    }
  }
  return found;
}

std::vector<size_t> RecognizedValues::getOwners(const RankValues::Node &node,
                                                size_t rank) {
  const Recognition &recognition = get(node, rank);
  if (recognition.kind == Kind::Unknown)
    return {};
  if (recognition.kind == Kind::Related)
    if (const auto &relation = values.getRelation(node))
      return {relation->value};
  return getOwners(combine(node, rank, recognition));
}

std::vector<size_t>
RecognizedValues::getOwners(const FieldValue &content) const {
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
