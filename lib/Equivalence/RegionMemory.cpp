//===- RegionMemory.cpp - regions that were evaluated before ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionMemory.h"

#include "commute/Equivalence/PrimeField.h"

#include <map>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static constexpr uint64_t firstUnknown = EqualityPattern::firstUnknown;

static bool isFloatTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

/// Hashes a pattern with the numbers that its unknowns have.
static ContentHash hash(const EqualityPattern &pattern) {
  ContentHasher hasher;
  hasher.add(pattern, [](uint64_t number) { return number; });
  return hasher.finish();
}

RegionMemory::RegionMemory(const InputGenerator &inputs,
                           EvaluationContext &context, uint64_t seed,
                           RegionOutcomes *earlier)
    : inputs(inputs), context(context), evaluator(inputs.getRanks(), context),
      seed(seed), earlier(earlier), holders(firstUnknown) {}

//===----------------------------------------------------------------------===//
// Settled values
//===----------------------------------------------------------------------===//

void RegionMemory::count(const EqualityPattern &pattern, Readers readers,
                         int by) {
  auto isOpen = [](const std::array<uint32_t, 2> &held) {
    return (held[0] == 0) != (held[1] == 0);
  };
  pattern.forEachUnknown([&](uint64_t number) {
    std::array<uint32_t, 2> &held = holders[number];
    numOpen -= isOpen(held);
    if (readers & FirstReads)
      held[0] += by;
    if (readers & SecondReads)
      held[1] += by;
    numOpen += isOpen(held);
  });
}

void RegionMemory::setReaders(Number number, Readers readers) {
  auto known = settled.find(number);
  assert(known != settled.end() && "not of before the last closed cut");
  Settled &value = known->second;
  if (!value.pattern) {
    // Both programs read a skipped value.
    if (readers == value.readers)
      return;
    if (readers == NoReader) {
      settled.erase(known);
      return;
    }
    // Unknowns that one program alone holds are counted.
    getPattern(number);
  }
  count(*value.pattern, value.readers, -1);
  count(*value.pattern, readers, 1);
  value.readers = readers;
  if (readers != NoReader)
    return;
  auto same = byContent.find(value.content);
  if (same != byContent.end() && same->second == number)
    byContent.erase(same);
  settled.erase(known);
}

const SharedPattern &RegionMemory::getPattern(Number number) {
  Settled &value = settled.find(number)->second;
  if (value.pattern)
    return value.pattern;
  const Skipped &skipped = *value.skipped;
  auto pattern = std::make_shared<EqualityPattern>(
      skipped.type, getSampledDims(skipped.type, skipped.samples, context),
      skipped.tensorOfRank, holders.size());
  size_t numElements = 0;
  for (const std::vector<uint64_t> &tensor : pattern->elements)
    numElements += tensor.size();
  holders.resize(holders.size() + numElements);
  settle(number, value.readers, std::move(pattern));
  return value.pattern;
}

/// Returns true if a step of a region is the same in all rounds: it draws no
/// integers.
static bool isOfAllRounds(const ProgramRegion::Step &step) {
  if (!step.op)
    return step.settled || isFloatTensor(step.argumentType);
  return (isMemoryEffectFree(step.op) && !isa<tp::CallOp>(step.op)) ||
         llvm::all_of(step.op->getResultTypes(), isFloatTensor);
}

void RegionMemory::describeSettled(const ProgramRegion &region) {
  ContentHasher hasher, keyHasher;
  hasher.add(seed);
  hasher.add(content);
  auto addSteps = [&](ContentHasher &own) {
    own.add(region.key.size());
    for (unsigned word : region.key)
      own.add(word);
  };
  addSteps(hasher);
  if (earlier) {
    isShared &= llvm::all_of(region.steps, isOfAllRounds);
    keyHasher.add(key);
    addSteps(keyHasher);
  }
  for (const ProgramRegion::Step &step : region.steps) {
    if (!step.settled)
      continue;
    read.push_back(getPattern(*step.settled));
    if (earlier)
      keyHasher.addKind(*read.back());
    localNumbers.resize(holders.size());
    hasher.add(*read.back(), [&](uint64_t number) {
      uint64_t &local = localNumbers[number];
      if (local <= firstLocal) {
        globalNumbers.push_back(number);
        local = firstLocal + globalNumbers.size();
      }
      return firstUnknown + local - firstLocal - 1;
    });
  }
  content = hasher.finish();
  if (earlier)
    key = keyHasher.finish();
}

void RegionMemory::noteReaders(Outcome &outcome,
                               ArrayRef<ProgramRegion::Exit> exits) const {
  size_t firstNew = firstUnknown + globalNumbers.size();
  std::vector<uint8_t> readers;
  for (auto [pattern, exit] : llvm::zip_equal(outcome.patterns, exits))
    pattern->forEachUnknown([&, own = exit.readers](uint64_t number) {
      if (number >= readers.size())
        readers.resize(number + 1);
      readers[number] |= own;
    });
  outcome.sharesNew = true;
  for (auto [number, own] : llvm::enumerate(readers)) {
    if (own == NoReader)
      continue;
    if (number >= firstNew)
      outcome.sharesNew &= own == (FirstReads | SecondReads);
    else
      outcome.readAgain.push_back({number, own});
  }
  std::unordered_map<ContentHash, unsigned, ContentHashKey> firstOf;
  for (auto [index, pattern] : llvm::enumerate(outcome.patterns)) {
    // Integers and truth values may be equal by chance.
    if (pattern->isKept() || pattern->isTruth() || pattern->isDiscrete)
      continue;
    auto [same, isNew] = firstOf.try_emplace(hash(*pattern), index);
    if (!isNew)
      outcome.equalExits.push_back({index, same->second});
  }
}

bool RegionMemory::closes(const Outcome &outcome,
                          ArrayRef<uint64_t> elements) const {
  if (!outcome.sharesNew)
    return false;
  size_t numStillOpen = numOpen;
  for (auto [number, readers] : outcome.readAgain) {
    uint64_t element = elements[number - firstUnknown];
    if (element < firstUnknown)
      continue;
    const std::array<uint32_t, 2> &held = holders[element];
    numStillOpen -= (held[0] == 0) != (held[1] == 0);
    if ((readers | getReaders(held[0] > 0, held[1] > 0)) !=
        (FirstReads | SecondReads))
      return false;
  }
  return numStillOpen == 0;
}

void RegionMemory::settle(Number number, Readers readers,
                          SharedPattern pattern) {
  ContentHash content = hash(*pattern);
  count(*pattern, readers, 1);
  auto [same, isNew] = byContent.try_emplace(content, number);
  if (!isNew)
    equal.push_back({number, same->second});
  settled[number] = {std::move(pattern), readers, content};
}

void RegionMemory::settle(const Outcome &outcome, ArrayRef<uint64_t> elements,
                          ArrayRef<ProgramRegion::Exit> exits) {
  // All that is known of new unknowns is which of them are equal.
  std::vector<uint64_t> newNumbers;
  size_t firstNew = firstUnknown + elements.size();
  auto getGlobal = [&](uint64_t local) {
    if (local < firstNew)
      return elements[local - firstUnknown];
    if (local - firstNew >= newNumbers.size())
      newNumbers.resize(local - firstNew + 1);
    uint64_t &number = newNumbers[local - firstNew];
    if (number == 0) {
      number = holders.size();
      holders.emplace_back();
    }
    return number;
  };
  for (auto [pattern, exit] : llvm::zip_equal(outcome.patterns, exits)) {
    auto own = std::make_shared<EqualityPattern>(*pattern);
    own->renumber(getGlobal);
    settle(exit.number, exit.readers, std::move(own));
  }
  pending.clear();
  read.clear();
  content = key = {};
  isShared = true;
  firstLocal += globalNumbers.size();
  globalNumbers.clear();
  numKnown = nextRead = 0;
  known.clear();
  made.clear();
  numbers.clear();
  ++numClosed;
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

LogicalResult RegionMemory::enter(ProgramRegion region) {
  context.checkTime();
  if (context.problem)
    return failure();
  describeSettled(region);
  for (auto [number, readers] : region.changes)
    setReaders(number, readers);
  pending.push_back(std::move(region));
  std::vector<ProgramRegion::Exit> exits = pending.back().exits;
  auto outcome = outcomes.find(content);
  if (outcome == outcomes.end() && earlier && isShared) {
    std::vector<uint64_t> elements;
    if (const Outcome *known = earlier->find(key, read, elements)) {
      finish(*known, elements, exits);
      return success();
    }
  }
  bool isNew = outcome == outcomes.end();
  if (isNew) {
    bool alreadyRead = std::exchange(readIntegers, false);
    FailureOr<Outcome> evaluated = evaluatePending();
    if (failed(evaluated))
      return failure();
    evaluated->readsIntegers = std::exchange(readIntegers, alreadyRead);
    constexpr size_t maxBytes = size_t(256) << 20;
    if (outcomeBytes > maxBytes) {
      outcomes.clear();
      outcomeBytes = 0;
    }
    noteReaders(*evaluated, exits);
    for (const SharedPattern &pattern : evaluated->patterns)
      outcomeBytes += pattern->getNumBytes();
    outcome = outcomes.try_emplace(content, std::move(*evaluated)).first;
  }
  isShared &=
      !outcome->second.readsIntegers && !context.scalars.hasDividedByZero();
  if (isNew && earlier && isShared)
    noteForOtherRounds(outcome->second);
  readIntegers |= outcome->second.readsIntegers;
  finish(outcome->second, globalNumbers, exits);
  return success();
}

void RegionMemory::finish(const Outcome &outcome, ArrayRef<uint64_t> elements,
                          ArrayRef<ProgramRegion::Exit> exits) {
  if (closes(outcome, elements))
    return settle(outcome, elements, exits);
  for (auto [later, earlier] : outcome.equalExits)
    equal.push_back({exits[later].number, exits[earlier].number});
}

static bool isConstant(const ProgramRegion::Step &step) {
  return step.op && step.op->getNumOperands() == 0 &&
         isMemoryEffectFree(step.op);
}

/// Whether nothing need be known of the results of a step.
static bool canSkip(const ProgramRegion::Step &step) {
  if (!step.op)
    return step.settled || isFloatTensor(step.argumentType);
  return !step.isOfSecond && isMemoryEffectFree(step.op) &&
         !isa<tp::CallOp, tp::GroupOpInterface, tp::ReindexOpInterface>(
             step.op) &&
         (isConstant(step) ||
          llvm::all_of(step.op->getResultTypes(), isFloatTensor));
}

SmallVector<unsigned> RegionMemory::getTensorOfRank(Number number) const {
  const Settled &value = settled.find(number)->second;
  return value.pattern ? value.pattern->tensorOfRank
                       : value.skipped->tensorOfRank;
}

/// Gives equal numbers to equal keys, in order of appearance.
template <typename Key>
static SmallVector<unsigned> numberKeys(ArrayRef<Key> keys) {
  std::map<Key, unsigned> numbers;
  SmallVector<unsigned> result;
  for (const Key &key : keys)
    result.push_back(numbers.try_emplace(key, numbers.size()).first->second);
  return result;
}

/// Ranks that have the same part of the same tensor as an input have equal
/// numbers.
static SmallVector<unsigned> numberInstances(const InputGenerator &inputs,
                                             unsigned argument) {
  std::vector<std::pair<int64_t, std::vector<int64_t>>> keys;
  for (int64_t rank : inputs.getRanks().getRepresentatives()) {
    analysis::InputInstance instance =
        inputs.getPlacements().getInstance(argument, rank);
    keys.push_back({instance.tensor, {}});
    for (const analysis::InputInstance::Cut &cut : instance.cuts)
      keys.back().second.push_back(cut.index);
  }
  return numberKeys(ArrayRef(keys));
}

bool RegionMemory::skip(const ProgramRegion &region) {
  assert(isClosed());
  if (!llvm::all_of(region.steps, canSkip))
    return false;
  // By position.
  std::vector<Skipped> values;
  std::map<unsigned, SharedPattern> constants;
  for (const ProgramRegion::Step &step : region.steps) {
    if (step.settled) {
      values.push_back({{}, {}, getTensorOfRank(*step.settled)});
    } else if (isConstant(step)) {
      SmallVector<RankValues> results;
      if (failed(evaluator.evaluate(step.op, {}, step.samples, results)))
        return false;
      for (RankValues &result : results) {
        auto pattern = std::make_shared<EqualityPattern>(
            result, /*isConstant=*/true, /*isDiscrete=*/false);
        constants[values.size()] = pattern;
        values.push_back({{}, {}, pattern->tensorOfRank});
      }
    } else if (!step.op) {
      values.push_back({step.argumentType, step.samples.front(),
                        numberInstances(inputs, step.argument)});
    } else {
      // Ranks with equal operands have equal results.
      std::vector<std::vector<unsigned>> keys(
          inputs.getRanks().getRepresentatives().size());
      for (unsigned operand : step.operands)
        for (auto [key, tensor] :
             llvm::zip_equal(keys, values[operand].tensorOfRank))
          key.push_back(tensor);
      SmallVector<unsigned> tensorOfRank = numberKeys(ArrayRef(keys));
      for (auto [type, samples] :
           llvm::zip_equal(step.op->getResultTypes(), step.samples))
        values.push_back({cast<RankedTensorType>(type), samples, tensorOfRank});
    }
  }
  for (auto [number, readers] : region.changes)
    setReaders(number, readers);
  for (const ProgramRegion::Exit &exit : region.exits) {
    auto constant = constants.find(exit.position);
    if (constant != constants.end())
      settle(exit.number, exit.readers, constant->second);
    else
      settled[exit.number] = {nullptr, exit.readers, {}, values[exit.position]};
  }
  return true;
}

void RegionMemory::noteForOtherRounds(const Outcome &outcome) {
  RegionOutcomes::Known known;
  known.numUnknowns = globalNumbers.size();
  for (const SharedPattern &pattern : read) {
    auto own = std::make_shared<EqualityPattern>(*pattern);
    own->renumber([&](uint64_t number) {
      return firstUnknown + localNumbers[number] - firstLocal - 1;
    });
    known.read.push_back(std::move(own));
  }
  known.outcome = outcome;
  earlier->note(key, std::move(known));
}

/// Returns at most how many bytes the pattern of a value takes, with the
/// numbers of its elements, of which there are `numNumbers` before.
static int64_t planPattern(const RankValues &values, size_t numNumbers) {
  llvm::SmallPtrSet<const FieldTensor *, 8> tensors;
  size_t numElements = 0;
  for (const FieldValue &value : values)
    if (tensors.insert(value.get()).second)
      numElements += value->elements.size();
  // A value of a few elements needs no plan.
  constexpr size_t few = 1 << 20;
  if (numElements < few)
    return 0;
  // The elements and a copy without repetition; and the table of numbers, of
  // which three quarters are used at most, before and after it grows.
  constexpr size_t bytesOfEntry = 2 * sizeof(uint64_t);
  size_t table = llvm::PowerOf2Ceil((numNumbers + numElements) * 4 / 3);
  return static_cast<int64_t>(numElements * 2 * sizeof(uint64_t) +
                              table * 3 / 2 * bytesOfEntry);
}

FailureOr<RegionMemory::Outcome> RegionMemory::evaluatePending() {
  for (; numKnown < pending.size(); ++numKnown)
    if (failed(evaluate(pending[numKnown])))
      return failure();
  if (numNumbered != globalNumbers.size() || numbers.empty()) {
    numNumbered = globalNumbers.size();
    numbers.clear();
    for (auto [index, number] : llvm::enumerate(globalNumbers))
      numbers.try_emplace(
          PrimeField::mix(number, PrimeField::mix(numClosed, seed)),
          firstUnknown + index);
    nextNumber = firstUnknown + numNumbered;
    for (KnownValue &value : known)
      value.pattern.reset();
  }
  Outcome outcome;
  for (const ProgramRegion::Exit &exit : pending.back().exits) {
    KnownValue &value = known[exit.position];
    if (!value.pattern) {
      if (!context.checkMemory(planPattern(value.values, numbers.size())))
        return failure();
      auto pattern = std::make_shared<EqualityPattern>(
          value.values, value.isConstant, value.isDiscrete);
      pattern->renumber([&](uint64_t element) {
        auto [it, isNew] = numbers.try_emplace(element, nextNumber);
        nextNumber += isNew;
        return it->second;
      });
      value.pattern = std::move(pattern);
    }
    outcome.patterns.push_back(value.pattern);
    context.checkTime();
    context.checkMemory(static_cast<int64_t>(numbers.getMemorySize()));
    if (context.problem)
      return failure();
  }
  return outcome;
}

LogicalResult RegionMemory::evaluate(const ProgramRegion &region) {
  for (const ProgramRegion::Step &step : region.steps) {
    size_t begin = known.size();
    if (failed(evaluate(step)))
      return failure();
    if (!step.settled)
      llvm::append_range(made, llvm::seq<unsigned>(begin, known.size()));
  }
  // Do not keep values that neither program uses any more.
  llvm::SmallDenseSet<unsigned> kept;
  for (const ProgramRegion::Exit &exit : region.exits)
    kept.insert(exit.position);
  llvm::erase_if(made, [&](unsigned position) {
    if (kept.contains(position))
      return false;
    known[position].values.clear();
    known[position].pattern.reset();
    return true;
  });
  return success();
}

LogicalResult RegionMemory::evaluate(const ProgramRegion::Step &step) {
  uint64_t ownSeed = PrimeField::mix(numClosed, seed);
  if (step.settled) {
    const EqualityPattern &pattern = *read[nextRead++];
    known.push_back(
        {pattern.instantiate(ownSeed), pattern.isConstant, pattern.isDiscrete});
    return success();
  }
  if (!step.op) {
    // Integers have the values of the whole evaluation. Unknowns that recur are
    // different each time.
    bool isExact = InputGenerator::isExact(step.argumentType);
    known.push_back(
        {inputs.generate(step.argument, step.argumentType, step.samples.front(),
                         isExact ? seed : ownSeed)});
    return success(!context.problem);
  }
  ++numEvaluated;
  bool isConstant = isMemoryEffectFree(step.op);
  bool isDiscrete = isConstant;
  SmallVector<RankValues> operands, results;
  for (auto [value, operand] :
       llvm::zip_equal(step.op->getOperands(), step.operands)) {
    operands.push_back(known[operand].values);
    bool isFloat = isFloatTensor(value.getType());
    isConstant &= known[operand].isConstant;
    isDiscrete &=
        known[operand].isConstant || known[operand].isDiscrete || !isFloat;
    readIntegers |=
        !known[operand].isConstant && (known[operand].isDiscrete || !isFloat);
  }
  context.hasReadOutside = false;
  if (failed(evaluator.evaluate(step.op, operands, step.samples, results))) {
    culprit = step.op;
    return failure();
  }
  readOutside[step.isOfSecond] |= context.hasReadOutside;
  isShared &= !context.hasReadOutside;
  for (RankValues &result : results)
    known.push_back({std::move(result), isConstant, isDiscrete && !isConstant});
  return success();
}
