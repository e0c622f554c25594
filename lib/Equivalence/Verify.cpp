//===- Verify.cpp - do two programs compute the same? -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Verify.h"

#include "RegionComparison.h"
#include "SignatureChecks.h"
#include "StaticChecks.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/SymbolicSizes.h"
#include "commute/Equivalence/LockstepEvaluator.h"
#include "commute/Equivalence/SizeReduction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <ctime>

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

/// The index of the first element that differs; nullopt for equal tensors.
static std::optional<size_t> findDifference(const FieldTensor &a,
                                            const FieldTensor &b) {
  if (a.getSizes() != b.getSizes())
    return 0;
  for (size_t index = 0; index < a.elements.size(); ++index)
    if (a.elements[index] != b.elements[index])
      return index;
  return std::nullopt;
}

static std::string formatIndex(ArrayRef<int64_t> sizes, size_t position) {
  SmallVector<int64_t> index(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 0;) {
    index[dim] = position % sizes[dim];
    position /= sizes[dim];
  }
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(index, os);
  os << ']';
  return text;
}

/// The first rank on which two values differ, as "on rank 1 at index [0, 2]".
static std::optional<std::string> describeDifference(const RankValues &a,
                                                     const RankValues &b,
                                                     ArrayRef<int64_t> world,
                                                     bool isReduced) {
  for (auto [rank, x, y] : llvm::zip_equal(world, a, b)) {
    if (x->getSizes() != y->getSizes())
      return "on rank " + std::to_string(rank) + ": they have other sizes";
    if (std::optional<size_t> position = findDifference(*x, *y))
      return "on rank " + std::to_string(rank) + " at index " +
             formatIndex(x->getSizes(), *position) +
             (isReduced ? " (of the reduced program)" : "");
  }
  return std::nullopt;
}

/// The earliest value that both programs have under one name and shape, but
/// with other content.
static void addFirstPartition(const NamedValues &first,
                              const NamedValues &second,
                              ArrayRef<int64_t> world, bool isReduced,
                              VerifyResult &result) {
  for (const auto &[name, value] : first) {
    auto other = second.find(name);
    if (other == second.end() || value.values.front()->getSizes() !=
                                     other->second.values.front()->getSizes())
      continue;
    if (std::optional<std::string> where = describeDifference(
            value.values, other->second.values, world, isReduced)) {
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
  if (!call)
    return;
  OpaqueRead &read = reads.emplace_back(OpaqueRead{call, {}});
  // Element types are compared without running anything.
  if (call.getReadsTypes())
    return;
  for (const RankValues &operand : operands) {
    auto &hashes = read.contents.emplace_back();
    for (const FieldValue &value : operand)
      hashes.push_back(value ? getContentHash(*value) : 0);
  }
}

/// The first opaque op that reads other values in the second program.
static void addFirstOtherRead(ArrayRef<OpaqueRead> first,
                              ArrayRef<OpaqueRead> second,
                              ArrayRef<int64_t> world, VerifyResult &result) {
  for (auto [a, b] : llvm::zip(first, second)) {
    // Other ops in this place are reported by the static checks.
    tp::CallOp aCall = a.call, bCall = b.call;
    if (aCall.getCallee() != bCall.getCallee() ||
        a.contents.size() != b.contents.size())
      return;
    for (auto [index, x, y] : llvm::enumerate(a.contents, b.contents))
      for (auto [rank, p, q] : llvm::zip_equal(world, x, y))
        if (p != q) {
          result.differences.push_back(
              {("opaque op '" + aCall.getCallee() + "' reads another operand " +
                Twine(index) + " on rank " + Twine(rank))
                   .str(),
               aCall.getLoc(), bCall.getLoc()});
          return;
        }
  }
}

/// What both programs are evaluated on.
namespace {
struct Comparison {
  /// As they were given, for what is reported.
  func::FuncOp firstMain, secondMain;
  /// Of reduced sizes.
  func::FuncOp first, second;
  const analysis::InputPlacements &placements;
  Precision precision;
  VerifyResult &result;
};
} // namespace

/// Evaluates both programs whole and adds what differs.
static llvm::Error compareWhole(Comparison &comparison, uint64_t seed) {
  VerifyResult &result = comparison.result;
  ArrayRef<int64_t> world = comparison.placements.getWorld();
  InputGenerator generator(comparison.placements, seed);
  std::vector<RankValues> inputs;
  for (BlockArgument argument : comparison.first.getArguments())
    inputs.push_back(generator.generate(
        argument.getArgNumber(), InputGenerator::getType(argument.getType())));
  auto evaluate = [&](func::FuncOp function, Observer observe) {
    result.numEvaluatedOps +=
        function.getBody().front().getOperations().size() - 1;
    return evaluateOnAllRanks(function, inputs, world, comparison.precision,
                              observe);
  };
  std::vector<OpaqueRead> firstReads, secondReads;
  auto firstOutputs = evaluate(
      comparison.first,
      [&](Operation *op, ArrayRef<RankValues> operands, ArrayRef<RankValues>) {
        recordReads(op, operands, firstReads);
      });
  if (!firstOutputs)
    return firstOutputs.takeError();
  auto secondOutputs = evaluate(
      comparison.second,
      [&](Operation *op, ArrayRef<RankValues> operands, ArrayRef<RankValues>) {
        recordReads(op, operands, secondReads);
      });
  if (!secondOutputs) {
    // The first program shows that it can be done on these inputs.
    result.differences.push_back({"the second program cannot run: " +
                                      llvm::toString(secondOutputs.takeError()),
                                  comparison.firstMain.getLoc(),
                                  comparison.secondMain.getLoc()});
    return llvm::Error::success();
  }
  addFirstOtherRead(firstReads, secondReads, world, result);

  bool isReduced = result.elementsAfter < result.elementsBefore;
  bool differs = false;
  for (auto [index, a, b] : llvm::enumerate(*firstOutputs, *secondOutputs)) {
    std::optional<std::string> where =
        describeDifference(a, b, world, isReduced);
    if (!where)
      continue;
    differs = true;
    auto getLocation = [index = index](func::FuncOp function) {
      return function.getBody()
          .front()
          .getTerminator()
          ->getOperand(index)
          .getLoc();
    };
    result.differences.push_back(
        {"output " + std::to_string(index) + " differs " + *where,
         getLocation(comparison.firstMain),
         getLocation(comparison.secondMain)});
  }
  if (!differs)
    return llvm::Error::success();
  // Only now values are kept, to say where it begins.
  NamedValues firstNamed, secondNamed;
  auto again =
      evaluate(comparison.first, [&](Operation *op, ArrayRef<RankValues>,
                                     ArrayRef<RankValues> results) {
        record(op, results, firstNamed);
      });
  if (!again)
    return again.takeError();
  again = evaluate(comparison.second, [&](Operation *op, ArrayRef<RankValues>,
                                          ArrayRef<RankValues> results) {
    record(op, results, secondNamed);
  });
  if (!again)
    return again.takeError();
  addFirstPartition(firstNamed, secondNamed, world, isReduced, result);
  return llvm::Error::success();
}

/// Integers of an input are small, so that two different ones may be equal by
/// chance: such programs are compared several times.
static unsigned getNumRounds(func::FuncOp function) {
  bool readsIntegers = llvm::any_of(function.getArguments(), [](Value value) {
    return isa<IntegerType>(
        InputGenerator::getType(value.getType()).getElementType());
  });
  return readsIntegers ? 3 : 1;
}

llvm::Expected<VerifyResult>
equivalence::verifyEquivalence(ModuleOp first, ModuleOp second,
                               const VerifyOptions &options) {
  VerifyResult result;
  func::FuncOp firstMain = analysis::getMain(first);
  func::FuncOp secondMain = analysis::getMain(second);
  if (llvm::Error error = checkComparable(firstMain, secondMain))
    return std::move(error);
  // Placements are premises: contradictory ones would prove anything.
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

  auto getSeconds = [start = std::clock()] {
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  llvm::Expected<ReducedPrograms> reduced = reduceSizes(
      first, second,
      [&](StringRef symbol) {
        // Both programs are looked at with the same sizes.
        return (sizes->knows(symbol) ? *sizes : *secondSizes)
            .getExample(symbol);
      },
      options.reducesSizes);
  if (!reduced)
    return reduced.takeError();
  result.secondsForSizes = getSeconds();
  result.elementsBefore = reduced->elementsBefore;
  result.elementsAfter = reduced->elementsAfter;
  Comparison comparison{firstMain,
                        secondMain,
                        analysis::getMain(*reduced->first),
                        analysis::getMain(*reduced->second),
                        *placements,
                        options.precision,
                        result};
  for (func::FuncOp function : {comparison.first, comparison.second})
    result.numOps += function.getBody().front().getOperations().size() - 1;
  unsigned numRounds = getNumRounds(comparison.first);
  for (unsigned round = 0; round < numRounds; ++round) {
    uint64_t seed = options.seed + round;
    if (options.usesRegions) {
      RegionVerdict verdict =
          compareByRegions(comparison.first, comparison.second, *placements,
                           options.precision, seed);
      result.numEvaluatedOps += verdict.numEvaluatedOps;
      if (verdict.areEqual)
        continue;
    }
    if (llvm::Error error = compareWhole(comparison, seed))
      return std::move(error);
    if (!result.isEquivalent())
      break;
  }
  result.secondsEvaluating = getSeconds() - result.secondsForSizes;
  return result;
}
