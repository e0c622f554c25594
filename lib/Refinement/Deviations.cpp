//===- Deviations.cpp - what a wrong value is instead ---------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Deviations.h"

#include "commute/Report/RemarkCollector.h"
#include "commute/Support/Quoted.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

bool Deviations::tryMultiple(const Step &step, Finding &finding) {
  if (tryMultiple(step, step, finding))
    return true;
  // Or it makes what the ranks sum up a multiple.
  for (const Step *user : step.users) {
    auto collective =
        dyn_cast_if_present<tp::CollectiveOpInterface>(user->getOp());
    if (user->rank == step.rank && collective &&
        collective.getCollectiveReduction() &&
        tryMultiple(step, *user, finding))
      return true;
  }
  return false;
}

bool Deviations::tryMultiple(const Step &step, const Step &multiple,
                             Finding &finding) {
  auto collective =
      dyn_cast_if_present<tp::CollectiveOpInterface>(step.getOp());
  bool reduces = collective && collective.getCollectiveReduction();
  for (const auto &[count, axis] : relations.getCounts())
    for (bool isMultiple : {true, false}) {
      std::vector<FieldValue> scaled;
      for (const FieldValue &content : multiple.node->contents)
        scaled.push_back(relations.scale(content, isMultiple ? 1 : count,
                                         isMultiple ? count : 1));
      std::optional<FoundRelation> found = relations.find(scaled);
      if (!found || found->relation.isPartial())
        continue;
      texts.setOther(finding, found->value);
      std::string factor = (isMultiple ? "" : "1/") + std::to_string(count);
      finding.message =
          texts.describe(step) +
          (&step == &multiple ? "" : " makes " + texts.describe(multiple)) +
          (&step == &multiple ? " is " : " ") + factor +
          (isMultiple ? " times the reference's " : " of the reference's ") +
          texts.describe(found->value);
      if (!reduces) {
        finding.fix = "compare how the reference scales it";
      } else if (isMultiple) {
        finding.message += ": it is summed over " + axis +
                           ", although every rank holds the whole of it";
        finding.fix = "reduce it once, or divide one summand";
      } else {
        finding.message += ": it is averaged over " + axis +
                           ", where the reference has the sum";
        finding.fix = "use a sum, or multiply by the size of the group";
      }
      return true;
    }
  return false;
}

void Deviations::addWholeSummand(const Step &step, const Step &operand,
                                 StringRef axis, Finding &finding) {
  for (const Step *other : step.operands) {
    const std::optional<FoundRelation> &own = getRelation(*other);
    if (other == &operand || !own || own->relation.isPartial())
      continue;
    finding.message += ("; " + texts.describe(*other) +
                        ", which every rank holds, enters on each rank, so "
                        "that a later sum over " +
                        axis + " counts it repeatedly")
                           .str();
    finding.fix += ", or use " + texts.describe(*other) + " on one rank only";
    return;
  }
}

bool Deviations::trySummands(const Step &step, Finding &finding) {
  Operation *op = step.getOp();
  if (isa<tp::GroupOpInterface>(op))
    return false;
  for (const Step *operand : step.operands) {
    const std::optional<FoundRelation> &relation = getRelation(*operand);
    if (!relation || !relation->relation.isPartial())
      continue;
    finding.message =
        texts.describe(step) + " uses " + texts.describe(*operand) +
        ", of which each rank holds only " +
        texts.describe(relation->relation) + " of the reference's " +
        texts.describe(relation->value) + ": no rank has reduced it";
    finding.fix = "all_reduce (or reduce_scatter) " + texts.describe(*operand) +
                  " over " + relation->relation.axis + " before " +
                  texts.describe(step);
    texts.setOther(finding, relation->value);
    addWholeSummand(step, *operand, relation->relation.axis, finding);
    return true;
  }
  return false;
}

bool Deviations::tryShardOfDim(const Step &step, Finding &finding) {
  Operation *op = step.getOp();
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled || isa<tp::GroupOpInterface>(op) || isa<tp::CallOp>(op))
    return false;
  tp::DimensionRule rule = ruled.getDimensionRule();
  for (auto [number, own] : llvm::enumerate(step.operands)) {
    const std::optional<FoundRelation> &relation = getRelation(*own);
    if (!relation || number >= rule.operands.size() ||
        relation->relation.kind != Relation::Kind::Shard)
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
    finding.message = texts.describe(step) + " needs all of dim " +
                      std::to_string(dim) + " of " + texts.describe(*own) +
                      ", but each rank holds only " +
                      texts.describe(relation->relation) +
                      " of the reference's " + texts.describe(relation->value);
    finding.fix = "all_gather " + texts.describe(*own) + " along dim " +
                  std::to_string(dim) + " over " + relation->relation.axis +
                  " first, or combine the ranks' results";
    texts.setOther(finding, relation->value);
    return true;
  }
  return false;
}

bool Deviations::tryRepeatedSummand(const Step &step, size_t expected,
                                    Finding &finding) {
  for (const std::vector<std::string> &axes : relations.getAxisSets()) {
    if (!axes.empty() && relations.areEqualAlong(step.node->contents, axes))
      continue;
    FieldValue own = axes.empty()
                         ? step.getContent()
                         : relations.sum(step.node->contents, axes,
                                         relations.getWorld()[step.rank]);
    if (tryRepeatedSummand(step, own, expected, finding))
      return true;
  }
  return false;
}

bool Deviations::tryRepeatedSummand(const Step &step, const FieldValue &own,
                                    size_t expected, Finding &finding) {
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  FieldValue whole = relations.getContent(expected);
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
    for (const auto &[count, axis] : relations.getCounts())
      for (int64_t factor : {count - 1, count, int64_t(-1)}) {
        FieldValue scaled = relations.scale(summand, factor, 1);
        if (!scaled)
          continue;
        FieldValue broadcast = share(algebra.map(
            tp::MapFunction::Add, {scaled, relations.scale(own, 0, 1)}, type));
        if (relations.getEvaluation().clearProblem() ||
            !relations.areEqual(equivalence::collapse(broadcast),
                                equivalence::collapse(rest)))
          continue;
        texts.setOther(finding, expected);
        if (factor < 0) {
          finding.message = texts.describe(step) + " lacks the summand " +
                            texts.describe(candidate) + " of the reference's " +
                            texts.describe(expected);
          finding.fix = "add " + texts.describe(candidate) + " once";
        } else {
          finding.message = texts.describe(step) + " contains " +
                            texts.describe(candidate) + " " +
                            std::to_string(count) + " times";
          if (factor < count)
            finding.message +=
                ", and the reference's " + texts.describe(expected) + " once";
          finding.message += ": every rank adds it before the sum over " + axis;
          finding.fix = "add it after the sum, or on one rank only";
        }
        return true;
      }
  }
  return false;
}

bool Deviations::tryOtherBlocks(const Step &step, size_t expected,
                                Finding &finding) {
  FieldValue whole = relations.getContent(expected);
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  auto getBlock = [&](const FieldValue &value, int64_t dim, int64_t count,
                      int64_t index) -> FieldValue {
    int64_t size = value->getSizes()[dim] / count;
    FieldValue block = share(algebra.slice(value, dim, index * size, 1, size));
    return relations.getEvaluation().clearProblem() ? nullptr : block;
  };
  for (auto [rank, own] : llvm::enumerate(step.node->contents)) {
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
      for (const auto &[count, axis] : relations.getCounts()) {
        bool isOfAll = axis == "all axes";
        // Axes may overlap.
        if (isOfAll &&
            count != static_cast<int64_t>(relations.getWorld().size()))
          continue;
        // The number of blocks in the whole, of which the rank has some.
        for (int64_t parts : {count, 2 * count, 3 * count}) {
          if (isOfAll && parts != count)
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
                           : static_cast<int64_t>(rank);
          // Ranks that are next to each other may have the same blocks, as
          // those with the same head of keys.
          bool isOwn = (members || isOfAll) && numOwn * count % parts == 0;
          int64_t first = place * parts / count / numOwn * numOwn;
          for (auto [index, block] : llvm::enumerate(order))
            isOwn &= block == first + static_cast<int64_t>(index);
          if (isOwn)
            continue;
          if (llvm::is_sorted(order) && numOwn == parts)
            continue;
          llvm::raw_string_ostream os(finding.message);
          texts.setOther(finding, expected);
          os << texts.describe(step) << " on rank "
             << relations.getWorld()[rank] << " holds ";
          if (numOwn == 1)
            os << "block " << order.front();
          else {
            os << "the blocks [";
            llvm::interleaveComma(order, os);
            os << ']';
          }
          os << " of " << parts << " along dim " << dim
             << " of the reference's " << texts.describe(expected);
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

bool Deviations::tryOtherNumber(const Step &step, size_t expected,
                                Finding &finding) {
  auto getNumber = [](const FieldValue &content) -> std::optional<int64_t> {
    if (!content)
      return std::nullopt;
    FieldValue one = equivalence::collapse(content);
    if (one->isField() || one->isTruth() || one->elements.size() != 1)
      return std::nullopt;
    return static_cast<int64_t>(one->elements.front());
  };
  if (!step.operands.empty())
    return false;
  std::optional<int64_t> own = getNumber(step.getContent()),
                         other = getNumber(relations.getContent(expected));
  if (!own || !other || *own < 1 || *other < 1)
    return false;
  for (const auto &[count, axis] : relations.getCounts()) {
    bool isSmaller = *other % *own == 0 && *other / *own == count;
    if (!isSmaller && !(*own % *other == 0 && *own / *other == count))
      continue;
    std::string here = texts.describe(step),
                there = "the reference's " + texts.describe(expected);
    finding.message = (isSmaller ? there : here) + " uses a number that is " +
                      std::to_string(count) + " times that of " +
                      (isSmaller ? here : there);
    finding.fix = isSmaller ? "use the size of what all ranks (" + axis +
                                  ") hold together, or divide by " +
                                  std::to_string(count) + " later"
                            : "compare how the reference counts";
    texts.setOther(finding, expected);
    return true;
  }
  return false;
}

bool Deviations::tryOtherOperand(const Step &step, size_t expected,
                                 Finding &finding) {
  Operation *op = step.getOp();
  Operation *best = relations.getValue(expected).getDefiningOp();
  if (!best || isa<tp::GroupOpInterface>(op))
    return false;
  texts.setOther(finding, expected);
  finding.message = texts.describe(step) + " is not the reference's " +
                    texts.describe(expected);
  if (best->getName() != op->getName() ||
      best->getNumOperands() != step.operands.size())
    return true;
  llvm::raw_string_ostream os(finding.message);
  bool any = false;
  for (auto [number, own] : llvm::enumerate(step.operands)) {
    Value other = best->getOperand(number);
    FieldValue content = relations.getEvaluation().get(other);
    const std::optional<FoundRelation> &relation = getRelation(*own);
    if (!relation || !content)
      continue;
    bool isSame =
        relations.areEqual(relations.getContent(relation->value), content);
    if (isSame && relation->relation.kind == Relation::Kind::Name)
      continue;
    os << (any ? "; " : ": ") << "operand " << number << ", "
       << texts.describe(*own) << ", is " << texts.describe(relation->relation)
       << " of " << texts.describe(relation->value);
    if (!isSame)
      os << ", where the reference has "
         << texts.describe(relations.getIndex(other));
    any = true;
  }
  if (!any) {
    os << ": the operands are the same, so the op or its arguments differ";
    finding.fix = "compare the two lines";
  }
  return true;
}

bool Deviations::tryOperandBlocks(const Step &step, Finding &finding) {
  for (const Step *operand : step.operands) {
    if (!operand->getOp() || getRelation(*operand))
      continue;
    for (size_t value : recognized.getOwners(*operand->node, operand->rank)) {
      Finding ofOperand = ValueTexts::makeFinding(step);
      if (!tryOtherBlocks(*operand, value, ofOperand))
        continue;
      finding = std::move(ofOperand);
      finding.message = texts.describe(step) + " uses " +
                        texts.describe(*operand) + ": " + finding.message;
      return true;
    }
  }
  return false;
}

bool Deviations::tryOperandOrder(const Step &step, Finding &finding) {
  for (const Step *operand : step.operands) {
    if (!operand->getOp() ||
        recognized.get(*operand->node, operand->rank).kind !=
            RecognizedValues::Kind::Elements)
      continue;
    std::vector<size_t> owners =
        recognized.getOwners(*operand->node, operand->rank);
    if (owners.empty())
      continue;
    if (onlyMoves(operand->getOp()))
      finding = ValueTexts::makeFinding(*operand);
    texts.setOther(finding, owners.front());
    finding.message =
        texts.describe(*operand) + " holds elements of the reference's ";
    for (auto [number, owner] : llvm::enumerate(owners))
      finding.message += (number > 0 ? " and " : "") + texts.describe(owner);
    finding.message += ", in an order that is none of its shards, and " +
                       texts.describe(step) + " uses it";
    finding.fix = "rearrange " + texts.describe(*operand) +
                  ", or compare how the reference does";
    return true;
  }
  return false;
}

bool Deviations::tryReader(const Step &step, Finding &finding) {
  const Step *reader =
      onlyMoves(step.getOp()) ? search.findReader(step) : nullptr;
  if (!reader)
    return false;
  Finding ofReader = ValueTexts::makeFinding(*reader);
  bool isExplained =
      llvm::any_of(search.findExpected(*reader), [&](size_t value) {
        return tryOtherBlocks(*reader, value, ofReader);
      });
  if (!isExplained && !tryOperandBlocks(*reader, ofReader) &&
      !tryOperandOrder(*reader, ofReader))
    return false;
  finding = std::move(ofReader);
  return true;
}

Finding Deviations::explain(const FaultSearch::Unreduced &unreduced) {
  std::string axes = llvm::join(unreduced.axes, ", ");
  std::string step = texts.describe(*unreduced.step),
              operand = texts.describe(*unreduced.operand);
  Finding finding = ValueTexts::makeFinding(*unreduced.step);
  finding.message = step + " uses " + operand +
                    ", of which each rank holds only a summand (" + axes + ")";
  std::vector<size_t> owners =
      recognized.getOwners(*unreduced.operand->node, unreduced.operand->rank);
  if (owners.size() == 1) {
    finding.message += " of the reference's " + texts.describe(owners.front());
    texts.setOther(finding, owners.front());
  }
  finding.message += ": no rank has reduced it";
  finding.fix = "all_reduce (or reduce_scatter) " + operand + " over " + axes +
                " before " + step;
  addWholeSummand(*unreduced.step, *unreduced.operand, axes, finding);
  return finding;
}

Finding Deviations::explain(const FaultSearch::Fault &fault) {
  const Step &step = *fault.step;
  Finding finding = ValueTexts::makeFinding(step);
  if (!step.getOp()) {
    finding.message = texts.describe(step) + " is an input that is not related "
                                             "to the reference";
    return finding;
  }
  std::vector<size_t> expected = search.findExpected(step);
  if (fault.expected) {
    llvm::erase(expected, *fault.expected);
    expected.insert(expected.begin(), *fault.expected);
  }
  if (tryMultiple(step, finding))
    return finding;
  for (size_t value : expected)
    if (tryRepeatedSummand(step, value, finding))
      return finding;
  for (size_t value : expected)
    if (tryOtherBlocks(step, value, finding))
      return finding;
  if (trySummands(step, finding) || tryOperandBlocks(step, finding) ||
      tryReader(step, finding) || tryShardOfDim(step, finding) ||
      tryOperandOrder(step, finding))
    return finding;
  if (auto multiple =
          recognized.findMultiple(*step.node, step.rank, /*inOrder=*/false)) {
    texts.setOther(finding, multiple->owner);
    finding.message =
        texts.describe(step) + " holds " +
        (multiple->denominator > 1 ? "1/" : "") +
        std::to_string(std::max(multiple->numerator, multiple->denominator)) +
        (multiple->denominator > 1 ? " of" : " times") +
        " elements of the reference's " + texts.describe(multiple->owner);
    finding.fix = "compare how the reference scales it";
    return finding;
  }
  if (!expected.empty() && (tryOtherNumber(step, expected.front(), finding) ||
                            tryOtherOperand(step, expected.front(), finding)))
    return finding;
  finding.message = texts.describe(step) +
                    " is no value of the reference, although its operands are";
  return finding;
}
