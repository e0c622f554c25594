//===- Explanation.cpp - where ranks differ from the reference ------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Explanation.h"

#include "RelationOps.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Report/RemarkCollector.h"
#include "commute/Support/Quoted.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

std::string Explanation::describeNode(const Node &node) const {
  if (Operation *op = node.getOp())
    return getNodeName(op);
  return quoted(StringRef(node.key).substr(StringRef("input ").size()));
}

std::string Explanation::describeReference(size_t value) const {
  Location location = relations.getValue(value).getLoc();
  std::string node, file;
  unsigned line;
  report::describeLocation(location, node, file, line);
  if (auto argument = dyn_cast<BlockArgument>(relations.getValue(value)))
    return quoted(
        refinement.referenceOps.getInputName(argument.getArgNumber()));
  return node.empty() ? "a value" : quoted(node);
}

std::string Explanation::describeRelation(const Relation &relation) const {
  switch (relation.kind) {
  case Relation::Kind::Name:
    return "the whole";
  case Relation::Kind::Shard:
    return (relation.operands[0].kind == Relation::Kind::Name
                ? "a shard"
                : describeRelation(relation.operands[0]) + ", and a shard") +
           " along dim " + std::to_string(relation.dim) + " (" + relation.axis +
           ")";
  case Relation::Kind::Partial:
    return (relation.operands[0].kind == Relation::Kind::Name
                ? "a summand"
                : "a summand of " + describeRelation(relation.operands[0])) +
           " (" + relation.axis + ")";
  default:
    return relation.getText();
  }
}

Finding Explanation::makeFinding(const Node &node) const {
  Finding finding;
  finding.location = node.getFirst().getLoc();
  return finding;
}

void Explanation::setOther(Finding &finding, size_t value) const {
  finding.other = relations.getValue(value).getLoc();
  finding.otherProgram = "reference";
}

std::vector<std::pair<int64_t, std::string>> Explanation::getCounts() const {
  std::vector<std::pair<int64_t, std::string>> counts;
  int64_t all = 1;
  for (const auto &[name, groups] : relations.getMesh().getAxes()) {
    auto size = static_cast<int64_t>(groups.front().size());
    all *= size;
    if (size > 1)
      counts.emplace_back(size, name);
  }
  if (counts.size() > 1)
    counts.emplace_back(all, "all axes");
  return counts;
}

FieldValue Explanation::scale(const FieldValue &value, int64_t numerator,
                              int64_t denominator) {
  if (!value || !value->isField() || value->isTruth())
    return nullptr;
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  Type type = value->getElementType();
  tp::AlgebraValue result = value;
  if (numerator != 1)
    result = algebra.map(
        tp::MapFunction::Mul,
        {result, algebra.scalar(static_cast<double>(numerator), type)}, type);
  if (denominator != 1)
    result = algebra.map(
        tp::MapFunction::Div,
        {result, algebra.scalar(static_cast<double>(denominator), type)}, type);
  return relations.getEvaluation().clearProblem() ? nullptr : share(result);
}

//===----------------------------------------------------------------------===//
// Origins
//===----------------------------------------------------------------------===//

ArrayRef<size_t> Explanation::getPacked(const Node &node) {
  auto [known, isNew] = packed.try_emplace(&node);
  if (!isNew || !node.hasContent() || !node.dependsOnInputs)
    return known->second;
  // Inputs are made of inputs, and results of the results of like ops.
  std::vector<size_t> candidates;
  if (node.getOp()) {
    candidates = findExpected(node);
  } else {
    for (size_t index = 0; index < relations.getCount(); ++index)
      if (isa<BlockArgument>(relations.getValue(index)))
        candidates.push_back(index);
  }
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  size_t rank = node.getFirstRank();
  const FieldValue &own = node.contents[rank];
  int64_t world = relations.getWorld()[rank];
  for (int64_t dim = 0; dim < own->getRank(); ++dim) {
    // The blocks that the rank would hold of each candidate.
    std::vector<std::pair<size_t, FieldValue>> blocks;
    for (size_t candidate : candidates) {
      const FieldValue &whole = relations.getContent(candidate);
      if (whole->getRank() != own->getRank() ||
          whole->getElementType() != own->getElementType())
        continue;
      blocks.emplace_back(candidate, whole);
      for (const auto &[axis, groups] : relations.getMesh().getAxes())
        if (groups.front().size() > 1)
          if (FieldValue block = relations.evaluate(
                  Relation::makeShard(Relation::makeName("output"), dim, axis),
                  whole, world))
            blocks.emplace_back(candidate, block);
    }
    std::vector<size_t> found;
    int64_t offset = 0, size = own->getSizes()[dim];
    while (offset < size) {
      bool fits = false;
      for (const auto &[candidate, block] : blocks) {
        int64_t length = block->getSizes()[dim];
        if (length == 0 || offset + length > size)
          continue;
        FieldValue part = share(algebra.slice(own, dim, offset, 1, length));
        if (relations.getEvaluation().clearProblem() ||
            !relations.areEqual(part, block))
          continue;
        found.push_back(candidate);
        offset += length;
        fits = true;
        break;
      }
      if (!fits)
        break;
    }
    if (offset == size && found.size() > 1) {
      packed[&node] = std::move(found);
      break;
    }
  }
  return packed[&node];
}

bool Explanation::isMoved(const Node &node) {
  auto [known, isNew] = moved.try_emplace(&node, false);
  if (!isNew)
    return known->second;
  Operation *op = node.getOp();
  auto collective = dyn_cast_if_present<tp::CollectiveOpInterface>(op);
  bool moves = isa_and_present<tp::ReindexOpInterface>(op) ||
               isa_and_present<tp::CompletionOpInterface>(op) ||
               (collective && !collective.getCollectiveReduction());
  bool is = moves && !isRelated(node) &&
            llvm::all_of(node.operands, [&](const Node *operand) {
              return isRelated(*operand) || isMoved(*operand);
            });
  return moved[&node] = is;
}

std::vector<const RankValues::Node *>
Explanation::getSources(const Node &node) {
  std::vector<const Node *> sources;
  std::vector<const Node *> work = {&node};
  while (!work.empty()) {
    const Node *own = work.back();
    work.pop_back();
    for (const Node *operand : own->operands) {
      if (isRelated(*operand))
        sources.push_back(operand);
      else
        work.push_back(operand);
    }
  }
  return sources;
}

std::vector<const RankValues::Node *>
Explanation::findOrigins(const Node &output) {
  std::vector<const Node *> work = {&output}, origins;
  std::set<const Node *> seen = {&output};
  while (!work.empty()) {
    const Node *node = work.back();
    work.pop_back();
    bool isOrigin = true;
    for (const Node *operand : node->operands) {
      if (isRelated(*operand) || isMoved(*operand))
        continue;
      isOrigin = false;
      if (seen.insert(operand).second)
        work.push_back(operand);
    }
    if (isOrigin)
      origins.push_back(node);
  }
  llvm::DenseMap<const Node *, size_t> order;
  for (auto [number, node] : llvm::enumerate(values.getNodes()))
    order[&node] = number;
  llvm::sort(origins,
             [&](const Node *a, const Node *b) { return order[a] < order[b]; });
  return origins;
}

//===----------------------------------------------------------------------===//
// What a value should be
//===----------------------------------------------------------------------===//

std::vector<size_t> Explanation::findExpected(const Node &node) {
  std::vector<size_t> expected;
  Operation *op = node.getOp();
  if (!op)
    return expected;
  auto addValue = [&](Value value) {
    for (size_t index = 0; index < relations.getCount(); ++index)
      if (relations.getValue(index) == value) {
        if (!llvm::is_contained(expected, index))
          expected.push_back(index);
        return;
      }
  };
  if (isMoved(node)) {
    for (const Node *source : getSources(node))
      if (const auto &relation = values.getRelation(*source))
        addValue(relations.getValue(relation->value));
    return expected;
  }
  bool isCommunication =
      isa<tp::GroupOpInterface>(op) || isa<tp::CompletionOpInterface>(op);
  // Ops of the reference of this kind, by how many operands they share.
  std::map<Operation *, size_t> shared;
  SmallVector<const Node *> sources;
  for (const Node *operand : node.operands) {
    if (isMoved(*operand))
      llvm::append_range(sources, getSources(*operand));
    else
      sources.push_back(operand);
  }
  for (const Node *operand : sources) {
    std::vector<size_t> parts = getPacked(*operand).vec();
    if (const auto &relation = values.getRelation(*operand))
      parts = {relation->value};
    for (size_t part : parts) {
      if (isCommunication) {
        addValue(relations.getValue(part));
        continue;
      }
      // All values of the reference with this content.
      for (size_t equal : relations.findEqual(relations.getContent(part)))
        for (Operation *user : relations.getValue(equal).getUsers())
          if (user->getName() == op->getName())
            ++shared[user];
    }
  }
  std::vector<std::pair<size_t, Operation *>> best;
  for (auto [user, count] : shared)
    best.emplace_back(count, user);
  llvm::sort(best, [](const auto &a, const auto &b) {
    if (a.first != b.first)
      return a.first > b.first;
    return a.second->isBeforeInBlock(b.second);
  });
  unsigned number = cast<OpResult>(node.getFirst()).getResultNumber();
  for (auto [count, user] : best)
    if (number < user->getNumResults())
      addValue(user->getResult(number));
  return expected;
}

//===----------------------------------------------------------------------===//
// Explanations
//===----------------------------------------------------------------------===//

bool Explanation::tryMultiple(const Node &node, Finding &finding) {
  for (auto [count, axis] : getCounts())
    for (bool isMultiple : {true, false}) {
      std::vector<FieldValue> scaled;
      for (const FieldValue &content : node.contents)
        scaled.push_back(
            scale(content, isMultiple ? 1 : count, isMultiple ? count : 1));
      std::optional<FoundRelation> found = relations.find(scaled);
      if (!found || found->relation.isPartial())
        continue;
      std::string whole = describeReference(found->value);
      setOther(finding, found->value);
      if (isMultiple) {
        finding.message = describeNode(node) + " is " + std::to_string(count) +
                          " times the reference's " + whole +
                          ": it is summed over " + axis +
                          ", although every rank holds the whole of it";
        finding.fix = "reduce it once, or divide one summand";
      } else {
        finding.message = describeNode(node) + " is 1/" +
                          std::to_string(count) + " of the reference's " +
                          whole + ": it is averaged over " + axis +
                          ", where the reference has the sum";
        finding.fix = "use a sum, or multiply by the size of the group";
      }
      return true;
    }
  return false;
}

bool Explanation::trySummands(const Node &node, Finding &finding) {
  Operation *op = node.getOp();
  if (isa<tp::GroupOpInterface>(op))
    return false;
  for (const Node *operand : node.operands) {
    const std::optional<FoundRelation> &relation = values.getRelation(*operand);
    if (!relation || !relation->relation.isPartial())
      continue;
    // Others that are whole are then added once per rank.
    finding.message =
        describeNode(node) + " uses " + describeNode(*operand) +
        ", of which each rank holds only " +
        describeRelation(relation->relation) + " of the reference's " +
        describeReference(relation->value) + ": no rank has reduced it";
    finding.fix = "all_reduce (or reduce_scatter) " + describeNode(*operand) +
                  " over " + relation->relation.axis + " before " +
                  describeNode(node);
    setOther(finding, relation->value);
    for (const Node *other : node.operands) {
      const std::optional<FoundRelation> &own = values.getRelation(*other);
      if (other == operand || !own || own->relation.isPartial())
        continue;
      finding.message += "; " + describeNode(*other) +
                         ", which every rank holds, enters on each rank, so "
                         "that a later sum over " +
                         relation->relation.axis + " counts it repeatedly";
      finding.fix += ", or use " + describeNode(*other) + " on one rank only";
      break;
    }
    return true;
  }
  return false;
}

bool Explanation::tryShardOfDim(const Node &node, Finding &finding) {
  Operation *op = node.getOp();
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || isa<tp::GroupOpInterface>(op) || isa<tp::CallOp>(op))
    return false;
  tp::DimensionRule rule = ruled.getDimensionRule();
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    const Node *own = values.find(node.getFirstRank(), operand);
    if (!own)
      continue;
    const std::optional<FoundRelation> &relation = values.getRelation(*own);
    if (!relation || relation->relation.kind != Relation::Kind::Shard)
      continue;
    int64_t dim = relation->relation.dim;
    if (dim >= static_cast<int64_t>(rule.operands[number].size()))
      continue;
    bool isWhole =
        llvm::any_of(rule.operands[number][dim], [&](unsigned factor) {
          // Partial sums are values of the reference in another form.
          const tp::Factor &own = rule.factors[factor];
          return own.kind == tp::Factor::Kind::Whole ||
                 (own.kind == tp::Factor::Kind::Reduction &&
                  own.reduction != tp::ReductionKind::Sum);
        });
    if (!isWhole)
      continue;
    finding.message =
        describeNode(node) + " needs all of dim " + std::to_string(dim) +
        " of " + describeNode(*own) + ", but each rank holds only " +
        describeRelation(relation->relation) + " of the reference's " +
        describeReference(relation->value);
    finding.fix = "all_gather " + describeNode(*own) + " along dim " +
                  std::to_string(dim) + " over " + relation->relation.axis +
                  " first, or combine the ranks' results";
    setOther(finding, relation->value);
    return true;
  }
  return false;
}

bool Explanation::tryRepeatedSummand(const Node &node, size_t expected,
                                     Finding &finding) {
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  FieldValue whole = relations.getContent(expected);
  FieldValue own = node.contents[node.getFirstRank()];
  if (!own || !whole || !own->isField() || own->isTruth() ||
      own->getSizes() != whole->getSizes())
    return false;
  Type type = own->getElementType();
  FieldValue rest =
      share(algebra.map(tp::MapFunction::Sub, {own, whole}, type));
  if (relations.getEvaluation().clearProblem())
    return false;
  // The values that the reference adds near the expected one.
  std::vector<size_t> candidates;
  Value value = relations.getValue(expected);
  for (size_t index = 0; index < relations.getCount(); ++index) {
    Value other = relations.getValue(index);
    bool isNear =
        (value.getDefiningOp() &&
         llvm::is_contained(value.getDefiningOp()->getOperands(), other)) ||
        llvm::any_of(value.getUsers(), [&](Operation *user) {
          return llvm::is_contained(user->getOperands(), other);
        });
    if (isNear || isa<BlockArgument>(other))
      candidates.push_back(index);
  }
  for (size_t candidate : candidates) {
    FieldValue summand = relations.getContent(candidate);
    if (!summand->isField() || summand->isTruth() ||
        summand->getRank() > own->getRank())
      continue;
    bool fits = true;
    for (int64_t dim = 1; fits && dim <= summand->getRank(); ++dim) {
      int64_t size = summand->getSizes()[summand->getRank() - dim];
      fits = size == 1 || size == own->getSizes()[own->getRank() - dim];
    }
    if (!fits)
      continue;
    for (auto [count, axis] : getCounts())
      for (int64_t factor : {count - 1, int64_t(-1)}) {
        FieldValue scaled = scale(summand, factor, 1);
        if (!scaled)
          continue;
        FieldValue broadcast = share(algebra.map(
            tp::MapFunction::Add, {scaled, scale(own, 0, 1)}, type));
        if (relations.getEvaluation().clearProblem() ||
            !relations.areEqual(equivalence::collapse(broadcast),
                                equivalence::collapse(rest)))
          continue;
        setOther(finding, expected);
        if (factor < 0) {
          finding.message = describeNode(node) + " lacks the summand " +
                            describeReference(candidate) +
                            " of the reference's " +
                            describeReference(expected);
          finding.fix = "add " + describeReference(candidate) + " once";
        } else {
          finding.message =
              describeNode(node) + " contains " + describeReference(candidate) +
              " " + std::to_string(count) + " times, and the reference's " +
              describeReference(expected) +
              " once: every rank adds it before the sum over " + axis;
          finding.fix = "add it after the sum, or on one rank only";
        }
        return true;
      }
  }
  return false;
}

bool Explanation::tryOtherBlocks(const Node &node, size_t expected,
                                 Finding &finding) {
  FieldValue whole = relations.getContent(expected);
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  auto getBlock = [&](const FieldValue &value, int64_t dim, int64_t count,
                      int64_t index) -> FieldValue {
    int64_t size = value->getSizes()[dim] / count;
    FieldValue block = share(algebra.slice(value, dim, index * size, 1, size));
    return relations.getEvaluation().clearProblem() ? nullptr : block;
  };
  for (auto [rank, own] : llvm::enumerate(node.contents)) {
    if (!own || own->getRank() != whole->getRank() ||
        own->getElementType() != whole->getElementType())
      continue;
    for (int64_t dim = 0; dim < own->getRank(); ++dim) {
      bool fits = true;
      for (int64_t other = 0; other < own->getRank(); ++other)
        fits &=
            other == dim || own->getSizes()[other] == whole->getSizes()[other];
      int64_t size = own->getSizes()[dim], all = whole->getSizes()[dim];
      if (!fits || size == 0 || all % size != 0)
        continue;
      for (auto [count, axis] : getCounts()) {
        // The number of blocks in the whole, of which the rank has some.
        for (int64_t parts : {count, 2 * count, 3 * count}) {
          if (axis == "all axes" && parts != count)
            continue;
          if (all % parts != 0 || size % (all / parts) != 0)
            continue;
          int64_t numOwn = size / (all / parts);
          std::vector<int64_t> order;
          for (int64_t index = 0; index < numOwn; ++index) {
            FieldValue block = getBlock(own, dim, numOwn, index);
            for (int64_t other = 0; other < parts; ++other)
              if (block && relations.areEqual(
                               block, getBlock(whole, dim, parts, other))) {
                order.push_back(other);
                break;
              }
          }
          if (static_cast<int64_t>(order.size()) != numOwn)
            continue;
          // A rank that holds its own block is not the one to name.
          const std::vector<int64_t> *members =
              relations.getMesh().getMembers(axis, relations.getWorld()[rank]);
          auto place = members
                           ? llvm::find(*members, relations.getWorld()[rank]) -
                                 members->begin()
                           : 0;
          bool isOwn = members && numOwn * count == parts;
          for (auto [index, block] : llvm::enumerate(order))
            isOwn &= block == place * numOwn + static_cast<int64_t>(index);
          if (isOwn)
            continue;
          if (llvm::is_sorted(order) && numOwn == parts)
            continue;
          llvm::raw_string_ostream os(finding.message);
          setOther(finding, expected);
          os << describeNode(node) << " on rank " << relations.getWorld()[rank]
             << " holds ";
          if (numOwn == 1)
            os << "block " << order.front();
          else {
            os << "the blocks [";
            llvm::interleaveComma(order, os);
            os << ']';
          }
          os << " of " << parts << " along dim " << dim
             << " of the reference's " << describeReference(expected);
          if (all == size) {
            os << ", which has them in order";
            finding.fix = "put the blocks of the ranks together in the order "
                          "of the group";
          } else {
            os << ": the shard of another rank";
            finding.fix = "take the block of the rank's own position";
          }
          return true;
        }
      }
    }
  }
  return false;
}

bool Explanation::tryOtherOperand(const Node &node, Finding &finding) {
  std::vector<size_t> expected = findExpected(node);
  Operation *op = node.getOp();
  if (expected.empty() || isa<tp::GroupOpInterface>(op))
    return false;
  Operation *best = relations.getValue(expected.front()).getDefiningOp();
  if (!best)
    return false;
  setOther(finding, expected.front());
  finding.message = describeNode(node) + " is not the reference's " +
                    describeReference(expected.front());
  if (best->getNumOperands() != op->getNumOperands())
    return true;
  llvm::raw_string_ostream os(finding.message);
  bool any = false;
  for (auto [number, operand, other] :
       llvm::enumerate(op->getOperands(), best->getOperands())) {
    const Node *own = values.find(node.getFirstRank(), operand);
    if (!own || !own->hasContent())
      continue;
    const std::optional<FoundRelation> &relation = values.getRelation(*own);
    FieldValue content = relations.getEvaluation().get(other);
    if (!relation || !content)
      continue;
    bool isSame =
        relations.areEqual(relations.getContent(relation->value), content);
    if (isSame && relation->relation.kind == Relation::Kind::Name)
      continue;
    os << (any ? "; " : ": ") << "operand " << number << ", "
       << describeNode(*own) << ", is " << describeRelation(relation->relation)
       << " of " << describeReference(relation->value);
    if (!isSame) {
      std::string node, file;
      unsigned line = 0;
      report::describeLocation(other.getLoc(), node, file, line);
      if (auto argument = dyn_cast<BlockArgument>(other))
        node = refinement.referenceOps.getInputName(argument.getArgNumber());
      os << ", where the reference has " << quoted(node);
    }
    any = true;
  }
  if (!any) {
    os << ": the operands are the same, so the op or its arguments differ";
    finding.fix = "compare the two lines";
  }
  return true;
}

bool Explanation::tryOperands(const Node &node, Finding &finding) {
  for (const Node *operand : node.operands) {
    if (!isMoved(*operand))
      continue;
    for (size_t value : findExpected(*operand)) {
      Finding ofOperand = makeFinding(node);
      if (!tryOtherBlocks(*operand, value, ofOperand))
        continue;
      finding = std::move(ofOperand);
      finding.message = describeNode(node) + " uses " + describeNode(*operand) +
                        ": " + finding.message;
      return true;
    }
  }
  return false;
}

void Explanation::explainNode(const Node &node) {
  if (!explained.insert(&node).second)
    return;
  Finding finding = makeFinding(node);
  auto commit = [&] { refinement.result.findings.push_back(finding); };
  if (!node.getOp()) {
    finding.message = describeNode(node) + " is an input that is not related "
                                           "to the reference";
    return commit();
  }
  std::vector<size_t> expected = findExpected(node);
  if (tryMultiple(node, finding))
    return commit();
  for (size_t value : expected)
    if (tryRepeatedSummand(node, value, finding))
      return commit();
  for (size_t value : expected)
    if (tryOtherBlocks(node, value, finding))
      return commit();
  if (trySummands(node, finding) || tryOperands(node, finding) ||
      tryShardOfDim(node, finding) || tryOtherOperand(node, finding))
    return commit();
  finding.message = describeNode(node) +
                    " is no value of the reference, although its operands are";
  commit();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

bool Explanation::holds(const Refinement::Output &output) const {
  if (!output.relation)
    return false;
  if (!output.isRequired)
    return !output.relation->isPartial();
  std::vector<FieldValue> contents;
  for (Value value : output.ofRanks)
    contents.push_back(refinement.getContent(value));
  std::optional<Relation> found =
      relations.findTo(refinement.getContent(output.reference), contents);
  if (!found)
    return false;
  // Relations may be spelled in different ways.
  FieldValue whole = refinement.getContent(output.reference);
  if (found->isPartial() != output.relation->isPartial())
    return false;
  for (auto [rank, content] : llvm::zip_equal(relations.getWorld(), contents)) {
    if (!content)
      continue;
    auto type = relations.evaluate(*output.relation, whole, rank);
    if (type && type->getSizes() != content->getSizes())
      return false;
  }
  return true;
}

bool Explanation::explainRelation(const Refinement::Output &output,
                                  const Node &node, size_t rank) {
  // What all ranks hold together says more than what this one holds.
  std::optional<FoundRelation> relation = values.getRelation(node);
  FieldValue whole = refinement.getContent(output.reference);
  std::string where = " on each rank";
  bool isSame = relation && relations.areEqual(
                                whole, relations.getContent(relation->value));
  bool isAsMeant = isSame && output.relation &&
                   (output.isRequired || !output.relation->isPartial()) &&
                   relation->relation.getText() == output.relation->getText();
  if (!relation || isAsMeant) {
    std::vector<FieldValue> own(node.contents.size());
    own[rank] = node.contents[rank];
    relation = relations.find(own);
    where = " on rank " + std::to_string(relations.getWorld()[rank]);
    if (!relation)
      return false;
    isSame = relations.areEqual(whole, relations.getContent(relation->value));
  }
  Finding finding = makeFinding(node);
  setOther(finding, relation->value);
  finding.message = "output " + output.name + ": " + describeNode(node) +
                    where + " is " + describeRelation(relation->relation) +
                    " of the reference's " + describeReference(relation->value);
  if (!isSame) {
    finding.message += ", not of this output";
  } else if (relation->relation.isPartial()) {
    finding.message += ": no rank has reduced it";
    finding.fix = "all_reduce it over " + relation->relation.axis +
                  ", or state \"outputs\": {\"" +
                  output.name.substr(0, output.name.find(' ')) +
                  "\": \"partial(" + relation->relation.axis +
                  ")\"} if summands are meant";
  } else if (output.relation) {
    finding.message += ", but it must be " + output.relation->getOutputText();
  }
  refinement.result.findings.push_back(std::move(finding));
  return true;
}

bool Explanation::explainOutputOf(const Refinement::Output &output,
                                  size_t rank) {
  // The value of the rank's program that it returns.
  const JoinedRank &own = refinement.ranks[rank];
  const Node *node = nullptr;
  auto function = const_cast<func::FuncOp &>(own.function);
  for (Value value : function.getBody().front().getTerminator()->getOperands())
    if (own.values.lookup(value) == output.ofRanks[rank])
      node = values.find(rank, value);
  if (!node)
    return false;
  if (isRelated(*node) || isMoved(*node)) {
    if (explainRelation(output, *node, rank))
      return true;
    // The elements may be those of the output, in another order.
    Finding finding = makeFinding(*node);
    for (size_t index = 0; index < relations.getCount(); ++index)
      if (relations.getContent(index) ==
              refinement.getContent(output.reference) &&
          tryOtherBlocks(*node, index, finding)) {
        refinement.result.findings.push_back(std::move(finding));
        return true;
      }
    if (!isMoved(*node))
      return false;
  }
  std::vector<const Node *> origins = findOrigins(*node);
  if (origins.empty())
    return false;
  // A multiple of a value of the reference is a cause wherever it is.
  constexpr size_t mostNodes = 200;
  for (const Node *other : ArrayRef(region).take_front(mostNodes)) {
    Finding finding = makeFinding(*other);
    if (!other->getOp() || !tryMultiple(*other, finding))
      continue;
    if (explained.insert(other).second)
      refinement.result.findings.push_back(std::move(finding));
    return true;
  }
  explainNode(*origins.front());
  return true;
}

bool Explanation::explainOutput(const Refinement::Output &output) {
  // Ranks that hold what they must are not to be explained.
  FieldValue whole = refinement.getContent(output.reference);
  std::vector<size_t> deviating, all;
  for (auto [rank, value] : llvm::enumerate(output.ofRanks)) {
    if (!value)
      continue;
    all.push_back(rank);
    Relation meant =
        output.relation ? *output.relation : Relation::makeName("output");
    if (!relations.areEqual(
            relations.evaluate(meant, whole, relations.getWorld()[rank]),
            refinement.getContent(value)))
      deviating.push_back(rank);
  }
  for (size_t rank : deviating.empty() ? all : deviating)
    if (explainOutputOf(output, rank))
      return true;
  Finding finding;
  finding.message = all.empty()
                        ? "output " + output.name + " is on no rank"
                        : "output " + output.name +
                              " is no value of the reference on the ranks";
  if (!all.empty())
    finding.location = output.ofRanks[all.front()].getLoc();
  finding.other = output.reference.getLoc();
  finding.otherProgram = "reference";
  refinement.result.findings.push_back(std::move(finding));
  return true;
}

void Explanation::run() {
  // What the proof has to say of outputs is less than what follows.
  std::vector<Finding> before = std::move(refinement.result.findings);
  refinement.result.findings.clear();
  refinement.addReferenceValues();
  constexpr size_t mostFindings = 4;
  for (const Refinement::Output &output : refinement.outputs) {
    if (refinement.result.findings.size() == mostFindings)
      break;
    if (!holds(output))
      explainOutput(output);
  }
  if (refinement.result.findings.empty())
    refinement.result.findings = std::move(before);
}
