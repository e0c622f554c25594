//===- ComparisonRounds.cpp - how many rounds suffice -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramComparison.h"

#include "FieldFunctions.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// The number of rounds after which a difference that occurs for half of all
/// outcomes is missed with probability 2^-30.
static constexpr unsigned leastRoundsOfChoices = 30;
static constexpr unsigned mostRoundsOfChoices = 256;

/// Returns true if the results of a program may depend on which integers are
/// drawn for a value.
static bool isDrawn(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // The results of opaque ops do not depend on which integers they get.
  return type && InputGenerator::isExact(type) &&
         llvm::any_of(value.getUsers(), [](Operation *user) {
           return !isa<tp::CallOp>(user) &&
                  !user->hasTrait<OpTrait::IsTerminator>();
         });
}

static bool drawsIntegers(func::FuncOp function) {
  if (llvm::any_of(function.getArguments(), isDrawn))
    return true;
  // Opaque ops and uninitialized memory.
  return llvm::any_of(function.getBody().front(), [&](Operation &op) {
    return !isMemoryEffectFree(&op) && llvm::any_of(op.getResults(), isDrawn);
  });
}

unsigned ProgramComparison::getRoundsOfIntegers(bool reducesSizes) {
  // Small programs get more rounds, because they may consist of a single
  // number.
  size_t numOps = result.numOps + 1;
  size_t least = std::clamp<size_t>(12000 / numOps, 12, 192);
  size_t most = std::clamp<size_t>(1000000 / numOps, least, 1600);
  // Each element of an input takes all numbers of the pool one after the other,
  // beginning with a random one. After T of P rounds, none of k elements has
  // taken a given number with probability (1 - T / P)^k.
  auto getTurns = [](double numNumbers, double numElements) {
    constexpr double logOfMissed = -10;
    return numNumbers * (1 - std::exp2(logOfMissed / numElements));
  };
  double turns = 0, turnsOfPairs = 0;
  // By input: how many numbers there are, for how many elements.
  SmallVector<std::pair<double, double>> sources;
  for (auto [argument, other] :
       llvm::zip(first.getArguments(), second.getArguments())) {
    if (!isDrawn(argument) && !isDrawn(other))
      continue;
    std::optional<IntegerPool> own = draws.pools(argument.getArgNumber());
    auto numNumbers = static_cast<double>(
        (own ? own->getNumbers() : pool->getNumbers()).size());
    double numElements = 1;
    for (const IndexSample *sample : lookup(argument))
      numElements *= static_cast<double>(sample->getCount());
    if (numElements == 0)
      continue;
    turns = std::max(turns, getTurns(numNumbers, numElements));
    // Of two inputs all pairs should occur.
    for (auto [count, elements] : sources)
      turnsOfPairs =
          std::max(turnsOfPairs, getTurns(numNumbers * count,
                                          std::min(numElements, elements)));
    sources.push_back({numNumbers, numElements});
  }
  // Pairs are worth fewer rounds of large programs, such as those of training,
  // where ids and labels hardly ever meet, and of long ones.
  constexpr double maxWorkOfPairs = 3e7;
  double work = turnsOfPairs > 0 ? getWork(reducesSizes) : 0;
  double mostTurnsOfPairs =
      std::clamp<double>(std::min(200000.0 / static_cast<double>(numOps),
                                  maxWorkOfPairs / (work + 1)),
                         12, 384) /
      IntegerPool::sweepPeriod;
  double mostTurns = static_cast<double>(most) / IntegerPool::sweepPeriod;
  unmetNumbers = turns > mostTurns ? UnmetNumbers::Single
                 : turnsOfPairs > std::min(mostTurns, mostTurnsOfPairs)
                     ? UnmetNumbers::Pairs
                 : sources.size() > 2 ? UnmetNumbers::Triples
                                      : UnmetNumbers::None;
  turns = std::max(turns, std::min(turnsOfPairs, mostTurnsOfPairs));
  return static_cast<unsigned>(std::clamp<double>(
      std::ceil(turns) * IntegerPool::sweepPeriod, static_cast<double>(least),
      static_cast<double>(most)));
}

bool ProgramComparison::sharesSamples() const {
  constexpr size_t leastOps = 500;
  return result.numOps >= leastOps;
}

uint64_t ProgramComparison::getSeedOfSamples(unsigned round,
                                             unsigned numRounds) const {
  // Some more than the two that programs without integers get, because each
  // takes as long as a whole round.
  constexpr unsigned numSamples = 6;
  if (!sharesSamples() || round < leastRoundsOfIntegers)
    return options.seed + round;
  unsigned roundsOfSamples = llvm::divideCeil(
      numRounds - leastRoundsOfIntegers, numSamples - leastRoundsOfIntegers);
  return options.seed + leastRoundsOfIntegers +
         (round - leastRoundsOfIntegers) / roundsOfSamples;
}

void ProgramComparison::noteUnmetNumbers() {
  switch (unmetNumbers) {
  case UnmetNumbers::None:
    return;
  case UnmetNumbers::Single:
    result.notes.push_back(
        "an integer input is compared with more numbers than " +
        std::to_string(result.numRounds) +
        " rounds could draw: a difference at one of them may be missed");
    return;
  case UnmetNumbers::Pairs:
    result.notes.push_back("of two integer inputs, not every pair of numbers "
                           "was drawn: a difference at one pair alone may be "
                           "missed");
    return;
  case UnmetNumbers::Triples:
    result.notes.push_back("of three integer inputs, not every combination of "
                           "numbers was drawn: a difference at one combination "
                           "alone may be missed");
    return;
  }
}

void ProgramComparison::noteFlagsOfRanks() {
  // So few ranks that each of them alone has raised a flag in some round.
  constexpr size_t fewRanks = 8;
  for (auto [argument, other] :
       llvm::zip(first.getArguments(), second.getArguments())) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if ((argument.use_empty() && other.use_empty()) || !type ||
        !isTruthType(type.getElementType()))
      continue;
    llvm::DenseSet<int64_t> tensors;
    for (int64_t rank : placements.getWorld())
      tensors.insert(
          placements.getInstance(argument.getArgNumber(), rank).tensor);
    if (tensors.size() <= fewRanks)
      continue;
    result.notes.push_back(
        "truth values of an input were drawn on " +
        std::to_string(tensors.size()) +
        " ranks: a difference where exactly one rank has one that is true, or "
        "one that is false, may be missed");
    return;
  }
}

double ProgramComparison::getBitsOfIntegers(uint64_t seed) {
  double bits = pool->getBits(IntegerPool::Way::Wide);
  for (auto [argument, other] :
       llvm::zip(first.getArguments(), second.getArguments())) {
    if (!isDrawn(argument) && !isDrawn(other))
      continue;
    unsigned number = argument.getArgNumber();
    std::optional<IntegerPool> own = draws.pools(number);
    IntegerPool::Way way =
        IntegerPool::choose(seed, number, /*isListed=*/own.has_value()).way;
    auto type = InputGenerator::getType(argument.getType());
    bits = std::min({bits, (own ? *own : *pool).getBits(way),
                     static_cast<double>(type.getElementTypeBitWidth())});
  }
  return bits;
}

static bool computesPositions(func::FuncOp function) {
  return llvm::any_of(function.getBody().front(), [](Operation &op) {
    return isa<tp::IotaOp, tp::TriangularOp>(op);
  });
}

bool ProgramComparison::drawsIntegers() {
  return ::drawsIntegers(first) || ::drawsIntegers(second);
}

bool ProgramComparison::computesPositions() {
  return ::computesPositions(first) || ::computesPositions(second);
}

double ProgramComparison::getWork(bool reducesSizes) const {
  double work = 0;
  auto getExtent = [&](Value value, int64_t dim) {
    ArrayRef<const IndexSample *> chosen = lookup(value);
    return static_cast<double>(
        reducesSizes && !chosen.empty()
            ? chosen[dim]->getCount()
            : cast<RankedTensorType>(value.getType()).getDimSize(dim));
  };
  auto getCount = [&](Value value) {
    double count = 1;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        count *= getExtent(value, dim);
    return count;
  };
  for (func::FuncOp function : {first, second})
    for (Operation &op : function.getBody().front()) {
      for (Value result : op.getResults())
        work += getCount(result);
      if (auto product = dyn_cast<tp::MatmulOp>(op)) {
        Value lhs = product.getLhs();
        int64_t rank = cast<RankedTensorType>(lhs.getType()).getRank();
        work += getCount(product.getResult()) * getExtent(lhs, rank - 1);
      } else if (auto grouped = dyn_cast<tp::GroupedMatmulOp>(op)) {
        Value rhs = grouped.getRhs();
        int64_t rank = cast<RankedTensorType>(rhs.getType()).getRank();
        work += getCount(grouped.getLhs()) * getExtent(rhs, rank - 1);
      } else if (isa<tp::AttentionOp, tp::AttentionBackwardOp>(op)) {
        bool isForward = isa<tp::AttentionOp>(op);
        Value key = op.getOperand(isForward ? 1 : 2);
        int64_t rank = cast<RankedTensorType>(key.getType()).getRank();
        work += (isForward ? 1 : 5) * getCount(op.getResult(0)) *
                getExtent(key, rank - 2);
      }
    }
  return work * static_cast<double>(placements.getWorld().size());
}

bool ProgramComparison::isCheapAtRealSizes() const {
  constexpr double maxWork = 2e7;
  return getWork(/*reducesSizes=*/false) < maxWork;
}

unsigned ProgramComparison::getRoundsOfChoices(bool reducesSizes) const {
  constexpr double maxWork = 3e7;
  return static_cast<unsigned>(
      std::clamp<double>(maxWork / (getWork(reducesSizes) + 1),
                         leastRoundsOfChoices, mostRoundsOfChoices));
}

unsigned ProgramComparison::getRoundsApart(bool reducesSizes) const {
  constexpr double maxWork = 1e8, mostRounds = 4096;
  return static_cast<unsigned>(
      std::min(maxWork / (getWork(reducesSizes) + 1), mostRounds));
}
