//===- RegionComparison.cpp - two programs, region by region ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionComparison.h"

#include "CutPoints.h"
#include "DecisionCoverage.h"
#include "OpNumbering.h"
#include "RegionMemory.h"
#include "commute/Dialect/OpaqueOperators.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

namespace {

enum Side { First, Second };

class RegionComparison {
public:
  RegionComparison(func::FuncOp first, func::FuncOp second,
                   const InputGenerator &generator, EvaluationContext &context,
                   SampleLookup samples, uint64_t seed, EarlierRounds &earlier,
                   bool mayEndEarly, bool sharesOutcomes);

  RegionVerdict run();

private:
  struct NumberInfo {
    /// The number that this value was found to be equal to.
    Number same;
    /// Remaining uses, and results whose counterpart is not computed yet, by
    /// program.
    unsigned uses[2] = {0, 0};
    bool isLive = true;
    /// The programs that read the value at the last cut.
    Readers readers = NoReader;
    /// The position among the values made or read since the last closed cut.
    std::optional<unsigned> position;
    /// The number of elements evaluated on each rank.
    size_t size = 0;

    Readers getReaders() const {
      return equivalence::getReaders(uses[First] > 0, uses[Second] > 0);
    }
  };
  /// Two values that must be equal.
  struct Claim {
    Number first, second;
  };

  Number find(Number number);
  /// Adds a number for a value with these samples.
  Number addNumber(ArrayRef<const IndexSample *> samples);
  /// Returns the number of a value of a program. An input gets one on its first
  /// use.
  Number getNumber(Side side, Value value);
  Number addInput(unsigned argument);
  void setNumber(Side side, Value value, Number number);
  void addOp(Side side, Operation *op);
  void addReads(Side side, tp::CallOp call);
  /// Adds a value from before the last closed cut to the region.
  void read(Number number);
  /// Appends a number for the object at an address to the key of the region.
  void describe(const void *what) {
    region.key.push_back(earlier.outcomes.describe(what));
  }
  /// Records that a program has computed an output.
  void addOutput(Side side, unsigned output, Number number);
  void use(Side side, Number number) { --numbers[find(number)].uses[side]; }

  /// Drops the claims that hold. Returns false if one certainly does not, which
  /// is known only if both programs hold the same elements.
  bool settleClaims(bool isClosed);
  /// Ends the region here. Returns false if the programs cannot be shown to be
  /// equal.
  bool cut();
  /// Returns true if the input of a region is small compared with its results,
  /// so that the number of cuts does not matter. Otherwise, many short regions
  /// that read one large value would take longer than the programs as a whole.
  bool isWorthCutting() const {
    constexpr size_t share = 8, small = 4096;
    return sizeRead <= share * sizeMade + small;
  }
  /// Evaluates the deferred regions. Returns false on failure.
  bool evaluateDeferred();
  /// The number of a value of a program; nullopt if it has none yet.
  std::optional<Number> lookup(unsigned side, Value value);
  /// The state of a closed cut behind so many ops of each program.
  CutState getState(ArrayRef<unsigned> numOps);
  /// At a closed cut, forgets the positions of all values.
  void forgetPositions();

  func::FuncOp functions[2];
  DecisionCoverage *decisions;
  /// By number, the op that computes it, of those that may be decisions.
  DenseMap<Number, std::pair<Side, Operation *>> madeBy;
  /// By number, the samples of a result of an op without operands.
  DenseMap<Number, SmallVector<const IndexSample *, 2>> samplesOf;
  const InputGenerator &generator;
  SampleLookup samples;
  EarlierRounds &earlier;
  bool mayEndEarly;
  bool skipsShared;
  RegionMemory memory;
  OpNumbering ops;

  std::vector<NumberInfo> numbers;
  DenseMap<Value, Number> numberOf[2];
  /// By argument, its number once it is used.
  std::vector<std::optional<Number>> inputs;
  std::vector<Claim> claims;
  /// By value, the outputs that it is; by output, its number once computed.
  DenseMap<Value, SmallVector<unsigned, 1>> outputsOf[2];
  std::vector<std::optional<Number>> outputs[2];
  /// The operands of each opaque op, until the other program has reached its
  /// counterpart.
  std::vector<SmallVector<Number>> reads[2];
  bool haveOtherCalls = false;
  bool hasOwnTakes = false;

  /// The live values from before the last closed cut, and those made since.
  SmallVector<Number> settled;
  SmallVector<Number> made;
  /// The values in `settled` that have a position.
  SmallVector<Number> settledRead;
  unsigned numPositions = 0;
  ProgramRegion region;
  /// The number of elements of `settledRead`, and of the values that the region
  /// has made.
  size_t sizeRead = 0, sizeMade = 0;
  /// Regions that have been the same in both programs so far, and need not be
  /// evaluated unless that changes.
  std::vector<ProgramRegion> deferred;
};

} // namespace

RegionComparison::RegionComparison(func::FuncOp first, func::FuncOp second,
                                   const InputGenerator &generator,
                                   EvaluationContext &context,
                                   SampleLookup samples, uint64_t seed,
                                   EarlierRounds &earlier, bool mayEndEarly,
                                   bool sharesOutcomes)
    : functions{first, second}, decisions(context.decisions),
      generator(generator), samples(samples), earlier(earlier),
      mayEndEarly(mayEndEarly), skipsShared(earlier.skipsShared),
      memory(generator, context, seed,
             sharesOutcomes ? &earlier.outcomes : nullptr),
      inputs(first.getNumArguments()) {
  for (Side side : {First, Second}) {
    Operation *terminator = functions[side].getBody().front().getTerminator();
    outputs[side].resize(terminator->getNumOperands());
    for (auto [index, output] : llvm::enumerate(terminator->getOperands()))
      outputsOf[side][output].push_back(index);
  }
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Number RegionComparison::find(Number number) {
  while (numbers[number].same != number)
    number = numbers[number].same = numbers[numbers[number].same].same;
  return number;
}

Number RegionComparison::addNumber(ArrayRef<const IndexSample *> samples) {
  Number number = numbers.size();
  NumberInfo &info = numbers.emplace_back();
  info.size = 1;
  for (const IndexSample *sample : samples)
    info.size *= static_cast<size_t>(sample->getCount());
  sizeMade += info.size;
  info.same = number;
  info.position = numPositions++;
  made.push_back(number);
  return number;
}

void RegionComparison::setNumber(Side side, Value value, Number number) {
  numberOf[side][value] = number;
  numbers[number].uses[side] +=
      std::distance(value.use_begin(), value.use_end());
  if (auto known = outputsOf[side].find(value); known != outputsOf[side].end())
    for (unsigned output : known->second)
      addOutput(side, output, number);
}

void RegionComparison::addOutput(Side side, unsigned output, Number number) {
  outputs[side][output] = number;
  if (outputs[First][output] && outputs[Second][output])
    claims.push_back({*outputs[First][output], *outputs[Second][output]});
}

Number RegionComparison::addInput(unsigned argument) {
  Number number = addNumber(samples(functions[First].getArgument(argument)));
  inputs[argument] = number;
  for (Side side : {First, Second})
    setNumber(side, functions[side].getArgument(argument), number);
  ProgramRegion::Step &step = region.steps.emplace_back();
  step.argument = argument;
  step.argumentType =
      InputGenerator::getType(functions[First].getArgumentTypes()[argument]);
  step.samples.push_back(samples(functions[First].getArgument(argument)));
  // Random inputs of one type, placement and sample are interchangeable, but
  // integers have particular values.
  region.key.push_back(0);
  describe(step.argumentType.getAsOpaquePointer());
  for (tp::PlacementAttr placement : generator.getPlacements().getAll(argument))
    describe(placement.getAsOpaquePointer());
  for (const IndexSample *sample : step.samples.front())
    describe(sample);
  region.key.push_back(InputGenerator::isExact(step.argumentType) ? argument + 1
                                                                  : 0);
  return number;
}

Number RegionComparison::getNumber(Side side, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    std::optional<Number> known = inputs[argument.getArgNumber()];
    return find(known ? *known : addInput(argument.getArgNumber()));
  }
  return find(numberOf[side].lookup(value));
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

void RegionComparison::addOp(Side side, Operation *op) {
  SmallVector<Number, 4> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getNumber(side, operand));
  // Outputs are used by the comparison.
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  for (Number operand : operands)
    use(side, operand);
  if (auto call = dyn_cast<tp::CallOp>(op); call && tp::mayHaveEffects(call))
    addReads(side, call);

  unsigned function = earlier.outcomes.getFunction(op);
  Number *known = ops.lookup(function, operands);
  // Results that are no longer available are computed again.
  bool isKnown = known != nullptr;
  for (unsigned index = 0; isKnown && index < op->getNumResults(); ++index)
    isKnown = numbers[find(*known + index)].isLive;
  // Positions along two dims of one size are sampled where each is cut.
  if (isKnown && operands.empty() && op->getNumResults() == 1)
    isKnown = llvm::equal(samplesOf.lookup(*known), samples(op->getResult(0)));
  if (isKnown) {
    auto maker = madeBy.find(*known);
    if (decisions && maker != madeBy.end() && maker->second.first != side)
      decisions->noteShared(maker->second.second, op);
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      setNumber(side, result, find(*known + index));
    return;
  }
  // At each cut, the first program is visited first.
  hasOwnTakes |= side == Second && isa<tp::IndexingOpInterface>(op);
  for (Number operand : operands)
    read(operand);
  ProgramRegion::Step &step = region.steps.emplace_back();
  step.op = op;
  step.isOfSecond = side == Second;
  // In the key, 0 precedes inputs and 1 precedes settled values.
  region.key.push_back(function + 2);
  region.key.push_back(operands.size());
  for (Number operand : operands) {
    step.operands.push_back(*numbers[operand].position);
    region.key.push_back(*numbers[operand].position);
  }
  if (op->getNumResults() > 0)
    ops.note(function, operands, numbers.size());
  if (operands.empty() && op->getNumResults() == 1)
    samplesOf[numbers.size()] = llvm::to_vector<2>(samples(op->getResult(0)));
  if (isa<tp::MapOp, tp::ReduceOp>(op))
    madeBy[numbers.size()] = {side, op};
  for (Value result : op->getResults()) {
    step.samples.push_back(samples(result));
    for (const IndexSample *sample : step.samples.back())
      describe(sample);
  }
  for (Value result : op->getResults())
    setNumber(side, result, addNumber(samples(result)));
}

void RegionComparison::read(Number number) {
  NumberInfo &info = numbers[number];
  if (info.position)
    return;
  info.position = numPositions++;
  sizeRead += info.size;
  settledRead.push_back(number);
  region.steps.emplace_back().settled = number;
  region.key.push_back(1);
}

void RegionComparison::addReads(Side side, tp::CallOp call) {
  auto &own = reads[side].emplace_back();
  // Element types are compared by the static checks.
  for (Value operand : tp::readsTypesAlone(call) ? OperandRange(nullptr, 0)
                                                 : call->getOperands()) {
    own.push_back(getNumber(side, operand));
    // Keep the operands until they are compared.
    ++numbers[own.back()].uses[side];
  }
  size_t index = reads[side].size() - 1;
  if (index >= reads[1 - side].size())
    return;
  const SmallVector<Number> &first = reads[First][index];
  const SmallVector<Number> &second = reads[Second][index];
  if (first.size() != second.size()) {
    haveOtherCalls = true;
    return;
  }
  for (auto [a, b] : llvm::zip_equal(first, second))
    claims.push_back({a, b});
}

bool RegionComparison::settleClaims(bool isClosed) {
  bool hold = true;
  llvm::erase_if(claims, [&](const Claim &claim) {
    if (find(claim.first) != find(claim.second)) {
      hold &= !isClosed;
      return false;
    }
    use(First, claim.first);
    use(Second, claim.second);
    return true;
  });
  return hold;
}

void RegionComparison::forgetPositions() {
  for (Number number : llvm::concat<Number>(settledRead, made))
    numbers[number].position.reset();
  llvm::append_range(settled, made);
  settledRead.clear();
  made.clear();
  numPositions = 0;
  sizeRead = 0;
}

bool RegionComparison::evaluateDeferred() {
  for (ProgramRegion &next : deferred) {
    assert((&next == &deferred.front() || memory.isClosed()) &&
           "deferred behind a cut at which both programs knew the same");
    // The last one is not the same in both programs.
    if (skipsShared && &next != &deferred.back() && memory.isClosed() &&
        memory.skip(next))
      continue;
    if (failed(memory.enter(std::move(next))))
      return false;
  }
  deferred.clear();
  for (auto [later, earlier] : memory.takeEqual()) {
    Number own = find(later), other = find(earlier);
    if (own == other || !numbers[own].isLive || !numbers[other].isLive)
      continue;
    numbers[own].same = other;
    for (Side side : {First, Second})
      numbers[other].uses[side] += std::exchange(numbers[own].uses[side], 0);
  }
  if (!memory.isClosed())
    return true;
  forgetPositions();
  return settleClaims(/*isClosed=*/true);
}

bool RegionComparison::cut() {
  settleClaims(/*isClosed=*/false);
  bool isSame = claims.empty();
  // Reports changes of the readers of a value. Returns true if it has any left.
  auto update = [&](Number number) {
    NumberInfo &info = numbers[number];
    info.readers = info.getReaders();
    info.isLive = info.readers != NoReader;
    isSame &= !info.isLive || info.readers == (FirstReads | SecondReads);
    return info.isLive;
  };
  llvm::erase_if(settled, [&](Number number) {
    Readers before = numbers[number].readers;
    bool isLive = update(number);
    if (numbers[number].readers != before)
      region.changes.push_back({number, numbers[number].readers});
    return !isLive;
  });
  llvm::erase_if(made, [&](Number number) {
    if (!update(number))
      return true;
    const NumberInfo &info = numbers[number];
    region.exits.push_back({number, *info.position, info.readers});
    region.key.push_back(*info.position);
    region.key.push_back(info.readers);
    return false;
  });
  region.key.push_back(made.size());
  deferred.push_back(std::exchange(region, {}));
  sizeMade = 0;
  // If both programs have computed the same so far, there is nothing to show
  // yet, and the cut is closed.
  if (!isSame)
    return evaluateDeferred();
  forgetPositions();
  return true;
}

std::optional<Number> RegionComparison::lookup(unsigned side, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    std::optional<Number> known = inputs[argument.getArgNumber()];
    return known ? std::optional(find(*known)) : std::nullopt;
  }
  auto known = numberOf[side].find(value);
  return known == numberOf[side].end() ? std::nullopt
                                       : std::optional(find(known->second));
}

CutState RegionComparison::getState(ArrayRef<unsigned> numOps) {
  CutState state;
  for (Side side : {First, Second}) {
    Block &body = functions[side].getBody().front();
    auto behind = std::next(body.begin(), numOps[side]);
    auto addIfRead = [&](Value value) {
      std::optional<Number> number = lookup(side, value);
      const EqualityPattern *pattern =
          number ? memory.lookup(*number) : nullptr;
      if (pattern && llvm::any_of(value.getUsers(), [&](Operation *user) {
            return behind != body.end() && !user->isBeforeInBlock(&*behind);
          }))
        state.add(value, *pattern);
    };
    for (BlockArgument argument : body.getArguments())
      addIfRead(argument);
    for (Operation &op : llvm::make_range(body.begin(), behind))
      for (Value result : op.getResults())
        addIfRead(result);
  }
  return state;
}

RegionVerdict RegionComparison::run() {
  RegionVerdict verdict;
  Block::iterator positions[2];
  unsigned indices[2] = {0, 0};
  for (Side side : {First, Second})
    positions[side] = functions[side].getBody().front().begin();
  auto advance = [&](Side side, unsigned end) {
    bool any = indices[side] < end;
    for (; indices[side] < end; ++indices[side])
      addOp(side, &*positions[side]++);
    return any;
  };
  std::vector<CutPoint> cuts =
      findCutPoints(functions[First], functions[Second]);
  auto getSize = [&](Side side) {
    return static_cast<unsigned>(
        functions[side].getBody().front().getOperations().size());
  };
  cuts.push_back({getSize(First), getSize(Second)});
  auto getKnownNumber = [&](unsigned side, Value value) {
    return lookup(side, value);
  };
  size_t numPointsWithIntegers = earlier.numPointsWithIntegers;
  // A few, so that a round takes linear time.
  constexpr size_t mostStates = 4;
  std::vector<std::pair<size_t, CutState>> states;
  bool hasOps = false, endsEarly = false;
  for (const CutPoint &point : cuts) {
    bool any = advance(First, point.first);
    any |= advance(Second, point.second);
    hasOps |= any;
    bool isLast = &point == &cuts.back();
    if (!hasOps || (!isLast && !isWorthCutting()))
      continue;
    hasOps = false;
    bool holds = cut();
    // Not all of these points become cuts, and others in each round.
    size_t numPoints = &point - cuts.data() + 1;
    if (memory.takeReadIntegers())
      earlier.numPointsWithIntegers =
          std::max(earlier.numPointsWithIntegers, numPoints);
    if (!holds || haveOtherCalls) {
      verdict.numEvaluatedOps = memory.getNumEvaluated();
      verdict.culprit = memory.getCulprit();
      return verdict;
    }
    if (isLast || numPoints <= numPointsWithIntegers || !memory.isClosed() ||
        !deferred.empty() || !claims.empty() ||
        reads[First].size() != reads[Second].size() ||
        states.size() == mostStates)
      continue;
    states.emplace_back(numPoints, getState(indices));
    endsEarly =
        mayEndEarly && earlier.states.cover(numPoints, states.back().second) &&
        earlier.discrete.wereKeptApart({indices[First], indices[Second]},
                                       getKnownNumber);
    if (endsEarly)
      break;
  }
  verdict.numEvaluatedOps = memory.getNumEvaluated();
  verdict.mayReadOutside = !memory.hasReadOutside(/*inSecondAlone=*/false) &&
                           (memory.hasReadOutside(/*inSecondAlone=*/true) ||
                            (hasOwnTakes && !deferred.empty()));
  verdict.areEqual =
      claims.empty() && reads[First].size() == reads[Second].size();
  if (verdict.areEqual && !endsEarly) {
    earlier.discrete.note(getKnownNumber);
    for (auto &[point, state] : states)
      earlier.states.note(point, std::move(state));
  }
  return verdict;
}

RegionVerdict equivalence::compareByRegions(
    func::FuncOp first, func::FuncOp second, const InputGenerator &inputs,
    EvaluationContext &context, SampleLookup samples, uint64_t seed,
    EarlierRounds &earlier, bool mayEndEarly, bool sharesOutcomes) {
  // Written values change under all of their names.
  if (writesMemory(first) || writesMemory(second) ||
      first.getArgumentTypes() != second.getArgumentTypes() ||
      first.getNumResults() != second.getNumResults())
    return {};
  // Values that cannot be evaluated are reported by the evaluation of the
  // whole.
  ScopedDiagnosticHandler handler(first.getContext(),
                                  [](Diagnostic &) { return success(); });
  auto compare = [&] {
    return RegionComparison(first, second, inputs, context, samples, seed,
                            earlier, mayEndEarly, sharesOutcomes)
        .run();
  };
  RegionVerdict verdict = compare();
  if (verdict.areEqual || !earlier.skipsShared || context.problem)
    return verdict;
  earlier.skipsShared = false;
  size_t numEvaluatedOps = verdict.numEvaluatedOps;
  verdict = compare();
  verdict.numEvaluatedOps += numEvaluatedOps;
  return verdict;
}
