//===- Verify.cpp - do two programs compute the same? -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Verify.h"

#include "DimSamples.h"
#include "OperatorEffects.h"
#include "RegionComparison.h"
#include "ResolvedPrograms.h"
#include "SignatureChecks.h"
#include "StaticChecks.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/SymbolicSizes.h"
#include "commute/Equivalence/LockstepEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Format.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static StringRef getInputName(func::FuncOp function, unsigned index) {
  auto name =
      function.getArgAttrOfType<StringAttr>(index, tp::TPDialect::nameAttrName);
  return name ? name.getValue() : StringRef();
}

/// Two programs can be compared when they take the same inputs on the same
/// ranks and give as many outputs.
static llvm::Error checkComparable(func::FuncOp first, func::FuncOp second) {
  if (!first || !second)
    return llvm::createStringError("a program is one function with one block");
  if (first.getNumArguments() != second.getNumArguments())
    return llvm::createStringError("the programs take " +
                                   Twine(first.getNumArguments()) + " and " +
                                   Twine(second.getNumArguments()) + " inputs");
  for (unsigned index = 0; index < first.getNumArguments(); ++index) {
    StringRef firstName = getInputName(first, index);
    StringRef secondName = getInputName(second, index);
    if (firstName != secondName && !firstName.empty() && !secondName.empty())
      return llvm::createStringError("input " + Twine(index) + " is '" +
                                     firstName + "' in one program and '" +
                                     secondName + "' in the other");
    if (first.getArgumentTypes()[index] != second.getArgumentTypes()[index])
      return llvm::createStringError("input " + Twine(index) + " ('" +
                                     firstName + "') has different types");
  }
  // Premises that contradict each other would prove anything.
  for (unsigned index = 0; index < first.getNumArguments(); ++index) {
    auto stated = [&](func::FuncOp function) {
      auto placements = function.getArgAttrOfType<DictionaryAttr>(
          index, tp::TPDialect::placementsAttrName);
      return placements ? placements
                        : DictionaryAttr::get(function.getContext());
    };
    for (NamedAttribute entry : stated(second)) {
      auto other = stated(first).getAs<tp::PlacementAttr>(entry.getName());
      auto own = dyn_cast<tp::PlacementAttr>(entry.getValue());
      if (other && own && other != own)
        return llvm::createStringError(
            "input '" + getInputName(first, index) + "' is placed " +
            other.getText() + " on group '" + entry.getName().getValue() +
            "' in one program and " + own.getText() + " in the other");
    }
  }
  if (first.getNumResults() != second.getNumResults())
    return llvm::createStringError("the programs give " +
                                   Twine(first.getNumResults()) + " and " +
                                   Twine(second.getNumResults()) + " outputs");
  return llvm::Error::success();
}

/// What a program computed under the names of its graph: for finding the first
/// place where two programs part.
namespace {
struct NamedValue {
  RankValues values;
  Location location;
};
using NamedValues = llvm::MapVector<StringAttr, NamedValue>;
} // namespace

static void record(Operation *op, ArrayRef<RankValues> results,
                   NamedValues &named) {
  auto names = op->getAttrOfType<ArrayAttr>(tp::TPDialect::namesAttrName);
  if (!names)
    return;
  for (auto [name, values] : llvm::zip(names, results))
    if (auto text = dyn_cast<StringAttr>(name))
      named.insert({text, {values, op->getLoc()}});
}

/// Where two tensors differ: the index in the program. nullopt for equal
/// tensors. Where their samples do not match, the context has a problem.
static std::optional<std::string> findDifference(const FieldValue &a,
                                                 const FieldValue &b,
                                                 EvaluationContext &context) {
  if (a == b)
    return std::nullopt;
  if (a->getSizes() != b->getSizes())
    return "they have other sizes";
  FieldAlgebra algebra(/*rank=*/0, context);
  std::optional<std::pair<FieldValue, FieldValue>> both = algebra.align(a, b);
  if (!both)
    return std::nullopt;
  const FieldTensor &x = *both->first, &y = *both->second;
  for (size_t element = 0; element < x.elements.size(); ++element) {
    if (x.elements[element] == y.elements[element])
      continue;
    SmallVector<int64_t> index(x.getRank());
    size_t position = element;
    for (size_t dim = x.getRank(); dim-- > 0;) {
      SampledDim own = x.getDims()[dim];
      auto count = static_cast<size_t>(own.getCount());
      index[dim] =
          own.isUniform
              ? 0
              : own.sample->getIndex(static_cast<int64_t>(position % count));
      position /= count;
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "at index [";
    llvm::interleaveComma(index, os);
    os << ']';
    return text;
  }
  return std::nullopt;
}

/// The first rank on which two values differ, as "on rank 1 at index [0, 2]".
static std::optional<std::string>
describeDifference(const RankValues &a, const RankValues &b,
                   ArrayRef<int64_t> world, EvaluationContext &context) {
  std::set<std::pair<const FieldTensor *, const FieldTensor *>> compared;
  for (auto [rank, x, y] : llvm::zip_equal(world, a, b)) {
    if (!compared.insert({x.get(), y.get()}).second)
      continue;
    if (std::optional<std::string> where = findDifference(x, y, context))
      return "on rank " + std::to_string(rank) + " " + *where;
  }
  return std::nullopt;
}

/// The earliest value that both programs have under one name and shape, but
/// with other content.
static void addFirstPartition(const NamedValues &first,
                              const NamedValues &second,
                              ArrayRef<int64_t> world,
                              EvaluationContext &context,
                              VerifyResult &result) {
  for (const auto &[name, value] : first) {
    auto other = second.find(name);
    if (other == second.end() || value.values.front()->getSizes() !=
                                     other->second.values.front()->getSizes())
      continue;
    if (std::optional<std::string> where = describeDifference(
            value.values, other->second.values, world, context)) {
      result.differences.push_back(
          {"the programs part at value '" + name.str() + "', " + *where,
           value.location, other->second.location});
      return;
    }
  }
}

/// What the opaque ops of a program read, in the order of execution: they may
/// have effects, whether their results are used or not.
namespace {
struct OpaqueRead {
  tp::CallOp call;
  /// Hashes, by operand and rank.
  SmallVector<SmallVector<uint64_t>> contents;
};
} // namespace

static void recordReads(Operation *op, ArrayRef<RankValues> operands,
                        std::vector<OpaqueRead> &reads) {
  auto call = dyn_cast<tp::CallOp>(op);
  if (!call || !mayHaveEffects(call))
    return;
  OpaqueRead &read = reads.emplace_back(OpaqueRead{call, {}});
  // Element types are compared without running anything.
  if (call.getReadsTypes())
    return;
  for (const RankValues &operand : operands) {
    auto &hashes = read.contents.emplace_back();
    for (const FieldValue &value : operand)
      hashes.push_back(value ? getContentHash(value) : 0);
  }
}

/// The first opaque op that reads other values in the second program.
static void addFirstOtherRead(ArrayRef<OpaqueRead> first,
                              ArrayRef<OpaqueRead> second,
                              ArrayRef<int64_t> world,
                              std::vector<Difference> &differences) {
  for (auto [a, b] : llvm::zip(first, second)) {
    // Other ops in this place are reported by the static checks.
    tp::CallOp aCall = a.call, bCall = b.call;
    if (aCall.getCallee() != bCall.getCallee() ||
        a.contents.size() != b.contents.size())
      return;
    for (auto [index, x, y] : llvm::enumerate(a.contents, b.contents))
      for (auto [rank, p, q] : llvm::zip_equal(world, x, y))
        if (p != q) {
          differences.push_back(
              {("opaque op '" + aCall.getCallee() + "' reads another operand " +
                Twine(index) + " on rank " + Twine(rank))
                   .str(),
               aCall.getLoc(), bCall.getLoc()});
          return;
        }
  }
}

/// How many rounds show, but with probability 2^-30, an outcome of a choice
/// that tells two programs apart.
static constexpr unsigned numRoundsOfChoices = 30;

namespace {

/// Compares two programs at sizes that are numbers.
class Comparison {
public:
  Comparison(func::FuncOp firstMain, func::FuncOp secondMain,
             const analysis::InputPlacements &placements,
             const VerifyOptions &options, const ProofBudget &budget,
             VerifyResult &result)
      : firstMain(firstMain), secondMain(secondMain), placements(placements),
        options(options), budget(budget), result(result) {}

  /// Adds what differs, or what is not proven, to the result.
  llvm::Error run(func::FuncOp resolvedFirst, func::FuncOp resolvedSecond);

private:
  enum class Outcome { Equal, Different, NotProven };

  void chooseSamples(uint64_t seed, bool reducesSizes);
  /// Whether it takes next to nothing to evaluate all indices of all dims.
  bool isCheapWhole() const;
  /// Compares in a model of choices and, where the programs differ in it, in
  /// the others; `choices` becomes the one in which they are equal.
  llvm::Expected<Outcome> compareInModels(uint64_t seed, Choices &choices);
  /// Whether the programs are equal for some random outcomes of all
  /// comparisons.
  llvm::Expected<bool> looksEqual(bool reducesSizes);
  /// Compares on the inputs of one seed.
  llvm::Expected<Outcome> compare(uint64_t seed, Choices choices);
  /// Evaluates both programs whole and adds what differs to `differences`.
  llvm::Expected<Outcome> compareWhole(EvaluationContext &context,
                                       uint64_t seed, Operation *&culprit);
  llvm::Expected<std::vector<RankValues>>
  evaluate(func::FuncOp function, EvaluationContext &context, uint64_t seed,
           Observer observe, Operation *&culprit);
  /// Samples that fit the problem; false where there are none.
  bool refine(const SampleProblem &problem, Operation *culprit);
  void setNotProven(const SampleProblem &problem, Operation *culprit);
  SampleLookup getLookup() const { return lookup; }

  /// As they were given, for what is reported.
  func::FuncOp firstMain, secondMain;
  func::FuncOp first, second;
  const analysis::InputPlacements &placements;
  const VerifyOptions &options;
  const ProofBudget &budget;
  VerifyResult &result;

  IndexSamples samples;
  std::optional<DimSamples> dims;
  std::optional<RankClasses> ranks;
  std::function<ArrayRef<const IndexSample *>(Value)> lookup;
  InputGenerator::Pools pools;
  std::vector<Difference> differences;
  /// Whether an evaluation looked at outcomes that are one of several.
  bool hasSampled = false;
};

} // namespace

llvm::Expected<std::vector<RankValues>>
Comparison::evaluate(func::FuncOp function, EvaluationContext &context,
                     uint64_t seed, Observer observe, Operation *&culprit) {
  result.numEvaluatedOps +=
      function.getBody().front().getOperations().size() - 1;
  InputGenerator generator(placements, *ranks, context, pools);
  std::vector<RankValues> inputs;
  for (BlockArgument argument : function.getArguments()) {
    inputs.push_back(generator.generate(
        argument.getArgNumber(), InputGenerator::getType(argument.getType()),
        lookup(argument), seed));
    if (context.problem)
      return llvm::createStringError(context.problem->message);
  }
  return evaluateOnAllRanks(function, inputs, *ranks, context, lookup, observe,
                            culprit);
}

llvm::Expected<Comparison::Outcome>
Comparison::compareWhole(EvaluationContext &context, uint64_t seed,
                         Operation *&culprit) {
  ArrayRef<int64_t> world = ranks->getRepresentatives();
  std::vector<OpaqueRead> firstReads, secondReads;
  auto firstOutputs = evaluate(
      first, context, seed,
      [&](Operation *op, ArrayRef<RankValues> operands, ArrayRef<RankValues>) {
        recordReads(op, operands, firstReads);
      },
      culprit);
  if (!firstOutputs)
    return firstOutputs.takeError();
  auto secondOutputs = evaluate(
      second, context, seed,
      [&](Operation *op, ArrayRef<RankValues> operands, ArrayRef<RankValues>) {
        recordReads(op, operands, secondReads);
      },
      culprit);
  if (!secondOutputs) {
    if (context.problem)
      return secondOutputs.takeError();
    // The first program shows that it can be done on these inputs.
    differences.push_back({"the second program cannot run: " +
                               llvm::toString(secondOutputs.takeError()),
                           firstMain.getLoc(), secondMain.getLoc()});
    return Outcome::Different;
  }
  addFirstOtherRead(firstReads, secondReads, world, differences);

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
    differences.push_back(
        {"output " + std::to_string(index) + " differs " + *where,
         getOutput(firstMain, index).getLoc(),
         getOutput(secondMain, index).getLoc()});
  }
  if (differs) {
    // Only now values are kept, to say where it begins.
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
    VerifyResult parts;
    addFirstPartition(firstNamed, secondNamed, world, context, parts);
    // That samples do not match there says nothing.
    context.problem.reset();
    llvm::append_range(differences, parts.differences);
  }
  return differences.empty() ? Outcome::Equal : Outcome::Different;
}

bool Comparison::refine(const SampleProblem &problem, Operation *culprit) {
  switch (problem.kind) {
  case SampleProblem::MissingIndices:
    if (auto take = dyn_cast_or_null<tp::TakeOp>(culprit))
      if (dims->addIndices(take.getTable(), take.getDim(), problem.indices))
        return true;
    [[fallthrough]];
  case SampleProblem::Mismatch:
    return culprit && dims->keepWhole(culprit);
  case SampleProblem::Sizes:
  case SampleProblem::TooLarge:
  case SampleProblem::TooLong:
    return false;
  }
  llvm_unreachable("a problem that is not listed");
}

void Comparison::setNotProven(const SampleProblem &problem,
                              Operation *culprit) {
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (problem.kind) {
  case SampleProblem::TooLarge:
    os << "the proof would need more memory than " << (options.maxBytes >> 20)
       << " MiB (--proof-memory)";
    if (!problem.message.empty())
      os << ": " << problem.message;
    break;
  case SampleProblem::TooLong:
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
    os << ", at " << culprit->getLoc();
  // What the memory and the time go to.
  std::vector<DimSamples::Line> lines = dims->describe();
  auto largest = llvm::max_element(
      lines, [](const auto &a, const auto &b) { return a.count < b.count; });
  if (largest != lines.end() && largest->count > 64)
    os << "; of a dim of size " << largest->size << ", " << largest->count
       << " indices are evaluated: " << getText(largest->reason);
  result.notProven = std::move(text);
}

llvm::Expected<Comparison::Outcome> Comparison::compare(uint64_t seed,
                                                        Choices choices) {
  // Each attempt is made with samples that fit the problem of the one before;
  // in the end all dims are whole.
  for (int attempt = 0;; ++attempt) {
    EvaluationContext context(samples, options.precision, choices, seed,
                              budget);
    context.scalars.setPool(dims->getPool());
    differences.clear();
    Operation *culprit = nullptr;
    if (options.usesRegions) {
      InputGenerator inputs(placements, *ranks, context, pools);
      RegionVerdict verdict = compareByRegions(
          first, second, placements, inputs, *ranks, context, lookup, seed);
      result.numEvaluatedOps += verdict.numEvaluatedOps;
      hasSampled |= context.scalars.hasSampled();
      if (verdict.areEqual)
        return Outcome::Equal;
      culprit = verdict.culprit;
    }
    if (!context.problem) {
      culprit = nullptr;
      llvm::Expected<Outcome> outcome = compareWhole(context, seed, culprit);
      hasSampled |= context.scalars.hasSampled();
      if (outcome || !context.problem)
        return outcome;
      llvm::consumeError(outcome.takeError());
    }
    constexpr int maxAttempts = 64;
    if (attempt == maxAttempts || !refine(*context.problem, culprit)) {
      setNotProven(*context.problem, culprit);
      return Outcome::NotProven;
    }
    dims->choose();
  }
}

/// Rounds of programs that compute with integers from outside, each on other
/// ones: more of small programs, of which a number may be all there is.
static unsigned getRoundsOfIntegers(size_t numOps) {
  return static_cast<unsigned>(std::clamp<size_t>(8000 / (numOps + 1), 8, 64));
}

/// Whether what a program computes depends on integers that are drawn from a
/// few.
static bool drawsIntegers(func::FuncOp function) {
  auto isDrawn = [](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    // What opaque ops make of integers does not depend on which they are.
    return type && InputGenerator::isExact(type) &&
           llvm::any_of(value.getUsers(), [](Operation *user) {
             return !isa<tp::CallOp>(user) &&
                    !user->hasTrait<OpTrait::IsTerminator>();
           });
  };
  if (llvm::any_of(function.getArguments(), isDrawn))
    return true;
  return llvm::any_of(function.getOps<tp::CallOp>(), [&](tp::CallOp call) {
    return llvm::any_of(call.getOutputs(), isDrawn);
  });
}

static bool computesPositions(func::FuncOp function) {
  return llvm::any_of(function.getBody().front(), [](Operation &op) {
    return isa<tp::IotaOp, tp::TriangularOp>(op);
  });
}

void Comparison::chooseSamples(uint64_t seed, bool reducesSizes) {
  auto start = std::clock();
  dims.emplace(first, second, samples, seed, reducesSizes);
  dims->choose();
  ranks = reducesSizes
              ? RankClasses::find(first, second, placements.getWorld(), seed)
              : RankClasses(placements.getWorld());
  result.numEvaluatedRanks = ranks->getRepresentatives().size();
  result.secondsForSizes +=
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

bool Comparison::isCheapWhole() const {
  // Elements of all values on all ranks, and multiplications.
  constexpr double maxWork = 2e7;
  double work = 0;
  auto getCount = [](Value value) {
    double count = 1;
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      for (int64_t size : type.getShape())
        count *= static_cast<double>(size);
    return count;
  };
  for (func::FuncOp function : {first, second})
    for (Operation &op : function.getBody().front()) {
      for (Value result : op.getResults())
        work += getCount(result);
      if (auto product = dyn_cast<tp::MatmulOp>(op)) {
        auto lhs = cast<RankedTensorType>(product.getLhs().getType());
        work += getCount(product.getResult()) *
                static_cast<double>(lhs.getShape().back());
      } else if (auto attention = dyn_cast<tp::AttentionOp>(op)) {
        auto key = cast<RankedTensorType>(attention.getKey().getType());
        work += getCount(attention.getResult()) *
                static_cast<double>(key.getDimSize(key.getRank() - 2));
      }
    }
  return work * static_cast<double>(placements.getWorld().size()) < maxWork;
}

llvm::Expected<Comparison::Outcome>
Comparison::compareInModels(uint64_t seed, Choices &choices) {
  llvm::Expected<Outcome> outcome = compare(seed, choices);
  if (!outcome || *outcome != Outcome::Different)
    return outcome;
  // Equal, perhaps, in another model of bounds.
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
  }
  result.notProven.reset();
  differences = std::move(found);
  return Outcome::Different;
}

llvm::Expected<bool> Comparison::looksEqual(bool reducesSizes) {
  for (unsigned round = 0; round < numRoundsOfChoices; ++round) {
    chooseSamples(options.seed + round, reducesSizes);
    llvm::Expected<Outcome> outcome =
        compare(options.seed + round, Choices::Sampled);
    if (!outcome)
      return outcome.takeError();
    if (*outcome != Outcome::Equal)
      return false;
  }
  return true;
}

llvm::Error Comparison::run(func::FuncOp resolvedFirst,
                            func::FuncOp resolvedSecond) {
  first = resolvedFirst;
  second = resolvedSecond;
  lookup = [this](Value value) { return dims->get(value); };
  pools = [this](unsigned argument) { return dims->getPool(argument); };
  auto start = std::clock();
  unsigned numRounds = 1;
  for (func::FuncOp function : {first, second}) {
    if (computesPositions(function))
      numRounds = std::max(numRounds, 2u);
    if (drawsIntegers(function))
      numRounds = std::max(numRounds, getRoundsOfIntegers(result.numOps));
  }
  Choices choices = Choices::Symbolic;
  bool reducesSizes = options.reducesSizes;
  for (unsigned round = 0; round < numRounds; ++round) {
    uint64_t seed = options.seed + round;
    // Other indices in each round.
    chooseSamples(seed, reducesSizes);
    llvm::Expected<Outcome> outcome = compareInModels(seed, choices);
    if (!outcome)
      return outcome.takeError();
    if (*outcome == Outcome::Different && reducesSizes && isCheapWhole()) {
      // Equal, perhaps, by a law that sums of samples do not have, such as that
      // a sum over rotated rows is the sum over the rows.
      std::vector<Difference> sampled = std::move(differences);
      chooseSamples(seed, /*reducesSizes=*/false);
      outcome = compareInModels(seed, choices);
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
    if (*outcome == Outcome::Different) {
      // By a law of truth values, perhaps, that unknown numbers do not have.
      std::vector<Difference> found = differences;
      llvm::Expected<bool> isLaw = looksEqual(reducesSizes);
      if (!isLaw)
        return isLaw.takeError();
      differences = std::move(found);
      result.notProven.reset();
      if (*isLaw) {
        result.notProven =
            "the programs are equal for " + std::to_string(numRoundsOfChoices) +
            " random outcomes of their comparisons, but not as functions of "
            "unknown truth values: either a law of truth values makes them "
            "equal, or an outcome that was not drawn tells them apart";
        outcome = Outcome::NotProven;
      }
    }
    if (*outcome == Outcome::Equal && hasSampled)
      numRounds = std::max(numRounds, numRoundsOfChoices);
    ++result.numRounds;
    if (*outcome == Outcome::NotProven)
      break;
    if (*outcome == Outcome::Different) {
      result.differences.insert(result.differences.end(), differences.begin(),
                                differences.end());
      break;
    }
  }
  if (result.isEquivalent() && hasSampled)
    result.notes.push_back("truth values decide about integers, or a law of "
                           "truth values or maxima "
                           "is used: " +
                           std::to_string(result.numRounds) +
                           " outcomes were drawn at random, so that a "
                           "difference that half of them "
                           "show is missed with probability 2^-" +
                           std::to_string(result.numRounds));
  for (const DimSamples::Line &line : dims->describe())
    result.extents.push_back({line.size, line.count, getText(line.reason).str(),
                              line.value.getLoc(), line.dim});
  result.secondsEvaluating +=
      static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return llvm::Error::success();
}

llvm::Expected<VerifyResult>
equivalence::verifyEquivalence(ModuleOp first, ModuleOp second,
                               const VerifyOptions &options) {
  VerifyResult result;
  ProofBudget budget;
  budget.seconds = options.maxSeconds;
  budget.bytes = options.maxBytes;
  func::FuncOp firstMain = analysis::getMain(first);
  func::FuncOp secondMain = analysis::getMain(second);
  if (llvm::Error error = checkComparable(firstMain, secondMain))
    return std::move(error);
  // From contradictory placements, any two programs would be proven equal.
  llvm::Expected<analysis::InputPlacements> placements =
      analysis::InputPlacements::resolve(firstMain);
  if (!placements)
    return placements.takeError();
  llvm::Expected<analysis::InputPlacements> secondPlacements =
      analysis::InputPlacements::resolve(secondMain);
  if (!secondPlacements)
    return secondPlacements.takeError();
  if (placements->getWorld() != secondPlacements->getWorld())
    return llvm::createStringError("the programs run on different ranks: " +
                                   Twine(placements->getWorld().size()) +
                                   " and " +
                                   Twine(secondPlacements->getWorld().size()));
  llvm::Expected<analysis::SymbolicSizes> sizes =
      analysis::SymbolicSizes::resolve(first);
  if (!sizes)
    return sizes.takeError();
  llvm::Expected<analysis::SymbolicSizes> secondSizes =
      analysis::SymbolicSizes::resolve(second);
  if (!secondSizes)
    return secondSizes.takeError();
  result.assumptions = placements->getAssumptions().vec();
  for (const tp::SizeAssumption &assumption : sizes->getAssumptions())
    result.assumptions.push_back("of sizes: " + assumption.text);
  result.numRanks = placements->getWorld().size();
  checkStatically(firstMain, secondMain, result);
  checkSignatures(firstMain, secondMain, result);
  for (func::FuncOp function : {firstMain, secondMain})
    result.numOps += function.getBody().front().getOperations().size() - 1;

  // Symbols have their values at capture, then others, so that a number that
  // stands beside a symbol is told from it.
  bool isSymbolic = hasSymbols(first) || hasSymbols(second);
  std::map<std::string, std::string> valuesOf;
  for (int64_t factor : {1, 3}) {
    if (factor > 1 && (!isSymbolic || !result.isEquivalent()))
      break;
    std::map<std::string, int64_t> values;
    auto getValue = [&](StringRef symbol) {
      // Both programs are looked at with the same sizes.
      const analysis::SymbolicSizes &known =
          sizes->knows(symbol) ? *sizes : *secondSizes;
      int64_t value = known.getExample(symbol), start;
      if (factor > 1 && !llvm::MulOverflow(value, factor, start))
        value = known.getValueFrom(symbol, start).value_or(value);
      return values[symbol.str()] = value;
    };
    auto resolvedFirst = resolveSizes(first, getValue);
    if (!resolvedFirst) {
      if (factor == 1)
        return resolvedFirst.takeError();
      // Sizes that the program is not meant for.
      llvm::consumeError(resolvedFirst.takeError());
      break;
    }
    auto resolvedSecond = resolveSizes(second, getValue);
    if (!resolvedSecond) {
      result.differences.push_back(
          {"the second program does not fit the sizes of the first: " +
               llvm::toString(resolvedSecond.takeError()),
           firstMain.getLoc(), secondMain.getLoc()});
      break;
    }
    if (factor > 1 && values.empty())
      break;
    Comparison comparison(firstMain, secondMain, *placements, options, budget,
                          result);
    if (llvm::Error error = comparison.run(analysis::getMain(**resolvedFirst),
                                           analysis::getMain(**resolvedSecond)))
      return std::move(error);
    for (auto &[symbol, value] : values) {
      std::string &text = valuesOf[symbol];
      if (!text.empty())
        text += " and ";
      text += std::to_string(value);
    }
  }
  if (!valuesOf.empty()) {
    std::string text = "sizes were ";
    llvm::raw_string_ostream os(text);
    llvm::interleaveComma(valuesOf, os, [&](const auto &entry) {
      os << entry.first << " = " << entry.second;
    });
    result.notes.push_back(text + ": other sizes were not evaluated");
  }
  return result;
}
