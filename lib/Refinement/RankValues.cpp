//===- RankValues.cpp - corresponding values of the ranks -----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RankValues.h"

#include "RelatedInputs.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

Value RankValues::Node::getFirst() const { return values[getFirstRank()]; }

size_t RankValues::Node::getFirstRank() const {
  size_t rank = 0;
  while (!values[rank])
    ++rank;
  return rank;
}

bool RankValues::Node::hasContent() const {
  return llvm::any_of(contents,
                      [](const FieldValue &content) { return !!content; });
}

void RankValues::add(const std::vector<JoinedRank> &ranks, size_t index,
                     const std::string &key, Value value,
                     const std::function<FieldValue(Value)> &getContent) {
  auto [place, isNew] = nodeOfKey.try_emplace(key, nullptr);
  if (isNew) {
    place->second = &nodes.emplace_back();
    place->second->key = key;
    place->second->values.resize(ranks.size());
    place->second->contents.resize(ranks.size());
  }
  Node &node = *place->second;
  node.values[index] = value;
  node.contents[index] = getContent(ranks[index].values.lookup(value));
  nodeOf[{index, value}] = &node;
  if (!isNew)
    return;
  Operation *op = value.getDefiningOp();
  if (!op) {
    node.dependsOnInputs = true;
    return;
  }
  node.dependsOnInputs = ranks[index].sources.count(value);
  for (Value operand : op->getOperands())
    if (const Node *own = nodeOf.lookup({index, operand})) {
      node.operands.push_back(own);
      node.dependsOnInputs |= own->dependsOnInputs;
    }
}

RankValues::RankValues(const std::vector<JoinedRank> &ranks,
                       ValueRelations &relations,
                       const std::function<FieldValue(Value)> &getContent)
    : relations(relations) {
  for (auto [index, rank] : llvm::enumerate(ranks)) {
    auto function = const_cast<func::FuncOp &>(rank.function);
    for (BlockArgument argument : function.getArguments())
      add(ranks, index,
          "input " + getInputName(function, argument.getArgNumber()).str(),
          argument, getContent);
    // Values without a name are counted from the last one that has one.
    std::string last;
    unsigned count = 0;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (StringAttr name = getFirstName(&op)) {
        last = name.str();
        count = 0;
      } else {
        ++count;
      }
      for (auto [number, result] : llvm::enumerate(op.getResults()))
        add(ranks, index,
            last + "#" + std::to_string(count) + "." + std::to_string(number),
            result, getContent);
    }
  }
}

const std::optional<FoundRelation> &
RankValues::getRelation(const Node &node) const {
  if (!node.isKnown) {
    node.isKnown = true;
    node.relation = relations.find(node.contents);
  }
  return node.relation;
}

bool RankValues::isRelated(const Node &node) const {
  // Inputs are what the premises say.
  return !node.dependsOnInputs || !node.hasContent() || !node.getOp() ||
         getRelation(node).has_value();
}
