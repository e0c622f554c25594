//===- Repairs.cpp - one change that makes all outputs right --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Repairs.h"

#include "commute/Dialect/ScalarFunctions.h"

#include "llvm/ADT/StringExtras.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::FieldAlgebra;
using equivalence::share;

FieldValue Repairs::evaluate(const Step &step, ArrayRef<FieldValue> operands) {
  if (llvm::is_contained(operands, nullptr))
    return nullptr;
  for (auto [own, operand] : llvm::zip_equal(step.operands, operands))
    if (!own->getContent() ||
        own->getContent()->getSizes() != operand->getSizes() ||
        own->getContent()->getElementType() != operand->getElementType())
      return nullptr;
  std::vector<FieldValue> results = substitution.evaluate(step, operands);
  return results.empty() ? nullptr : results.front();
}

FieldValue Repairs::combine(tp::MapFunction function,
                            ArrayRef<FieldValue> operands, Type type) {
  if (llvm::is_contained(operands, nullptr))
    return nullptr;
  SmallVector<tp::AlgebraValue> values(operands.begin(), operands.end());
  FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
  tp::AlgebraValue result = algebra.map(function, values, type);
  return relations.getEvaluation().clearProblem() || !result ? nullptr
                                                             : share(result);
}

/// Stands for the changed step in conditions.
static std::string self() { return {'\0'}; }

static SmallVector<FieldValue> getOperands(const Step &step) {
  return llvm::map_to_vector(step.operands,
                             [](const Step *own) { return own->getContent(); });
}

const Step *Repairs::findOn(const Step &other,
                            const RankValues::Node *node) const {
  Value value = node->values[other.rank];
  return value ? dataflow.find(other.rank, value) : nullptr;
}

ArrayRef<const Step *> Repairs::findEarlier(const Step &step, Type type) {
  if (ofTypes.empty())
    for (const Step &own : dataflow.getSteps())
      if (own.node->dependsOnInputs)
        ofTypes[{own.rank, own.value.getType().getAsOpaquePointer()}].push_back(
            &own);
  constexpr size_t mostSteps = 64;
  ArrayRef<const Step *> all = ofTypes[{step.rank, type.getAsOpaquePointer()}];
  auto *end = llvm::partition_point(
      all, [&](const Step *own) { return own->position < step.position; });
  ArrayRef<const Step *> earlier(all.begin(), end);
  return earlier.take_back(std::min(earlier.size(), mostSteps));
}

void Repairs::addWithout(const Step &step, std::vector<Candidate> &candidates) {
  // Through a few ops that only move elements, as to other sizes and back.
  constexpr size_t mostSteps = 6;
  SmallVector<const Step *> work = {&step};
  for (size_t next = 0; next < std::min(work.size(), mostSteps); ++next)
    for (const Step *operand : work[next]->operands) {
      if (operand->rank != step.rank || llvm::is_contained(work, operand))
        continue;
      if (onlyMoves(operand->getOp()))
        work.push_back(operand);
      if (operand->value.getType() != step.value.getType())
        continue;
      const RankValues::Node *node = operand->node;
      candidates.push_back(
          {[this, node](const Step &own) {
             const Step *other = findOn(own, node);
             return other ? other->getContent() : nullptr;
           },
           texts.describe(*operand) + " were used in place of " + self(),
           "use " + texts.describe(*operand)});
    }
}

void Repairs::addReductions(const Step &step,
                            std::vector<Candidate> &candidates) {
  auto collective = dyn_cast<tp::CollectiveOpInterface>(step.getOp());
  if (!collective || !collective.getCollectiveReduction() ||
      step.getOp()->getNumOperands() != 1)
    return;
  for (tp::ReductionKind kind : {tp::ReductionKind::Sum, tp::ReductionKind::Avg,
                                 tp::ReductionKind::Max}) {
    if (kind == *collective.getCollectiveReduction())
      continue;
    auto reduce = [this, kind](const Step &own) -> FieldValue {
      FieldValue total;
      Type type =
          own.getContent() ? own.getContent()->getElementType() : Type();
      for (const Step *operand : own.operands)
        total = total ? combine(kind == tp::ReductionKind::Max
                                    ? tp::MapFunction::Maximum
                                    : tp::MapFunction::Add,
                                {total, operand->getContent()}, type)
                      : operand->getContent();
      auto count = static_cast<int64_t>(own.operands.size());
      if (kind == tp::ReductionKind::Avg)
        total = relations.scale(total, 1, count);
      if (!total || total->getSizes() == own.getContent()->getSizes())
        return total;
      auto collective = cast<tp::CollectiveOpInterface>(own.getOp());
      std::optional<int64_t> dim = collective.getCollectiveAxis();
      auto place = llvm::find_if(own.operands, [&](const Step *operand) {
        return operand->rank == own.rank;
      });
      if (!dim || place == own.operands.end())
        return nullptr;
      int64_t size = own.getContent()->getSizes()[*dim];
      FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
      FieldValue block = share(algebra.slice(
          total, *dim, (place - own.operands.begin()) * size, 1, size));
      return relations.getEvaluation().clearProblem() ? nullptr : block;
    };
    std::string text = tp::stringifyReductionKind(kind).str();
    candidates.push_back(
        {reduce, self() + " reduced by " + text, "use the reduction " + text});
  }
}

void Repairs::addMeans(const Step &step, std::vector<Candidate> &candidates) {
  auto reduce = dyn_cast<tp::ReduceOp>(step.getOp());
  if (!reduce || step.operands.size() != 1 ||
      (reduce.getKind() != tp::ReductionKind::Sum &&
       reduce.getKind() != tp::ReductionKind::Avg))
    return;
  bool isSum = reduce.getKind() == tp::ReductionKind::Sum;
  auto change = [this, isSum](const Step &own) -> FieldValue {
    if (!own.getContent() || own.operands.size() != 1)
      return nullptr;
    int64_t count =
        llvm::product_of(own.operands.front()->getContent()->getSizes()) /
        std::max<int64_t>(llvm::product_of(own.getContent()->getSizes()), 1);
    return relations.scale(own.getContent(), isSum ? 1 : count,
                           isSum ? count : 1);
  };
  std::string text = isSum ? "the mean" : "the sum";
  candidates.push_back(
      {change, self() + " computed " + text, "compute " + text});
}

void Repairs::addOrders(const Step &step, std::vector<Candidate> &candidates) {
  constexpr size_t mostOperands = 16;
  size_t count = step.operands.size();
  if (count < 2 || count > mostOperands ||
      isa<tp::GroupOpInterface>(step.getOp()))
    return;
  for (size_t first = 1; first < count; ++first) {
    auto change = [this, first](const Step &own) {
      SmallVector<FieldValue> operands = getOperands(own);
      std::rotate(operands.begin(), operands.begin() + first, operands.end());
      return evaluate(own, operands);
    };
    candidates.push_back(
        {change,
         count == 2 ? "the operands of " + self() + " were swapped"
                    : "the operands of " + self() + " were turned, so that " +
                          texts.describe(*step.operands[first]) + " came first",
         count == 2 ? "swap the operands"
                    : "compare the order of the operands"});
  }
}

/// A view where dims should be permuted is a common mistake, and so are other
/// dims: all of these give the sizes that are needed.
void Repairs::addPermutations(const Step &step,
                              std::vector<Candidate> &candidates) {
  constexpr int64_t mostDims = 4;
  if (!isa<tp::ReshapeOp, tp::PermuteOp>(step.getOp()) || !step.getContent())
    return;
  SmallVector<int64_t> sizes(step.getContent()->getSizes());
  const FieldValue &from = step.operands.front()->getContent();
  if (!from || from->getSizes().size() != sizes.size() ||
      from->getRank() > mostDims)
    return;
  SmallVector<int64_t> dims(sizes.size());
  std::iota(dims.begin(), dims.end(), 0);
  while (std::next_permutation(dims.begin(), dims.end())) {
    auto getSize = [&](int64_t dim) { return from->getSizes()[dim]; };
    if (!llvm::equal(sizes, llvm::map_range(dims, getSize)))
      continue;
    auto change = [this, dims](const Step &own) -> FieldValue {
      const FieldValue &from = own.operands.front()->getContent();
      if (!from)
        return nullptr;
      FieldAlgebra algebra = relations.getEvaluation().getAlgebra();
      tp::AlgebraValue moved = algebra.permute(from, dims);
      return relations.getEvaluation().clearProblem() || !moved ? nullptr
                                                                : share(moved);
    };
    std::string text = "the dims: [" +
                       llvm::join(llvm::map_range(dims, llvm::itostr), ", ") +
                       "]";
    candidates.push_back(
        {change, self() + " permuted " + text, "permute " + text});
  }
}

void Repairs::addFunctions(const Step &step,
                           std::vector<Candidate> &candidates) {
  auto map = dyn_cast<tp::MapOp>(step.getOp());
  if (!map)
    return;
  if (functions.empty())
    for (size_t index = 0; index < relations.getCount(); ++index)
      if (auto other = dyn_cast_if_present<tp::MapOp>(
              relations.getValue(index).getDefiningOp()))
        functions.emplace(other.getFunction(), other->getNumOperands());
  for (auto [known, arity] : functions) {
    tp::MapFunction function = known;
    if (function == map.getFunction() || arity != map->getNumOperands())
      continue;
    std::string text = tp::stringifyMapFunction(function).str();
    candidates.push_back({[this, function](const Step &own) {
                            return combine(function, getOperands(own),
                                           own.getContent()->getElementType());
                          },
                          self() + " computed " + text, "compute " + text});
  }
}

std::string Repairs::describeOther(const Step &other, const Step &step) const {
  std::string text = texts.describe(other);
  bool isOneOfSeveral = llvm::any_of(step.operands, [&](const Step *operand) {
    return operand->getOp() && operand->getOp() != other.getOp() &&
           texts.describe(*operand) == text;
  });
  auto result = dyn_cast<OpResult>(other.value);
  if (!isOneOfSeveral && (!result || result.getOwner()->getNumResults() == 1))
    return text;
  return "another result of " + text;
}

void Repairs::addOperands(const Step &step,
                          std::vector<Candidate> &candidates) {
  if (isa<tp::CollectiveOpInterface>(step.getOp()))
    return;
  for (size_t number = 0; number < step.operands.size(); ++number)
    for (const Step *other : llvm::reverse(
             findEarlier(step, step.operands[number]->value.getType()))) {
      if (other == step.operands[number])
        continue;
      const RankValues::Node *node = other->node;
      auto change = [this, number, node](const Step &own) -> FieldValue {
        SmallVector<FieldValue> operands = getOperands(own);
        const Step *other = findOn(own, node);
        if (!other || number >= operands.size())
          return nullptr;
        operands[number] = other->getContent();
        return evaluate(own, operands);
      };
      candidates.push_back({change,
                            self() + " used " + describeOther(*other, step),
                            "use " + describeOther(*other, step), number});
    }
}

void Repairs::addSums(const Step &step, std::vector<Candidate> &candidates) {
  for (const std::vector<std::string> &axes : relations.getAxisSets()) {
    if (axes.empty() || relations.areEqualAlong(step.node->contents, axes))
      continue;
    for (bool isMean : {false, true}) {
      auto change = [this, axes, isMean](const Step &own) -> FieldValue {
        int64_t member = relations.getWorld()[own.rank];
        FieldValue sum = relations.sum(own.node->contents, axes, member);
        auto count = static_cast<int64_t>(
            relations.getMesh().getMembersAlong(axes, member).size());
        return relations.scale(sum, 1, isMean ? count : 1);
      };
      std::string text =
          (isMean ? "averaged over " : "summed over ") + llvm::join(axes, ", ");
      candidates.push_back({change, self() + " were " + text,
                            std::string("all_reduce it over ") +
                                llvm::join(axes, ", ") +
                                (isMean ? " with the reduction avg" : "")});
    }
  }
}

void Repairs::addSummands(const Step &step,
                          std::vector<Candidate> &candidates) {
  for (const Step *other :
       llvm::reverse(findEarlier(step, step.value.getType()))) {
    const RankValues::Node *node = other->node;
    auto change = [this, node](const Step &own) -> FieldValue {
      const Step *other = findOn(own, node);
      if (!other || !own.getContent() || !own.getContent()->isField() ||
          own.getContent()->isTruth() || !other->getContent() ||
          own.getContent()->elements == other->getContent()->elements)
        return nullptr;
      return combine(tp::MapFunction::Add,
                     {own.getContent(), other->getContent()},
                     own.getContent()->getElementType());
    };
    candidates.push_back({change,
                          texts.describe(*other) + " were added to " + self(),
                          "add " + texts.describe(*other)});
  }
}

/// Returns the step that first reads what a step has in place of an operand:
/// the operand may be a copy of it that nothing else reads.
static const Step &getReader(const Step &step, size_t number,
                             ValueRelations &relations) {
  const Step *reader = &step, *operand = step.operands[number];
  while (operand->users.size() == 1 && operand->operands.size() == 1 &&
         isa_and_present<tp::ReindexOpInterface>(operand->getOp()) &&
         relations.areEqual(operand->getContent(),
                            operand->operands.front()->getContent())) {
    reader = operand;
    operand = operand->operands.front();
  }
  return *reader;
}

std::optional<Repairs::Repair> Repairs::tryChange(ArrayRef<const Step *> steps,
                                                  const Candidate &candidate) {
  std::vector<std::pair<const Step *, FieldValue>> all;
  for (const Step *step : steps)
    if (step->getContent())
      if (FieldValue content = candidate.change(*step))
        all.emplace_back(step, std::move(content));
  auto getRepair = [&](const Step &changed, const std::string &where) {
    const Step *step = &changed;
    std::string condition = candidate.condition;
    if (candidate.operand) {
      step = &getReader(changed, *candidate.operand, relations);
      size_t number = step == &changed ? *candidate.operand : 0;
      condition += " in place of " + texts.describe(*step->operands[number]);
    }
    condition.replace(condition.find(self()), self().size(),
                      texts.describe(*step) + where);
    Repair repair{step, ValueTexts::makeFinding(*step), condition};
    repair.finding.message = "all outputs would be right if " + condition;
    repair.finding.fix = candidate.fix;
    return repair;
  };
  if (all.empty())
    return std::nullopt;
  if (all.size() == steps.size() && substitution.makesRight(all))
    return getRepair(*all.front().first, "");
  if (steps.size() == 1)
    return std::nullopt;
  for (const auto &own : all)
    if (substitution.makesRight(own))
      return getRepair(
          *own.first,
          " on rank " + std::to_string(relations.getWorld()[own.first->rank]));
  return std::nullopt;
}

/// True if ranks compute two steps alike.
static bool areAlike(const Step &a, const Step &b) {
  auto getNode = [](const Step *operand) { return operand->node; };
  return a.node == b.node && areOfOneKind(a.getOp(), b.getOp()) &&
         a.value.getType() == b.value.getType() &&
         (isa<tp::GroupOpInterface>(a.getOp()) ||
          llvm::equal(llvm::map_range(a.operands, getNode),
                      llvm::map_range(b.operands, getNode)));
}

void Repairs::group(ArrayRef<const Step *> steps,
                    std::vector<SmallVector<const Step *>> &groups) {
  llvm::DenseMap<const RankValues::Node *, SmallVector<size_t>> places;
  for (const Step *step : steps) {
    if (!step->getOp())
      continue;
    SmallVector<size_t> &known = places[step->node];
    auto place = llvm::find_if(known, [&](size_t own) {
      return areAlike(*groups[own].front(), *step);
    });
    if (place != known.end()) {
      groups[*place].push_back(step);
      continue;
    }
    known.push_back(groups.size());
    groups.push_back({step});
  }
}

/// Returns what steps and outputs are computed from, the last ones first.
static std::vector<const Step *> findSources(ArrayRef<const Step *> steps,
                                             ArrayRef<const Step *> outputs,
                                             size_t mostSteps) {
  llvm::DenseSet<const Step *> seen(steps.begin(), steps.end());
  std::vector<const Step *> found, work(steps.begin(), steps.end());
  for (const Step *output : outputs)
    if (seen.insert(output).second) {
      work.push_back(output);
      found.push_back(output);
    }
  // Those that are near come first.
  for (size_t next = 0; next < work.size() && found.size() < mostSteps; ++next)
    for (const Step *operand : work[next]->operands)
      if (operand->node->dependsOnInputs && seen.insert(operand).second) {
        work.push_back(operand);
        found.push_back(operand);
      }
  llvm::sort(found, [](const Step *a, const Step *b) {
    return std::pair(b->position, a->rank) < std::pair(a->position, b->rank);
  });
  return found;
}

std::optional<Repairs::Repair>
Repairs::tryChanges(ArrayRef<SmallVector<const Step *>> groups,
                    ArrayRef<Kind> kinds) {
  for (ArrayRef<const Step *> steps : groups) {
    if (!substitution.hasBudget())
      return std::nullopt;
    std::vector<Candidate> candidates;
    // What the reference computes, too, has no other function.
    bool isAlike = search.isComputedAlike(*steps.front());
    for (Kind kind : kinds)
      if (!isAlike ||
          (kind != &Repairs::addWithout && kind != &Repairs::addFunctions &&
           kind != &Repairs::addOrders))
        (this->*kind)(*steps.front(), candidates);
    for (const Candidate &candidate : candidates) {
      if (!substitution.hasBudget())
        return std::nullopt;
      if (std::optional<Repair> found = tryChange(steps, candidate))
        return found;
    }
  }
  return std::nullopt;
}

std::optional<Repairs::Repair> Repairs::find() {
  constexpr size_t mostSteps = 1000;
  std::vector<SmallVector<const Step *>> own, sources, moved;
  ArrayRef<const Step *> suspects = search.getSuspects().take_front(mostSteps);
  group(suspects, own);
  // What is wrong may be another value of the reference, which is not
  // suspected.
  group(findSources(suspects, search.getOutputs(), mostSteps), sources);
  for (const auto &groups : {own, sources})
    llvm::copy_if(groups, std::back_inserter(moved), [](const auto &steps) {
      return onlyMoves(steps.front()->getOp());
    });
  const Kind simple[] = {&Repairs::addWithout,      &Repairs::addReductions,
                         &Repairs::addMeans,        &Repairs::addOrders,
                         &Repairs::addPermutations, &Repairs::addFunctions,
                         &Repairs::addSums},
             others[] = {&Repairs::addOperands, &Repairs::addSummands};
  if (auto found = tryChanges(moved, &Repairs::addWithout))
    return found;
  if (auto found = tryChanges(own, simple))
    return found;
  if (auto found = tryChanges(own, others))
    return found;
  if (auto found = tryChanges(sources, simple))
    return found;
  return tryChanges(sources, others);
}
