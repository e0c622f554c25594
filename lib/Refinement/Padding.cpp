//===- Padding.cpp - what ranks compute of padding ------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Padding.h"

#include "FaultSearch.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;
using equivalence::isZero;

/// True for zeros that are moved, where another rank moves data.
static bool isZeros(const Step &step) {
  return step.node->dependsOnInputs && onlyMoves(step.getOp()) &&
         isZero(step.getContent()) &&
         !llvm::all_of(step.node->contents, isZero);
}

const Step *Padding::find(const Step &step) {
  // Operands first. Programs are deep: no recursion.
  std::vector<std::pair<const Step *, size_t>> stack = {{&step, 0}};
  while (!stack.empty()) {
    auto &[own, next] = stack.back();
    auto [place, isNew] = known.try_emplace(own, nullptr);
    if (isNew && isZeros(*own))
      place->second = own;
    // Communication brings data of other ranks.
    bool isDone = place->second || next == own->operands.size() ||
                  isa_and_present<tp::GroupOpInterface>(own->getOp());
    if (isDone) {
      stack.pop_back();
      continue;
    }
    const Step *operand = own->operands[next];
    if (auto found = known.find(operand); found != known.end()) {
      const Step *zeros = found->second;
      known[own] = zeros;
      ++next;
      continue;
    }
    stack.emplace_back(operand, 0);
  }
  return known.lookup(&step);
}

std::optional<Finding> Padding::explain(ArrayRef<const Step *> steps,
                                        const ValueTexts &texts,
                                        ArrayRef<int64_t> world) {
  for (const Step *step : steps) {
    auto collective =
        dyn_cast_if_present<tp::CollectiveOpInterface>(step->getOp());
    if (!collective || !collective.getCollectiveReduction())
      continue;
    for (const Step *operand : step->operands) {
      // Summands that are zero change nothing.
      const Step *zeros =
          isZero(operand->getContent()) ? nullptr : find(*operand);
      if (!zeros)
        continue;
      Finding finding = ValueTexts::makeFinding(*step);
      finding.message = texts.describe(*step) + " takes " +
                        texts.describe(*operand) + " of rank " +
                        std::to_string(world[operand->rank]) +
                        ", which is computed from padding: the zeros of " +
                        texts.describe(*zeros);
      finding.fix = "all_gather what the ranks hold before " +
                    texts.describe(*operand) + " is computed";
      return finding;
    }
  }
  return std::nullopt;
}
