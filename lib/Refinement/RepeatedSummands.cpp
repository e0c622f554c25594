//===- RepeatedSummands.cpp - sums that count a value twice ---------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RepeatedSummands.h"

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
      for (const Step *earlier : getSummands(other))
        if (earlier->value != own->value &&
            relations.areEqual(earlier->getContent(), own->getContent())) {
          bool isLater = earlier->position < own->position;
          return RepeatedSummand{step, isLater ? own : earlier,
                                 isLater ? earlier : own};
        }
    }
  }
  return std::nullopt;
}

Finding refinement::explain(const RepeatedSummand &repeated,
                            const ValueTexts &texts) {
  Finding finding = ValueTexts::makeFinding(*repeated.sum);
  std::string summand = texts.describe(*repeated.summand);
  finding.message = texts.describe(*repeated.sum) + " adds " + summand +
                    ", which is the same as the summand " +
                    texts.describe(*repeated.earlier) +
                    ": a stale value is added again";
  finding.fix = "compare what " + summand + " is computed from";
  return finding;
}
