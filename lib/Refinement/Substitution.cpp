//===- Substitution.cpp - what ranks would compute of other values --------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Substitution.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

Substitution::Substitution(ValueRelations &relations,
                           const RankDataflow &dataflow,
                           std::vector<Target> targets)
    : relations(relations), dataflow(dataflow), targets(std::move(targets)) {
  // In deep programs, much follows from a change: few changes can be tried
  // anyway, and looking for the fault takes long enough.
  constexpr size_t mostSteps = 5000;
  elementsLeft = dataflow.getSteps().size() > mostSteps ? 300000 : 2000000;
}

void Substitution::sortSteps() {
  llvm::DenseMap<const Step *, size_t> missing;
  for (const Step &step : dataflow.getSteps()) {
    missing[&step] = step.operands.size();
    if (step.operands.empty())
      order.push_back(&step);
  }
  for (size_t next = 0; next < order.size(); ++next) {
    places[order[next]] = next;
    for (const Step *user : order[next]->users)
      if (--missing[user] == 0)
        order.push_back(user);
  }
}

std::vector<FieldValue> Substitution::evaluate(const Step &step,
                                               ArrayRef<FieldValue> operands) {
  Operation *op = step.getOp();
  unsigned result = cast<OpResult>(step.value).getResultNumber();
  if (isa<tp::CompletionOpInterface>(op) || step.isReceived)
    return operands.size() == 1 ? std::vector<FieldValue>{operands.front()}
                                : std::vector<FieldValue>();
  unsigned count = op->getNumOperands();
  SmallVector<int64_t> members;
  if (isa<tp::CollectiveOpInterface>(op)) {
    if (count == 0 || operands.size() % count != 0)
      return {};
    for (size_t place = 0; place < operands.size(); place += count)
      members.push_back(relations.getWorld()[step.operands[place]->rank]);
  } else {
    if (operands.size() != count)
      return {};
    members.push_back(relations.getWorld()[step.rank]);
  }
  std::vector<FieldValue> found;
  for (const auto &results :
       relations.getEvaluation().evaluate(op, members, operands)) {
    if (result >= results.size())
      return {};
    found.push_back(results[result]);
  }
  if (!isa<tp::CollectiveOpInterface>(op))
    return found;
  auto own = llvm::find(members, relations.getWorld()[step.rank]);
  if (found.empty() || own == members.end())
    return {};
  return {found[own - members.begin()]};
}

bool Substitution::makesRight(Substitutes substitutes) {
  if (order.empty())
    sortSteps();
  llvm::DenseMap<const Step *, FieldValue> changed;
  std::set<size_t> work;
  // Null for what is not known.
  auto change = [&](const Step *step, const FieldValue &content) {
    if (content && relations.areEqual(content, step->getContent()))
      return;
    changed[step] = content;
    for (const Step *user : step->users)
      if (auto place = places.find(user); place != places.end())
        work.insert(place->second);
  };
  llvm::DenseSet<const Step *> fixed;
  for (const auto &[step, content] : substitutes) {
    if (!content || !step->getContent() ||
        content->getSizes() != step->getContent()->getSizes() ||
        content->getElementType() != step->getContent()->getElementType())
      return false;
    fixed.insert(step);
    change(step, content);
  }
  if (changed.empty())
    return false;
  while (!work.empty()) {
    const Step *step = order[*work.begin()];
    work.erase(work.begin());
    if (fixed.contains(step))
      continue;
    SmallVector<FieldValue> operands;
    for (const Step *operand : step->operands) {
      auto own = changed.find(operand);
      operands.push_back(own == changed.end() ? operand->getContent()
                                              : own->second);
      elementsLeft -=
          16 + (operands.back() ? operands.back()->elements.size() : 0);
    }
    if (!hasBudget())
      return false;
    // A send, for one, gives what nobody reads.
    std::vector<FieldValue> results;
    if (!llvm::is_contained(operands, nullptr))
      results = evaluate(*step, operands);
    change(step, results.size() == 1 ? results.front() : nullptr);
  }
  return llvm::all_of(targets, [&](const Target &target) {
    auto own = changed.find(target.step);
    const FieldValue &content =
        own == changed.end() ? target.step->getContent() : own->second;
    return content && target.expected &&
           relations.areEqual(content, target.expected);
  });
}
