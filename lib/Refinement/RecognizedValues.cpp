//===- RecognizedValues.cpp - what the reference computes, too ----------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RecognizedValues.h"

#include <utility>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

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
    known.add(relations.getContent(index), index, isConstant);
    auto result = dyn_cast<OpResult>(value);
    if (!isConstant && result && result.getResultNumber() == 0)
      for (const FieldValue &step : relations.getEvaluation().getSteps(op))
        known.add(step, index, isConstant);
  }
  known.sort();
}

bool RecognizedValues::findMisplaced(const RankValues::Node &node) {
  if (values.getRelation(node))
    return false;
  std::vector<std::pair<int64_t, Block>> blocks;
  for (auto [rank, content] : llvm::enumerate(node.contents)) {
    if (!content)
      continue;
    std::optional<Block> block = known.findBlock(
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
  StoredElements whole(*known.get(blocks.front().second.tensor).first);
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
  if (!node.dependsOnInputs || !hasRandomElements(content) ||
      known.contains(content))
    return std::nullopt;
  for (const auto &[count, axis] : relations.getCounts())
    for (bool isLarger : {true, false}) {
      FieldValue own =
          relations.scale(content, isLarger ? 1 : count, isLarger ? count : 1);
      if (inOrder ? !isBlock(own) : !known.contains(own))
        continue;
      if (auto owner = known.findOwner(own->elements.front()))
        return Multiple{isLarger ? count : 1, isLarger ? 1 : count, *owner};
    }
  return std::nullopt;
}

bool RecognizedValues::dependsOnInputs(const RankValues::Node &node,
                                       size_t rank) {
  if (!node.dependsOnInputs)
    return false;
  FieldValue content = combine(node, rank, get(node, rank));
  if (!hasRandomElements(content))
    return true;
  return llvm::any_of(content->elements, [&](uint64_t element) {
    return element != 0 && !known.isConstant(element);
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
  auto [place, isNew] = recognitions.try_emplace({&node, rank});
  Recognition &found = place->second;
  const FieldValue &content = node.contents[rank];
  if (!isNew || !content)
    return found;
  if (!node.getOp() || values.getRelation(node)) {
    found.kind = Kind::Related;
    return found;
  }
  found.block = known.findBlock(content, std::nullopt);
  if (found.block) {
    found.kind = Kind::Related;
    return found;
  }
  if (known.contains(content))
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
      if (kind == Kind::Sum && found.kind == Kind::Unknown &&
          known.contains(total))
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
  return known.getOwners(combine(node, rank, recognition));
}
