//===- RepeatedSummands.cpp - sums that count a value twice ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RepeatedSummands.h"

#include "FaultSearch.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

static bool isAddition(const Step &step) {
  auto map = dyn_cast_if_present<tp::MapOp>(step.getOp());
  return map && map.getFunction() == tp::MapFunction::Add &&
         step.operands.size() == 2;
}

/// Returns what a chain of additions adds up.
static SmallVector<const Step *> getSummands(const Step *sum) {
  // Sums of loops are this long; longer ones are not looked through.
  constexpr size_t mostSummands = 64;
  SmallVector<const Step *> summands, work = {sum};
  while (!work.empty() && summands.size() < mostSummands) {
    const Step *step = work.pop_back_val();
    if (isAddition(*step))
      work.append(step->operands.begin(), step->operands.end());
    else
      summands.push_back(step);
  }
  return summands;
}

static bool areComputedAlike(const Step &a, const Step &b) {
  return a.getOp() && b.getOp() && areOfOneKind(a.getOp(), b.getOp()) &&
         a.operands.size() == b.operands.size();
}

/// Follows two equal values back to the operands that they come from.
static void findSources(RepeatedSummand &repeated, ValueRelations &relations) {
  repeated.source = repeated.summand;
  repeated.earlierSource = repeated.earlier;
  while (areComputedAlike(*repeated.source, *repeated.earlierSource)) {
    std::pair<const Step *, const Step *> next;
    for (auto [own, earlier] : llvm::zip_equal(
             repeated.source->operands, repeated.earlierSource->operands))
      if (own != earlier &&
          relations.areEqual(own->getContent(), earlier->getContent()))
        next = {own, earlier};
    if (!next.first)
      return;
    std::tie(repeated.source, repeated.earlierSource) = next;
  }
}

std::optional<RepeatedSummand>
refinement::findRepeatedSummand(ArrayRef<const Step *> steps,
                                ValueRelations &relations) {
  for (const Step *step : steps) {
    if (!isAddition(*step))
      continue;
    for (const Step *own : step->operands) {
      // Additions of sums were looked at before.
      if (isAddition(*own) || !own->node->dependsOnInputs)
        continue;
      const Step *other = step->operands[own == step->operands.front() ? 1 : 0];
      for (const Step *earlier : getSummands(other)) {
        if (earlier == own || !areComputedAlike(*earlier, *own) ||
            !relations.areEqual(earlier->getContent(), own->getContent()))
          continue;
        bool isLater = earlier->position < own->position;
        RepeatedSummand found{step, isLater ? own : earlier,
                              isLater ? earlier : own, nullptr, nullptr};
        findSources(found, relations);
        return found;
      }
    }
  }
  return std::nullopt;
}

Finding refinement::explain(const RepeatedSummand &repeated,
                            const ValueTexts &texts) {
  Finding finding = ValueTexts::makeFinding(*repeated.source);
  std::string source = texts.describe(*repeated.source),
              summand = texts.describe(*repeated.summand);
  finding.message =
      source + " is the same as " + texts.describe(*repeated.earlierSource);
  if (repeated.source != repeated.summand)
    finding.message +=
        ", and so is " + summand + " as " + texts.describe(*repeated.earlier);
  finding.message +=
      ": " + texts.describe(*repeated.sum) + " adds a stale value";
  finding.fix = "compare what " + source + " is computed from";
  return finding;
}
