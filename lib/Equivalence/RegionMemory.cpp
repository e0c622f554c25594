//===- RegionMemory.cpp - regions that were evaluated before ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionMemory.h"

#include "commute/Equivalence/PrimeField.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

RegionMemory::RegionMemory(const analysis::InputPlacements &placements,
                           EvaluationContext &context,
                           InputGenerator::Pools pools, uint64_t seed)
    : placements(placements), context(context), pools(std::move(pools)),
      evaluator(placements.getWorld(), context), seed(seed) {
  // Nothing is live at first.
  getState(EqualityPattern(ArrayRef<LiveValue>()));
}

RegionMemory::StateId RegionMemory::getState(EqualityPattern pattern) {
  auto [it, isNew] =
      closedStates.try_emplace(pattern.getKey().str(), states.size());
  if (isNew) {
    // The key, and the elements that it was made from.
    patternBytes += 2 * pattern.getKey().size();
    states.push_back({std::move(pattern), std::nullopt});
  }
  return it->second;
}

LogicalResult RegionMemory::enter(ProgramRegion region) {
  auto [it, isNew] = regionIds.try_emplace(region.key, regions.size());
  RegionId id = it->second;
  if (isNew)
    regions.push_back(std::move(region));
  auto known = successors.find({current, id});
  // Values that are at hand are kept: they cannot be had again but by
  // evaluation from the last closed state on.
  if (known != successors.end() && (!values || states[known->second].pattern)) {
    values.reset();
    current = known->second;
  } else {
    if (failed(evaluatePending()) ||
        failed(evaluate(regions[id], pending.size())))
      return failure();
    EqualityPattern pattern(*values);
    StateId next = states.size();
    if (pattern.isClosed()) {
      next = getState(std::move(pattern));
      // What follows is to hold for all values of this pattern.
      values.reset();
    } else if (known != successors.end()) {
      next = known->second;
    } else {
      states.push_back({});
    }
    successors[{current, id}] = next;
    current = next;
  }
  if (isClosed()) {
    lastClosed = current;
    pending.clear();
    limitMemory();
  } else {
    pending.push_back(id);
  }
  return success();
}

SmallVector<unsigned> RegionMemory::mergeEqual() {
  EqualityPattern &pattern = *states[current].pattern;
  SmallVector<unsigned> representatives(pattern.getRepresentatives());
  if (!states[current].merged) {
    StateId merged = getState(pattern.merge());
    states[current].merged = merged;
  }
  current = lastClosed = *states[current].merged;
  return representatives;
}

LogicalResult RegionMemory::evaluatePending() {
  if (values)
    return success();
  values = states[lastClosed].pattern->instantiate(
      PrimeField::mix(lastClosed, seed));
  for (auto [number, id] : llvm::enumerate(pending))
    if (failed(evaluate(regions[id], number)))
      return failure();
  return success();
}

void RegionMemory::limitMemory() {
  constexpr size_t maxBytes = size_t(256) << 20;
  if (patternBytes <= maxBytes)
    return;
  EqualityPattern pattern = std::move(*states[current].pattern);
  regions.clear();
  regionIds.clear();
  states.clear();
  closedStates.clear();
  successors.clear();
  patternBytes = 0;
  current = lastClosed = getState(std::move(pattern));
}

LogicalResult RegionMemory::evaluate(const ProgramRegion &region,
                                     size_t number) {
  std::vector<LiveValue> known = std::move(*values);
  // A region that comes twice reads inputs of its own each time.
  InputGenerator generator(placements, context, pools,
                           PrimeField::mix(number + 1, seed));
  // Integers are what they are in an evaluation of the whole.
  InputGenerator exactGenerator(placements, context, pools, seed);
  for (const ProgramRegion::Step &step : region.steps) {
    if (!step.op) {
      bool isExact = InputGenerator::isExact(step.argumentType);
      known.emplace_back().values =
          (isExact ? exactGenerator : generator)
              .generate(step.argument, step.argumentType, step.samples.front());
      if (context.problem)
        return failure();
      continue;
    }
    ++numEvaluated;
    bool isConstant = !isa<tp::CallOp>(step.op);
    SmallVector<RankValues> operands, results;
    for (unsigned operand : step.operands) {
      operands.push_back(known[operand].values);
      isConstant &= known[operand].isConstant;
    }
    if (failed(evaluator.evaluate(step.op, operands, step.samples, results))) {
      culprit = step.op;
      return failure();
    }
    for (RankValues &result : results) {
      LiveValue &value = known.emplace_back();
      value.values = std::move(result);
      value.isConstant = isConstant;
    }
  }
  std::vector<LiveValue> live;
  for (const ProgramRegion::Exit &exit : region.exits) {
    LiveValue &value = live.emplace_back(known[exit.value]);
    value.isLiveInFirst = exit.isLiveInFirst;
    value.isLiveInSecond = exit.isLiveInSecond;
  }
  values = std::move(live);
  return success();
}
