//===- ProgramComparison.cpp - two programs of known sizes ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramComparison.h"

#include "IntegerWitness.h"
#include "RegionComparison.h"
#include "StatedRanges.h"
#include "commute/Equivalence/ResolvedPrograms.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <array>
#include <ctime>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

llvm::Expected<std::vector<RankValues>>
ProgramComparison::evaluate(func::FuncOp function, EvaluationContext &context,
                            uint64_t seed, Observer observe,
                            Operation *&culprit) {
  result.numEvaluatedOps +=
      function.getBody().front().getOperations().size() - 1;
  InputGenerator generator(placements, *ranks, context, draws);
  llvm::Expected<std::vector<RankValues>> inputs =
      generator.generateAll(function, lookup, seed);
  if (!inputs)
    return inputs.takeError();
  return evaluateOnAllRanks(function, *inputs, *ranks, context, lookup, observe,
                            culprit);
}

llvm::Expected<ProgramComparison::Outcome>
ProgramComparison::compareWhole(EvaluationContext &context, uint64_t seed,
                                Operation *&culprit) {
  ArrayRef<int64_t> world = ranks->getRepresentatives();
  std::vector<OpaqueRead> firstReads, secondReads;
  // The first op of each kind that PyTorch's kernels would reject.
  struct Errors {
    Operation *outside = nullptr;
    Operation *division = nullptr;
  } firstErrors, secondErrors;
  UnknownResults unknown(first, second);
  auto observeInto = [&](std::vector<OpaqueRead> &reads, Errors &errors) {
    context.hasReadOutside = false;
    context.scalars.clearDivisionByZero();
    return [&](Operation *op, ArrayRef<RankValues> operands,
               ArrayRef<RankValues>) {
      recordReads(op, operands, reads);
      unknown.note(op, operands);
      if (context.hasReadOutside && !errors.outside)
        errors.outside = op;
      if (context.scalars.hasDividedByZero() && !errors.division)
        errors.division = op;
    };
  };
  auto firstOutputs = evaluate(first, context, seed,
                               observeInto(firstReads, firstErrors), culprit);
  if (!firstOutputs)
    return firstOutputs.takeError();
  auto secondOutputs = evaluate(
      second, context, seed, observeInto(secondReads, secondErrors), culprit);
  if (!secondOutputs) {
    if (context.problem)
      return secondOutputs.takeError();
    // The first program shows that these inputs are legal.
    differences.push_back({"the second program cannot run: " +
                               llvm::toString(secondOutputs.takeError()),
                           firstMain.getLoc(), secondMain.getLoc(),
                           std::nullopt, findSizeOfValues(secondMain)});
    return Outcome::Different;
  }
  unknown.find();
  if (!otherSize)
    otherSize = unknown.findOtherSize();
  auto getCause = [&](Operation *op) {
    std::optional<Undecided> cause;
    for (Value operand : op->getOperands())
      if (!cause)
        cause = unknown.getCause(operand);
    return cause;
  };
  if (secondErrors.outside && !firstErrors.outside)
    differences.push_back(
        {"the second program reads at an index that is outside of the dim, for "
         "inputs that the first program runs with",
         firstMain.getLoc(), secondErrors.outside->getLoc(), std::nullopt,
         getCause(secondErrors.outside)});
  if (secondErrors.division && !firstErrors.division)
    differences.push_back({"the second program divides an integer by zero, for "
                           "inputs that the first program runs with",
                           firstMain.getLoc(), secondErrors.division->getLoc(),
                           std::nullopt, getCause(secondErrors.division)});
  if (!options.comparesOpaqueCalls) {
    firstReads.clear();
    secondReads.clear();
  }
  for (auto &[position, difference] :
       findOtherReads(firstReads, secondReads, world)) {
    places.insert({false, position});
    if (!difference.cause)
      difference.cause = getCause(secondReads[position].call);
    if (differences.empty() || (!difference.cause && differences.back().cause))
      differences.push_back(std::move(difference));
  }

  auto getOutput = [](func::FuncOp function, size_t index) {
    return function.getBody().front().getTerminator()->getOperand(index);
  };
  bool differs = false;
  for (auto [index, a, b] : llvm::enumerate(*firstOutputs, *secondOutputs)) {
    std::optional<std::string> where = describeDifference(a, b, world, context);
    if (context.problem) {
      for (func::FuncOp function : {first, second})
        if (Operation *op = getOutput(function, index).getDefiningOp())
          culprit = op;
      return llvm::createStringError(context.problem->message);
    }
    if (!where)
      continue;
    differs = true;
    places.insert({true, index});
    std::optional<Undecided> cause =
        unknown.getCause(getOutput(first, index), getOutput(second, index));
    differences.push_back(
        {"output " + std::to_string(index) + " differs " + *where,
         getOutput(firstMain, index).getLoc(),
         getOutput(secondMain, index).getLoc(), static_cast<unsigned>(index),
         std::move(cause)});
  }
  if (differs) {
    // Keep values only now, to find where the difference begins.
    NamedValues firstNamed, secondNamed;
    for (auto [function, named] :
         {std::pair(first, &firstNamed), std::pair(second, &secondNamed)}) {
      auto again = evaluate(
          function, context, seed,
          [named = named](Operation *op, ArrayRef<RankValues>,
                          ArrayRef<RankValues> results) {
            record(op, results, *named);
          },
          culprit);
      if (!again)
        return again.takeError();
    }
    if (std::optional<Difference> where =
            findFirstPartition(firstNamed, secondNamed, world, context))
      differences.push_back(std::move(*where));
    // Mismatched samples do not imply anything there.
    context.problem.reset();
  }
  return differences.empty() ? Outcome::Equal : Outcome::Different;
}

void ProgramComparison::setNotProven(const SampleProblem &problem,
                                     Operation *culprit) {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (problem.kind) {
  case SampleProblem::TooLarge:
    os << "the proof would need more memory than " << (options.maxBytes >> 20)
       << " MiB (--proof-memory)";
    result.exceeds = Exceeded::Memory;
    result.neededBytes = problem.neededBytes;
    if (problem.neededBytes > 0)
      os << ", at least "
         << llvm::divideCeil(static_cast<uint64_t>(problem.neededBytes),
                             uint64_t(1) << 20)
         << " MiB";
    if (!problem.message.empty())
      os << ": " << problem.message;
    break;
  case SampleProblem::TooLong:
    result.exceeds = Exceeded::Time;
    os << "the proof would take longer than "
       << llvm::format("%g", options.maxSeconds) << " s (--proof-time)";
    break;
  case SampleProblem::Sizes:
    os << "an op cannot run at the sizes that were chosen: " << problem.message
       << " (--assume states how symbolic sizes relate)";
    break;
  case SampleProblem::Mismatch:
  case SampleProblem::MissingIndices:
    os << "no samples of the dims fit: " << problem.message;
    break;
  }
  if (culprit)
    os << ", at " << report::describeLocation(culprit->getLoc());
  sizesFit = problem.kind != SampleProblem::Sizes;
  // The op that takes most of the memory and time.
  std::vector<DimSamples::Line> lines = dims->describe();
  auto largest = llvm::max_element(
      lines, [](const auto &a, const auto &b) { return a.count < b.count; });
  if (largest != lines.end() && largest->count > 64)
    os << "; of a dim of size " << largest->size << ", " << largest->count
       << " indices are evaluated: " << getText(largest->reason);
  result.notProven = std::move(text);
}

void ProgramComparison::noteChoices(const ScalarContext &scalars) {
  hasSampled |= scalars.hasSampled();
  hasChosen |= scalars.hasChosen();
  hasBounded |= scalars.hasBounded();
  hasSorted |= scalars.hasSorted();
}

llvm::Expected<ProgramComparison::Outcome>
ProgramComparison::compare(uint64_t seed, Choices choices) {
  // Rounds at the same samples keep what regions gave, hence the modulus.
  PrimeField::Modulus modulus(sampled ? sampled->first : seed);
  // Regions draw different bits than an evaluation of the whole. A difference
  // that only few draws show would have to occur in both, so every other round
  // evaluates only the whole.
  constexpr size_t maxOps = 2000;
  // Regions do not say which sizes that depend on values are the same.
  bool usesRegions = options.usesRegions && !hasSizesOfValues &&
                     !(seed % 2 == 1 && result.numOps <= maxOps &&
                       (hasSampled || choices == Choices::Sampled));
  // Each attempt uses samples that are refined by the problem of the previous
  // one; at the end, all dims are whole.
  for (int attempt = 0;; ++attempt) {
    EvaluationContext context(samples, options.precision, choices, seed,
                              budget);
    context.scalars.setPool(*pool);
    context.scalars.setHasFixedNumbers(static_cast<bool>(draws.fixed));
    context.scalars.getMonotoneImages().isRecording = sortsValues;
    context.scalars.setOrdersByKeys(ordersByKeys);
    context.decisions = &*decisions;
    decisions->beginRound();
    // Two rounds out of four, so that both kinds of rounds above are included.
    context.repeatsElements = hasSorted && seed % 4 >= 2;
    context.ties = choices == Choices::Sampled ? Ties::None : ties;
    differences.clear();
    places.clear();
    Operation *culprit = nullptr;
    if (usesRegions) {
      InputGenerator inputs(placements, *ranks, context, draws);
      // Where integers matter is known by then. Drawn choices may matter
      // anywhere.
      bool mayEndEarly =
          !draws.fixed && numEqualRounds >= leastRoundsOfIntegers &&
          bitsOfIntegers >= enoughBitsOfIntegers && !hasSampled && !hasSorted;
      RegionVerdict verdict = compareByRegions(
          first, second, inputs, context, lookup, seed, *earlier, mayEndEarly,
          /*sharesOutcomes=*/mayEndEarly && sharesSamples() &&
              choices == Choices::Symbolic);
      result.numEvaluatedOps += verdict.numEvaluatedOps;
      noteChoices(context.scalars);
      // The check below determines which program reads out of range, or divides
      // by zero.
      if (verdict.areEqual && !verdict.mayReadOutside &&
          !context.scalars.hasDividedByZero())
        return Outcome::Equal;
      culprit = verdict.culprit;
    }
    if (!context.problem) {
      hasBeenEvaluatedWhole = true;
      culprit = nullptr;
      llvm::Expected<Outcome> outcome = compareWhole(context, seed, culprit);
      noteChoices(context.scalars);
      if (outcome || !context.problem)
        return outcome;
      llvm::consumeError(outcome.takeError());
    }
    constexpr int maxAttempts = 64;
    if (attempt == maxAttempts || !dims->refine(*context.problem, culprit)) {
      setNotProven(*context.problem, culprit);
      return Outcome::NotProven;
    }
    dims->choose();
  }
}

void ProgramComparison::chooseSamples(uint64_t seed, bool reducesSizes) {
  auto start = std::clock();
  llvm::scope_exit stop([&] {
    result.secondsForSizes +=
        static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  });
  if (shared && sampled == std::pair(seed, reducesSizes)) {
    dims.emplace(*shared);
    return;
  }
  sampled = {seed, reducesSizes};
  earlier->outcomes.clear();
  std::optional<DimSamples> &common = analyzed[reducesSizes];
  if (!common || !common->holdsForAllSeeds())
    common.emplace(first, second, samples, seed, reducesSizes);
  dims.emplace(*common);
  dims->begin(seed);
  dims->choose();
  // Further attempts of the round draw the same integers. Otherwise, an attempt
  // that ends because a difference leads to an unsampled index would be
  // replaced by an attempt without that difference.
  pool = dims->getPool();
  ranks = reducesSizes
              ? RankClasses::find(first, second, placements.getWorld(), seed)
              : RankClasses(placements.getWorld());
  result.numEvaluatedRanks = ranks->getRepresentatives().size();
  shared.reset();
  if (sharesSamples())
    shared.emplace(*dims);
}

ArrayRef<const IndexSample *> ProgramComparison::getCells(Value value) {
  if (!cells) {
    cells.emplace(first, second, samples, options.seed, /*reducesSizes=*/true);
    cells->begin(options.seed);
    cells->chooseCells();
  }
  return cells->get(value);
}

bool ProgramComparison::hasTies(uint64_t seed) const {
  return hasSorted && !differenceOfTies && seed % periodOfTies == 1;
}

llvm::Expected<ProgramComparison::Outcome>
ProgramComparison::compareWithTies(uint64_t seed, Choices &choices) {
  llvm::scope_exit reset([&] { ties = Ties::None; });
  ties = Ties::SameValues;
  llvm::Expected<Outcome> outcome = compareInModels(seed, choices);
  if (!outcome || *outcome != Outcome::Different)
    return outcome;
  std::vector<Difference> found = std::move(differences);
  std::set<Place> foundAt = std::move(left);
  // The programs may be equal in the other model, or in the remaining places.
  ties = Ties::OpenOrder;
  outcome = compareInModels(seed, choices);
  if (!outcome || *outcome == Outcome::Equal)
    return outcome;
  bool isInOtherPlaces =
      *outcome == Outcome::Different && !foundAt.empty() && !left.empty() &&
      llvm::none_of(left, [&](Place place) { return foundAt.contains(place); });
  if (isInOtherPlaces)
    return Outcome::Equal;
  result.notProven.reset();
  ties = Ties::None;
  outcome = compareInModels(seed, choices);
  if (outcome && *outcome == Outcome::Equal)
    differenceOfTies = found.front();
  return outcome;
}

llvm::Expected<ProgramComparison::Outcome>
ProgramComparison::compareInModels(uint64_t seed, Choices &choices) {
  llvm::Expected<Outcome> outcome = compare(seed, choices);
  if (!outcome || *outcome != Outcome::Different)
    return outcome;
  left = places;
  if (!hasBounded || left.empty())
    return Outcome::Different;
  // The programs may be equal in another model of bounds: in all outputs, or in
  // the remaining ones each time.
  std::vector<Difference> found = differences;
  for (Choices other : {Choices::Symbolic, Choices::SymbolicBounds,
                        Choices::SymbolicClosedBounds}) {
    if (other == choices)
      continue;
    outcome = compare(seed, other);
    if (!outcome)
      return outcome;
    if (*outcome == Outcome::Equal) {
      choices = other;
      return outcome;
    }
    if (*outcome == Outcome::NotProven) {
      // Another model may decide.
      result.notProven.reset();
      continue;
    }
    // A difference of another kind occurs in every model.
    if (places.empty()) {
      left.clear();
      break;
    }
    std::erase_if(left, [&](Place place) { return !places.contains(place); });
    if (left.empty())
      return Outcome::Equal;
  }
  result.notProven.reset();
  differences = std::move(found);
  return Outcome::Different;
}

llvm::Expected<bool>
ProgramComparison::looksEqual(bool reducesSizes, unsigned numRounds,
                              const std::set<Place> &asked) {
  for (unsigned round = 0; round < numRounds; ++round) {
    chooseSamples(options.seed + round, reducesSizes);
    llvm::Expected<Outcome> outcome =
        compare(options.seed + round, Choices::Sampled);
    if (!outcome)
      return outcome.takeError();
    if (*outcome == Outcome::Equal)
      continue;
    // What is equal in a more general model may differ in this one, which does
    // not know the laws of bounds.
    bool differsElsewhere =
        *outcome == Outcome::Different && !places.empty() && !asked.empty() &&
        llvm::none_of(places,
                      [&](Place place) { return asked.contains(place); });
    if (!differsElsewhere)
      return false;
  }
  return true;
}

llvm::Expected<ProgramComparison::Outcome>
ProgramComparison::compareAtRealSizes(uint64_t seed, Choices &choices) {
  DimSamples sampled = *dims;
  draws.drawnAt = [&](unsigned argument) {
    return sampled.get(first.getArgument(argument));
  };
  chooseSamples(seed, /*reducesSizes=*/false);
  llvm::Expected<Outcome> outcome = compareInModels(seed, choices);
  draws.drawnAt = nullptr;
  if (!outcome || *outcome != Outcome::Equal)
    return outcome;
  return compareInModels(seed, choices);
}

IntegerUnion ProgramComparison::getRange(BlockArgument argument,
                                         int64_t farthest) const {
  unsigned number = argument.getArgNumber();
  Type type = InputGenerator::getType(argument.getType()).getElementType();
  auto [low, high] = getDefaultRange(type, farthest);
  IntegerUnion range(low, high);
  std::optional<IntegerUnion> known = dims->getRange(number);
  if (auto stated = options.ranges.find(number); stated != options.ranges.end())
    known = stated->second;
  if (!known)
    return range;
  // Nothing is outside of the type.
  IntegerUnion own = range.intersect(*known);
  return own.isEmpty() ? range : own;
}

static void dumpPrograms(func::FuncOp first, func::FuncOp second,
                         const VerifyOptions &options) {
  if (!options.dump)
    return;
  for (auto [name, function] :
       {std::pair("first.mlir", first), std::pair("second.mlir", second)}) {
    std::string text;
    llvm::raw_string_ostream(text) << *function << '\n';
    options.dump(name, text);
  }
}

llvm::Error ProgramComparison::run(func::FuncOp resolvedFirst,
                                   func::FuncOp resolvedSecond,
                                   llvm::function_ref<bool()> proves) {
  first = resolvedFirst;
  second = resolvedSecond;
  analyzed[0].reset();
  analyzed[1].reset();
  sampled.reset();
  shared.reset();
  // As many are added at a time.
  constexpr unsigned roundsApartAtOnce = 64;
  hasSizesOfValues = llvm::any_of(std::array{first, second}, [](auto function) {
    return !getSizesOfValues(function).empty();
  });
  sortsValues = llvm::any_of(std::array{first, second}, [](auto function) {
    return !function.template getOps<tp::SortOp>().empty();
  });
  otherSize.reset();
  numEqualRounds = 0;
  drewIntegers = false;
  bitsOfIntegers = 0;
  differenceOfTies.reset();
  cells.reset();
  decisions.emplace([this](Value value) { return getCells(value); });
  earlier.emplace(EarlierRounds{
      DiscreteValues(first, second), {}, {}, !options.evaluatesShared});
  unmetNumbers = UnmetNumbers::None;
  lookup = [this](Value value) { return dims->get(value); };
  draws.pools = [this](unsigned argument) {
    return getPoolInRange(*dims, argument, options);
  };
  draws.cells = [this](unsigned argument) {
    return getCells(first.getArgument(argument));
  };
  auto start = std::clock();
  unsigned numRounds = 1;
  if (computesPositions())
    numRounds = 2;
  // Further rounds for integers are pointless if these decide nothing in what
  // has to be evaluated.
  unsigned roundsOfIntegers = 0;
  if (drawsIntegers())
    roundsOfIntegers = numRounds = leastRoundsOfIntegers;
  // Rounds in which one integer is unlike the others come last, if elements of
  // a count or an extreme have decided nothing before.
  unsigned firstApart = std::numeric_limits<unsigned>::max();
  Choices choices = Choices::Symbolic;
  bool reducesSizes = options.reducesSizes;
  dumpPrograms(first, second, options);
  for (unsigned round = 0; round < numRounds; ++round) {
    uint64_t seed = options.seed + round;
    if (round >= firstApart)
      seed = IntegerPool::firstApart + options.seed % 4096 + round - firstApart;
    result.numPlannedRounds = result.numRounds + numRounds - round;
    // Use different indices in each round, or in a few.
    chooseSamples(round < firstApart ? getSeedOfSamples(round, numRounds)
                                     : seed,
                  reducesSizes);
    llvm::Expected<Outcome> outcome = hasTies(seed)
                                          ? compareWithTies(seed, choices)
                                          : compareInModels(seed, choices);
    if (!outcome)
      return outcome.takeError();
    if (roundsOfIntegers != 0 &&
        (earlier->numPointsWithIntegers > 0 || hasBeenEvaluatedWhole)) {
      drewIntegers = true;
      roundsOfIntegers =
          std::max(roundsOfIntegers, getRoundsOfIntegers(reducesSizes));
      numRounds = std::max(numRounds, roundsOfIntegers);
    }
    if (*outcome == Outcome::Different && reducesSizes &&
        isCheapAtRealSizes()) {
      // The programs may be equal by a law that does not hold for weighted
      // sums, such as that a sum over rotated rows is the sum over the rows.
      std::vector<Difference> sampled = std::move(differences);
      outcome = compareAtRealSizes(seed, choices);
      if (!outcome)
        return outcome.takeError();
      if (*outcome == Outcome::Equal) {
        reducesSizes = false;
      } else if (*outcome == Outcome::NotProven) {
        result.notProven.reset();
        outcome = Outcome::Different;
        differences = std::move(sampled);
      }
    }
    if (*outcome == Outcome::Different && hasChosen) {
      // The programs may be equal by a law of truth values that does not hold
      // for unknown numbers.
      std::vector<Difference> found = differences;
      bool reducesAll = reducesSizes && !isCheapAtRealSizes();
      // What took many rounds to find may take as many again.
      unsigned numOutcomes =
          getRoundsOfChoices(reducesAll) * (round > 0 ? 2 : 1);
      llvm::Expected<bool> isLaw = looksEqual(reducesAll, numOutcomes, left);
      // One program may sort what the other one compares.
      if (isLaw && !*isLaw && sortsValues) {
        ordersByKeys = true;
        isLaw = looksEqual(reducesAll, numOutcomes, left);
        ordersByKeys = false;
      }
      if (!isLaw)
        return isLaw.takeError();
      differences = std::move(found);
      result.notProven.reset();
      if (*isLaw) {
        result.notProven =
            "the programs are equal for " + std::to_string(numOutcomes) +
            " random outcomes of their comparisons, but not as functions of "
            "unknown truth values: either a law of truth values makes them "
            "equal, or an outcome that was not drawn tells them apart";
        outcome = Outcome::NotProven;
      }
    }
    if (*outcome == Outcome::Equal && hasSampled) {
      // A round with all indices draws more outcomes than one with a few.
      constexpr double maxWorkOfRound = 4e4;
      reducesSizes &= getWork(/*reducesSizes=*/false) > maxWorkOfRound;
      numRounds = std::max(numRounds, getRoundsOfChoices(reducesSizes));
    }
    dumpRound(round, seed, *outcome);
    ++result.numRounds;
    ++numEqualRounds;
    bitsOfIntegers += getBitsOfIntegers(seed);
    if (*outcome == Outcome::NotProven)
      break;
    if (*outcome == Outcome::Different) {
      result.differences.insert(result.differences.end(), differences.begin(),
                                differences.end());
      result.seedOfDifferences = seed;
      recordIntegers(seed);
      break;
    }
    if (proves && restsOnDraws() && round + 1 >= leastRoundsOfIntegers) {
      if (proves())
        break;
      proves = nullptr;
    }
    if (round + 1 == numRounds && roundsOfIntegers != 0 &&
        decisions->hasMissedElements(first, second)) {
      firstApart = std::min(firstApart, numRounds);
      numRounds = std::min(numRounds + roundsApartAtOnce,
                           firstApart + getRoundsApart(reducesSizes));
    }
  }
  if (result.hasEqualValues() && otherSize) {
    result.notProven = otherSize->reason;
    result.undecided = otherSize;
  }
  if (result.hasEqualValues() && differenceOfTies)
    result.notProven =
        "where elements of a sorted row are equal, the programs may differ: " +
        differenceOfTies->message;
  noteLegalIntegers();
  for (const DimSamples::Line &line : dims->describe())
    result.extents.push_back({line.size, line.count, getText(line.reason).str(),
                              line.value.getLoc(), line.dim});
  result.secondsEvaluating +=
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return llvm::Error::success();
}

void ProgramComparison::dumpRound(unsigned round, uint64_t seed,
                                  Outcome outcome) const {
  if (!options.dump)
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "round " << round << ", seed " << seed << ": ";
  switch (outcome) {
  case Outcome::Equal:
    os << "equal\n";
    break;
  case Outcome::Different:
    os << "different\n";
    break;
  case Outcome::NotProven:
    os << "not proven: " << result.notProven.value_or("") << '\n';
    break;
  }
  if (outcome == Outcome::Different)
    for (const Difference &difference : differences)
      os << "  " << difference.message << '\n';
  os << "  ops evaluated so far: " << result.numEvaluatedOps
     << (hasBeenEvaluatedWhole ? ", some round evaluated the whole programs\n"
                               : ", region by region\n");
  if (hasSampled || hasSorted || drewIntegers)
    os << "  drawn: " << (drewIntegers ? "integers " : "")
       << (hasSampled ? "truth values " : "") << (hasSorted ? "orders" : "")
       << '\n';
  options.dump("rounds.txt", text);
  if (round > 0 && outcome == Outcome::Equal)
    return;
  text = "round " + std::to_string(round) + ": " +
         std::to_string(ranks->getRepresentatives().size()) +
         " ranks are evaluated\n";
  for (func::FuncOp function : {first, second}) {
    os << (function == first ? "first program\n" : "second program\n");
    auto describe = [&](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      if (!type || lookup(value).size() != static_cast<size_t>(type.getRank()))
        return;
      os << "  " << report::describeLocation(value.getLoc()) << ": ";
      llvm::interleave(
          lookup(value), os,
          [&](const IndexSample *sample) {
            os << sample->getCount() << " of " << sample->getSize();
          },
          " x ");
      os << '\n';
    };
    llvm::for_each(function.getArguments(), describe);
    for (Operation &op : function.getBody().front())
      llvm::for_each(op.getResults(), describe);
  }
  options.dump("samples.txt", text);
}

void ProgramComparison::noteLegalIntegers() {
  for (BlockArgument argument : first.getArguments()) {
    std::optional<IntegerUnion> legal = dims->getRange(argument.getArgNumber());
    // That an index is within its table goes without saying.
    if (!legal || options.ranges.contains(argument.getArgNumber()) ||
        legal->getIntervals().size() < 2)
      continue;
    auto name = first.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                   tp::TPDialect::nameAttrName);
    result.notes.push_back(
        "integers of " +
        (name ? name.str()
              : "input " + std::to_string(argument.getArgNumber())) +
        " are " + legal->getText() +
        ": the programs have no result for others");
  }
}

void ProgramComparison::judgeDraws() {
  if (result.hasEqualValues())
    result.notProven = decisions->describeMissed(first, second);
  if (!result.hasEqualValues())
    return;
  noteUnmetNumbers();
  noteFlagsOfRanks();
  if (auto note = decisions->describeUnwrapped(first, second))
    result.notes.push_back(*note);
  if (hasSampled)
    result.notes.push_back("truth values decide about integers, or a law of "
                           "truth values or maxima "
                           "is used: " +
                           std::to_string(result.numRounds) +
                           " outcomes were drawn at random, so that a "
                           "difference that half of them "
                           "show is missed with probability 2^-" +
                           std::to_string(result.numRounds));
}

void ProgramComparison::recordIntegers(uint64_t seed) {
  PrimeField::Modulus modulus(sampled ? sampled->first : seed);
  EvaluationContext context(samples, options.precision, Choices::Symbolic, seed,
                            budget);
  context.scalars.setPool(*pool);
  std::vector<FixedInteger> integers;
  constexpr size_t most = size_t(1) << 20;
  bool isComplete = true;
  InputGenerator::Draws own = draws;
  own.observe = [&](unsigned argument, int64_t tensor,
                    const FieldTensor &whole) {
    if (!isa<IntegerType>(whole.getElementType()))
      return;
    isComplete = isComplete && integers.size() + whole.elements.size() < most;
    for (size_t element = 0; isComplete && element < whole.elements.size();
         ++element)
      if (uint64_t number = whole.elements[element];
          !whole.isTruth() || number <= 1)
        integers.push_back({argument, tensor,
                            getIndices(whole.getDims(), element),
                            static_cast<int64_t>(number)});
  };
  llvm::Expected<std::vector<RankValues>> inputs =
      InputGenerator(placements, *ranks, context, own)
          .generateAll(first, lookup, seed);
  if (!inputs)
    llvm::consumeError(inputs.takeError());
  else if (isComplete)
    result.integersOfDifferences = std::move(integers);
}

std::vector<Difference>
ProgramComparison::compareWith(InputGenerator::FixedNumbers fixed,
                               uint64_t seed, bool atRealSizes) {
  if (atRealSizes) {
    if (!isCheapAtRealSizes())
      return {};
    chooseSamples(seed, /*reducesSizes=*/false);
  }
  draws.fixed = std::move(fixed);
  llvm::scope_exit reset([&, reason = result.notProven] {
    draws.fixed = nullptr;
    result.notProven = reason;
  });
  Choices choices = Choices::Symbolic;
  llvm::Expected<Outcome> outcome =
      atRealSizes ? compareInModels(seed, choices) : compare(seed, choices);
  if (!outcome) {
    llvm::consumeError(outcome.takeError());
    return {};
  }
  if (*outcome != Outcome::Different)
    return {};
  std::vector<Difference> found = differences;
  if (!atRealSizes)
    return found;
  // A law of truth values may make the programs equal for these integers.
  constexpr unsigned numOutcomes = 30;
  if (hasChosen) {
    llvm::Expected<bool> isLaw =
        looksEqual(/*reducesSizes=*/false, numOutcomes, left);
    if (!isLaw)
      llvm::consumeError(isLaw.takeError());
    else if (*isLaw)
      return {};
    chooseSamples(seed, /*reducesSizes=*/false);
  }
  recordIntegers(seed);
  return found;
}
