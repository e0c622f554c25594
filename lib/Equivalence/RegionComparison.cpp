//===- RegionComparison.cpp - two programs, region by region ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RegionComparison.h"

#include "CutPoints.h"
#include "OpNumbering.h"
#include "OperatorEffects.h"
#include "RegionMemory.h"

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
                   SampleLookup samples, uint64_t seed);

  RegionVerdict run();

private:
  struct NumberInfo {
    /// The number that it was found to be equal to.
    Number same;
    /// Reads that are still to come, and results that wait for their
    /// counterpart, by program.
    unsigned uses[2] = {0, 0};
    bool isLive = true;
    /// Who read it at the last cut.
    Readers readers = NoReader;
    /// Among the values made or read since the last closed cut.
    std::optional<unsigned> position;
    /// How many elements of it are evaluated on a rank.
    size_t size = 0;

    Readers getReaders() const {
      return equivalence::getReaders(uses[First] > 0, uses[Second] > 0);
    }
  };
  /// Values that have to be equal.
  struct Claim {
    Number first, second;
  };

  Number find(Number number);
  /// For a value at these samples.
  Number addNumber(ArrayRef<const IndexSample *> samples);
  /// The number of a value of a program; an input gets one when it is read.
  Number getNumber(Side side, Value value);
  Number addInput(unsigned argument);
  void setNumber(Side side, Value value, Number number);
  void addOp(Side side, Operation *op);
  void addReads(Side side, tp::CallOp call);
  /// Makes a value of before the last closed cut known to the region.
  void read(Number number);
  /// Adds a number for what is at an address to the key of the region.
  void describe(const void *what) {
    region.key.push_back(
        describedBy.try_emplace(what, describedBy.size()).first->second);
  }
  /// Notes that a program has come by an output.
  void addOutput(Side side, unsigned output, Number number);
  void use(Side side, Number number) { --numbers[find(number)].uses[side]; }

  /// Drops the claims that hold; false where one certainly does not, which is
  /// known only where both programs know the same.
  bool settleClaims(bool isClosed);
  /// Ends the region here. False: the programs cannot be shown to be equal.
  bool cut();
  /// Whether what a region begins with is small beside what it makes, so that
  /// it does not matter how often the programs are cut. Otherwise many short
  /// regions that read one large value take longer than the programs as a
  /// whole.
  bool isWorthCutting() const {
    constexpr size_t share = 8, small = 4096;
    return sizeRead <= share * sizeMade + small;
  }
  /// Evaluates what was deferred; false where that fails.
  bool evaluateDeferred();
  /// At a closed cut: names nothing by its position any more.
  void forgetPositions();

  func::FuncOp functions[2];
  const InputGenerator &generator;
  SampleLookup samples;
  RegionMemory memory;
  OpNumbering ops;
  /// Numbers of input descriptions, which stand in the keys of regions.
  DenseMap<const void *, unsigned> describedBy;

  std::vector<NumberInfo> numbers;
  DenseMap<Value, Number> numberOf[2];
  /// By argument, once it is read.
  std::vector<std::optional<Number>> inputs;
  std::vector<Claim> claims;
  /// By value: the outputs that it is; by output: its number, once computed.
  DenseMap<Value, SmallVector<unsigned, 1>> outputsOf[2];
  std::vector<std::optional<Number>> outputs[2];
  /// What each opaque op reads, until the other program's op has read too.
  std::vector<SmallVector<Number>> reads[2];
  bool haveOtherCalls = false;
  bool hasOwnTakes = false;

  /// What is live of before the last closed cut, and what was made since.
  SmallVector<Number> settled;
  SmallVector<Number> made;
  /// Of `settled`: what has a position.
  SmallVector<Number> settledRead;
  unsigned numPositions = 0;
  ProgramRegion region;
  /// Elements of `settledRead`, and of what the region has made.
  size_t sizeRead = 0, sizeMade = 0;
  /// Regions that are the same in both programs so far, and need not be
  /// evaluated as long as that holds.
  std::vector<ProgramRegion> deferred;
};

} // namespace

RegionComparison::RegionComparison(func::FuncOp first, func::FuncOp second,
                                   const InputGenerator &generator,
                                   EvaluationContext &context,
                                   SampleLookup samples, uint64_t seed)
    : functions{first, second}, generator(generator), samples(samples),
      memory(generator, context, seed), inputs(first.getNumArguments()) {
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
  // Random inputs of one type, placement and sample are as good as one another,
  // but integers are what they are.
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
  // Outputs are used where they are compared.
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  for (Number operand : operands)
    use(side, operand);
  if (auto call = dyn_cast<tp::CallOp>(op); call && mayHaveEffects(call))
    addReads(side, call);

  unsigned function = ops.getFunction(op);
  Number *known = ops.lookup(function, operands);
  // Results of which one is not at hand any more are made again.
  bool isKnown = known != nullptr;
  for (unsigned index = 0; isKnown && index < op->getNumResults(); ++index)
    isKnown = numbers[find(*known + index)].isLive;
  if (isKnown) {
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      setNumber(side, result, find(*known + index));
    return;
  }
  // The first program comes first to each cut.
  hasOwnTakes |= side == Second && isa<tp::IndexingOpInterface>(op);
  for (Number operand : operands)
    read(operand);
  ProgramRegion::Step &step = region.steps.emplace_back();
  step.op = op;
  // 0 stands in front of inputs, 1 in front of settled values.
  region.key.push_back(function + 2);
  region.key.push_back(operands.size());
  for (Number operand : operands) {
    step.operands.push_back(*numbers[operand].position);
    region.key.push_back(*numbers[operand].position);
  }
  if (op->getNumResults() > 0)
    ops.note(function, operands, numbers.size());
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
  // Element types are compared without running anything.
  for (Value operand :
       readsTypesAlone(call) ? OperandRange(nullptr, 0) : call->getOperands()) {
    own.push_back(getNumber(side, operand));
    // They stay until they are compared.
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
  // Says what has become of the readers; true for what has some.
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
  // Where both programs have done the same, there is nothing to show yet: the
  // cut is closed.
  if (!isSame)
    return evaluateDeferred();
  forgetPositions();
  return true;
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
  bool hasOps = false;
  for (const CutPoint &point : cuts) {
    bool any = advance(First, point.first);
    any |= advance(Second, point.second);
    hasOps |= any;
    bool isLast = &point == &cuts.back();
    if (!hasOps || (!isLast && !isWorthCutting()))
      continue;
    hasOps = false;
    if (!cut() || haveOtherCalls) {
      verdict.numEvaluatedOps = memory.getNumEvaluated();
      verdict.culprit = memory.getCulprit();
      return verdict;
    }
  }
  verdict.numEvaluatedOps = memory.getNumEvaluated();
  verdict.mayReadOutside = hasOwnTakes && !deferred.empty();
  verdict.areEqual =
      claims.empty() && reads[First].size() == reads[Second].size();
  return verdict;
}

static bool writesToMemory(func::FuncOp function) {
  return llvm::any_of(function.getOps<tp::CallOp>(), [](tp::CallOp call) {
    return !call.getMutatedOperands().empty();
  });
}

RegionVerdict equivalence::compareByRegions(
    func::FuncOp first, func::FuncOp second, const InputGenerator &inputs,
    EvaluationContext &context, SampleLookup samples, uint64_t seed) {
  // What is written to changes under the names that it has.
  if (writesToMemory(first) || writesToMemory(second) ||
      first.getArgumentTypes() != second.getArgumentTypes() ||
      first.getNumResults() != second.getNumResults())
    return {};
  // What cannot be evaluated is reported by who evaluates everything.
  ScopedDiagnosticHandler handler(first.getContext(),
                                  [](Diagnostic &) { return success(); });
  return RegionComparison(first, second, inputs, context, samples, seed).run();
}
