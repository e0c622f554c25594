//===- Verify.cpp - do two programs compute the same? -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Equivalence/Verify.h"

#include "IntegerProof.h"
#include "OverwrittenMemory.h"
#include "ProgramComparison.h"
#include "SharedRegions.h"
#include "SignatureChecks.h"
#include "StaticChecks.h"
#include "ThresholdNumbers.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Equivalence/ArrivalChecks.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"

#include <array>
#include <ctime>
#include <map>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

static StringRef getInputName(func::FuncOp function, unsigned index) {
  auto name =
      function.getArgAttrOfType<StringAttr>(index, tp::TPDialect::nameAttrName);
  return name ? name.getValue() : StringRef();
}

/// Two programs can be compared if they take the same inputs on the same ranks
/// and return the same number of outputs.
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
  // Reject contradictory placements: from a contradiction, any two programs
  // would be proven equal.
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

void VerifyResult::dropUndecided() {
  auto first = llvm::find_if(
      differences, [](const Difference &own) { return own.cause.has_value(); });
  if (first == differences.end())
    return;
  Undecided cause = *first->cause;
  llvm::erase_if(differences,
                 [](const Difference &own) { return own.cause.has_value(); });
  // Where values part says nothing if no other difference is left, and other
  // layouts say nothing about values.
  bool isProven = llvm::any_of(differences, [](const Difference &own) {
    return !own.isPlace && !own.isLayout;
  });
  if (isProven)
    return;
  differences.clear();
  notProven = cause.reason;
  undecided = std::move(cause);
}

bool VerifyResult::hasEqualValues() const {
  return !notProven && llvm::all_of(differences, [](const Difference &own) {
    return own.isLayout;
  });
}

Verdict VerifyResult::getVerdict() const {
  if (isEquivalent())
    return Verdict::Equivalent;
  if (hasEqualValues())
    return Verdict::OtherLayout;
  // A budget that ran out leaves the values of other layouts open.
  bool hasOthers = llvm::any_of(
      differences, [](const Difference &own) { return !own.isLayout; });
  return hasOthers ? Verdict::Different : Verdict::NotProven;
}

/// Returns the largest number that a program compares something with, if a
/// size can be larger.
static int64_t findLargestNumber(func::FuncOp function) {
  constexpr double largestSize = 1 << 24;
  double largest = 0;
  for (auto map : function.getOps<tp::MapOp>()) {
    if (!tp::getComparison(map.getFunction()))
      continue;
    for (Value operand : map.getOperands())
      if (std::optional<double> number = getUniformNumber(operand);
          number && *number <= largestSize)
        largest = std::max(largest, *number);
  }
  return static_cast<int64_t>(largest);
}

namespace {

/// The values of symbolic sizes at which programs are compared: first those at
/// capture, then others, so that a number that equals a symbol by chance is
/// distinguished from it.
class SizeSeries {
public:
  /// `ofValues` names the sizes that the programs determine from values.
  SizeSeries(const analysis::SymbolicSizes &first,
             const analysis::SymbolicSizes &second,
             llvm::SetVector<StringAttr> ofValues,
             std::array<func::FuncOp, 2> functions)
      : first(first), second(second), ofValues(std::move(ofValues)),
        functions(functions) {
    for (func::FuncOp function : functions)
      largestNumber = std::max(largestNumber, findLargestNumber(function));
  }

  /// Sets of other values to try, because a program may not run at all sizes
  /// that its constraints allow.
  static constexpr unsigned numOthers = 4;
  /// The attempt with sizes beyond the numbers that the programs compare
  /// integers with, which may be compared with sizes and positions.
  static constexpr unsigned beyond = numOthers + 1;

  void begin(unsigned newAttempt) {
    attempt = newAttempt;
    values.clear();
  }
  /// Uses the smallest sizes that are allowed in place of those at capture: a
  /// product of many symbols whose values nobody states may exceed 64 bits.
  void startWithSmallest() { startsWithSmallest = true; }
  int64_t getValue(StringRef symbol);
  /// Returns true if the requested values are those of an earlier attempt.
  bool isKnown() const { return llvm::is_contained(tried, values); }
  void noteCompared();
  bool hasSymbols() const { return !compared.empty(); }
  unsigned getNumCompared() const { return numCompared; }
  /// Returns true if some number of the programs is at least as large as all
  /// sizes that were compared.
  bool hasLargerNumber() const { return largestNumber >= largestSize; }
  /// Describes the sizes for which a verdict holds; empty for programs without
  /// symbols.
  std::string describe() const;

private:
  using Values = std::map<std::string, int64_t>;

  /// The first candidate for another value.
  int64_t getStart(int64_t value) const;

  const analysis::SymbolicSizes &first, &second;
  llvm::SetVector<StringAttr> ofValues;
  std::array<func::FuncOp, 2> functions;
  unsigned attempt = 0;
  bool startsWithSmallest = false;
  Values values;
  std::vector<Values> tried;
  unsigned numCompared = 0;
  int64_t largestNumber = 0, largestSize = 0;
  std::map<std::string, std::string> compared;
};

} // namespace

int64_t SizeSeries::getStart(int64_t value) const {
  int64_t start = value;
  switch (attempt) {
  case 1:
    return llvm::MulOverflow(value, int64_t(3), start) ? value : start;
  case 2:
    return llvm::MulOverflow(value, int64_t(2), start) ? value : start;
  case 3:
    return llvm::AddOverflow(value, int64_t(1), start) ? value : start;
  case numOthers:
    return value / 2;
  case beyond:
    return std::max(value, largestNumber + 2);
  default:
    return value;
  }
}

int64_t SizeSeries::getValue(StringRef symbol) {
  if (auto own = values.find(symbol.str()); own != values.end())
    return own->second;
  // Both programs are analyzed with the same sizes.
  const analysis::SymbolicSizes &known = first.knows(symbol) ? first : second;
  int64_t value = known.getExample(symbol);
  // Sizes of values get different numbers, so that they can be told apart.
  auto number = llvm::find_if(
      ofValues, [&](StringAttr name) { return name.getValue() == symbol; });
  if (number != ofValues.end())
    value = known.getValueFrom(symbol, value + (number - ofValues.begin()))
                .value_or(value);
  if (startsWithSmallest)
    value = known.getValueFrom(symbol, 1).value_or(value);
  if (attempt > 0)
    value = known.getValueFrom(symbol, getStart(value)).value_or(value);
  auto isTaken = [&](int64_t number) {
    return llvm::any_of(ofValues, [&](StringAttr name) {
      auto other = values.find(name.str());
      return other != values.end() && other->second == number;
    });
  };
  if (number != ofValues.end())
    for (func::FuncOp function : functions)
      value = fitSizeOfValues(function, symbol, value, isTaken);
  return values[symbol.str()] = value;
}

void SizeSeries::noteCompared() {
  ++numCompared;
  tried.push_back(values);
  for (const auto &[symbol, value] : values) {
    largestSize = std::max(largestSize, value);
    std::string &text = compared[symbol];
    if (!text.empty())
      text += " and ";
    text += std::to_string(value);
  }
}

std::string SizeSeries::describe() const {
  if (compared.empty())
    return {};
  std::string text = "sizes were ";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(compared, os, [&](const auto &entry) {
    os << entry.first << " = " << entry.second;
  });
  return text + ": other sizes were not evaluated";
}

llvm::Expected<VerifyResult>
equivalence::compareValues(func::FuncOp first, func::FuncOp second,
                           const VerifyOptions &options) {
  VerifyResult result;
  ProofBudget budget;
  budget.seconds = options.maxSeconds;
  budget.bytes = options.maxBytes;
  llvm::Expected<analysis::InputPlacements> placements =
      analysis::InputPlacements::resolve(first);
  if (!placements)
    return placements.takeError();
  result.numRanks = placements->getWorld().size();
  for (func::FuncOp function : {first, second}) {
    result.numOps += function.getBody().front().getOperations().size() - 1;
    if (options.reducesSizes)
      foldProgram(function);
  }
  ProgramComparison comparison(first, second, *placements, options, budget,
                               result);
  IntegerProof proof(comparison, first, second, *placements, options, budget,
                     result);
  if (llvm::Error error = proof.run())
    return std::move(error);
  return result;
}

/// Returns true if two programs of known sizes are equal because they consist
/// of the same ops, or would be for any functions in place of some regions that
/// both have.
static bool proveByStructure(ModuleOp first, ModuleOp second,
                             const analysis::InputPlacements &placements,
                             const VerifyOptions &options,
                             const ProofBudget &budget, VerifyResult &result) {
  auto dump = [&](StringRef text) {
    if (options.dump)
      options.dump("structure.txt", text);
  };
  if (areIdentical(analysis::getMain(first), analysis::getMain(second))) {
    result.numEvaluatedRanks = result.numRanks;
    dump("both programs consist of the same ops: equal\n");
    return true;
  }
  OwningOpRef<ModuleOp> ownFirst = cast<ModuleOp>(first->clone());
  OwningOpRef<ModuleOp> ownSecond = cast<ModuleOp>(second->clone());
  std::array functions = {analysis::getMain(*ownFirst),
                          analysis::getMain(*ownSecond)};
  if (!replaceSharedRegions(functions[0], functions[1]))
    return false;
  dump("both programs have regions that follow from orders: these are taken "
       "for unknown functions\n");
  VerifyOptions ownOptions = options;
  ownOptions.dump = nameStage(options, "shared-regions");
  VerifyResult own = result;
  if (options.reducesSizes)
    llvm::for_each(functions, foldProgram);
  // Leave time for the programs as they are.
  ProofBudget half = budget;
  double elapsed = static_cast<double>(std::clock() - budget.start) /
                   static_cast<double>(CLOCKS_PER_SEC);
  half.seconds = (budget.seconds + elapsed) / 2;
  ProgramComparison comparison(functions[0], functions[1], placements,
                               ownOptions, half, own);
  IntegerProof proof(comparison, functions[0], functions[1], placements,
                     ownOptions, half, own);
  if (llvm::Error error = proof.run()) {
    llvm::consumeError(std::move(error));
    return false;
  }
  own.dropUndecided();
  if (!own.isEquivalent() || own.drawn) {
    dump("the programs are not equal for all functions, or were not evaluated "
         "within the budget: the regions are evaluated\n");
    return false;
  }
  result = std::move(own);
  return true;
}

llvm::Expected<VerifyResult>
equivalence::verifyEquivalence(ModuleOp first, ModuleOp second,
                               const VerifyOptions &options) {
  VerifyResult result;
  ProofBudget budget;
  budget.seconds = options.maxSeconds;
  budget.bytes = options.maxBytes;
  ProofProgress progress;
  auto report = [&](double seconds, bool isDone) {
    // A proof for all integers ends the rounds that were planned.
    progress = {seconds, result.numRounds,
                isDone ? result.numRounds : result.numPlannedRounds, isDone};
    options.onProgress(progress);
  };
  if (options.onProgress)
    budget.onTime = [&](double seconds) {
      if (seconds >= progress.seconds + 1)
        report(seconds, /*isDone=*/false);
    };
  llvm::scope_exit reportEnd([&] {
    if (options.onProgress)
      report(progress.seconds, /*isDone=*/true);
  });
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
  result.premises = placements->describeStatements(firstMain);
  for (const tp::SizeAssumption &assumption : sizes->getAssumptions())
    result.assumptions.push_back("of sizes: " + assumption.text);
  result.numRanks = placements->getWorld().size();
  checkStatically(firstMain, secondMain, result);
  checkArrivals(firstMain, secondMain, result);
  checkSignatures(firstMain, secondMain, result);
  for (func::FuncOp function : {firstMain, secondMain})
    result.numOps += function.getBody().front().getOperations().size() - 1;

  llvm::SetVector<StringAttr> ofValues = getSizesOfValues(firstMain);
  ofValues.insert_range(getSizesOfValues(secondMain));
  SizeSeries series(*sizes, *secondSizes, ofValues, {firstMain, secondMain});
  for (unsigned attempt = 0; attempt <= SizeSeries::beyond; ++attempt) {
    if (attempt > 0 && (!result.hasEqualValues() || !series.hasSymbols()))
      break;
    // One more set of sizes suffices, and one with large ones.
    bool isBeyond = attempt == SizeSeries::beyond;
    if (isBeyond ? !series.hasLargerNumber()
                 : attempt > 0 && series.getNumCompared() > 1)
      continue;
    series.begin(attempt);
    auto getValue = [&](StringRef symbol) { return series.getValue(symbol); };
    auto resolvedFirst = resolveSizes(first, 0, getValue);
    if (attempt > 0 && (series.isKnown() || !resolvedFirst)) {
      llvm::consumeError(resolvedFirst.takeError());
      continue;
    }
    if (!resolvedFirst) {
      series.startWithSmallest();
      series.begin(attempt);
      llvm::Error error = resolvedFirst.takeError();
      resolvedFirst = resolveSizes(first, 0, getValue);
      if (!resolvedFirst) {
        llvm::consumeError(resolvedFirst.takeError());
        // Sizes that the program determines need not be these numbers.
        if (std::optional<Undecided> size = findSizeOfValues(firstMain)) {
          llvm::consumeError(std::move(error));
          result.notProven = size->reason;
          result.undecided = std::move(size);
          result.dropUndecided();
          return result;
        }
        return error;
      }
      llvm::consumeError(std::move(error));
    }
    auto resolvedSecond = resolveSizes(second, 1, getValue);
    if (!resolvedSecond) {
      result.differences.push_back(
          {"the second program does not fit the sizes of the first: " +
               llvm::toString(resolvedSecond.takeError()),
           firstMain.getLoc(), secondMain.getLoc(), std::nullopt,
           findSizeOfValues(secondMain)});
      break;
    }
    resolveConstants(analysis::getMain(**resolvedFirst),
                     analysis::getMain(**resolvedSecond));
    if (options.usesRegions)
      for (ModuleOp resolved : {**resolvedFirst, **resolvedSecond})
        replaceOverwrittenMemory(analysis::getMain(resolved));
    if (options.usesRegions &&
        proveByStructure(**resolvedFirst, **resolvedSecond, *placements,
                         options, budget, result)) {
      series.noteCompared();
      continue;
    }
    if (options.reducesSizes)
      for (ModuleOp resolved : {**resolvedFirst, **resolvedSecond})
        foldProgram(analysis::getMain(resolved));
    ProgramComparison comparison(firstMain, secondMain, *placements, options,
                                 budget, result);
    IntegerProof proof(comparison, analysis::getMain(**resolvedFirst),
                       analysis::getMain(**resolvedSecond), *placements,
                       options, budget, result);
    llvm::Error error = proof.run();
    if (error && attempt == 0)
      return std::move(error);
    // No statement says that the program is meant for these sizes.
    bool sizesFit = !error && comparison.doSizesFit();
    llvm::consumeError(std::move(error));
    // Large sizes may exceed the budget.
    if (attempt > 0 &&
        (!sizesFit || (isBeyond && result.getVerdict() == Verdict::NotProven)))
      result.notProven.reset();
    else
      series.noteCompared();
  }
  if (std::string text = series.describe(); !text.empty())
    result.notes.push_back(std::move(text));
  result.dropUndecided();
  return result;
}
