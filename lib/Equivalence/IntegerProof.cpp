//===- IntegerProof.cpp - programs that are equal for all integers -*- C++ -*-//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IntegerProof.h"

#include "IntegerWitness.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

/// Names some integers of a witness.
static std::string describe(ArrayRef<FixedInteger> witness,
                            func::FuncOp function) {
  constexpr size_t most = 8;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << ", where ";
  llvm::interleaveComma(witness.take_front(most), os,
                        [&](const FixedInteger &own) {
                          auto name = function.getArgAttrOfType<StringAttr>(
                              own.argument, tp::TPDialect::nameAttrName);
                          if (name)
                            os << name.getValue();
                          else
                            os << "input " << own.argument;
                          os << '[';
                          llvm::interleaveComma(own.indices, os);
                          os << "] is " << own.number;
                        });
  if (witness.size() > most)
    os << ", ...";
  return text;
}

std::function<void(StringRef, StringRef)>
equivalence::nameStage(const VerifyOptions &options, StringRef name) {
  if (!options.dump)
    return nullptr;
  return [&options, name = name.str()](StringRef stage, StringRef text) {
    options.dump(name + "-" + stage.str(), text);
  };
}

IntegerProof::Sources IntegerProof::getSources() {
  Sources sources = {getFarthest(first, second),
                     {getPeriods(first), getPeriods(second)}};
  // Of inputs, both programs need one.
  auto &[ofFirst, ofSecond] = sources.periods;
  for (auto [a, b] : llvm::zip(first.getArguments(), second.getArguments())) {
    int64_t x = std::max<int64_t>(ofFirst.lookup(a), 1);
    int64_t y = std::max<int64_t>(ofSecond.lookup(b), 1);
    ofFirst[a] = ofSecond[b] = std::lcm(x, y);
  }
  return sources;
}

bool IntegerProof::prove() {
  if (!getSizesOfValues(first).empty() || !getSizesOfValues(second).empty()) {
    drawn = "sizes depend on values";
    return false;
  }
  Sources sources = getSources();
  auto sorts = [](func::FuncOp function) {
    return !function.getOps<tp::SortOp>().empty();
  };
  // What holds for all orders is proven. What rests on the order of the values
  // that are sorted can only be drawn.
  if (sorts(first) || sorts(second))
    for (bool followsRows : {false, true})
      for (bool collapsesLate : {true, false})
        if (prove(sources, {collapsesLate, /*opensOrders=*/true, followsRows}))
          return true;
  if (prove(sources, {/*collapsesLate=*/true}))
    return true;
  std::optional<std::string> late = drawn;
  if (prove(sources, {/*collapsesLate=*/false}))
    return true;
  if (!drawn)
    drawn = late;
  // Drawings of what is drawn say more than the other attempt.
  if (drawn)
    reason.reset();
  return false;
}

bool IntegerProof::prove(const Sources &sources, Manner manner) {
  drawn.reset();
  reason.reset();
  auto getRange = [&](BlockArgument argument) {
    return comparison.getRange(first.getArgument(argument.getArgNumber()),
                               sources.farthest);
  };
  SmallVector<OwningOpRef<ModuleOp>> lifted;
  std::optional<IntegerLifting::Unknown> unknown;
  bool sortsBack = false;
  for (func::FuncOp function : {first, second}) {
    IntegerLifting lifting(function, getRange, sources.periods[lifted.size()],
                           sources.farthest);
    if (manner.collapsesLate)
      lifting.collapseLate();
    if (manner.opensOrders)
      lifting.openOrders();
    if (manner.followsRows)
      lifting.followRows();
    llvm::Expected<OwningOpRef<ModuleOp>> own = lifting.lift();
    if (!own) {
      reason = llvm::toString(own.takeError());
      return false;
    }
    if (!unknown)
      unknown = lifting.getUnknown();
    sortsBack |= lifting.hasSortedBack();
    lifted.push_back(std::move(*own));
  }
  // Otherwise the programs have been compared already.
  if (manner.followsRows && !sortsBack)
    return false;
  VerifyResult own;
  func::FuncOp liftedFirst = analysis::getMain(*lifted[0]);
  func::FuncOp liftedSecond = analysis::getMain(*lifted[1]);
  for (func::FuncOp function : {liftedFirst, liftedSecond})
    own.numOps += function.getBody().front().getOperations().size() - 1;
  VerifyOptions ownOptions = options;
  std::string stage = manner.opensOrders ? "all-orders" : "all-integers";
  if (manner.followsRows)
    stage += "-unsorted";
  if (!manner.collapsesLate)
    stage += "-early";
  ownOptions.dump = nameStage(options, stage);
  ProgramComparison forAll(liftedFirst, liftedSecond, placements, ownOptions,
                           budget, own);
  if (llvm::Error error = forAll.run(liftedFirst, liftedSecond)) {
    (unknown ? drawn : reason) = llvm::toString(std::move(error));
    return false;
  }
  own.dropUndecided();
  result.numEvaluatedOps += own.numEvaluatedOps;
  result.numRounds += own.numRounds;
  if (own.isEquivalent()) {
    if (forAll.restsOnDraws())
      drawn = "orders or truth values are drawn";
    return !drawn;
  }
  if (unknown) {
    (unknown->isDrawn ? drawn : reason) = unknown->text;
    return false;
  }
  reason = own.notProven ? *own.notProven : own.differences.front().message;
  if (!own.seedOfDifferences || found)
    return false;
  uint64_t seed = *own.seedOfDifferences;
  auto getLegal = [&](unsigned argument) {
    return getRange(first.getArgument(argument));
  };
  auto witness =
      IntegerWitness(forAll, liftedFirst, liftedSecond, getLegal, budget, seed)
          .find();
  // Without integers, the difference is one of unknown floats, for which the
  // programs have been found equal.
  if (!witness || witness->empty())
    return false;
  // The programs themselves have to differ for these integers.
  std::vector<Difference> differences =
      comparison.compareWith(getFixed(*witness), seed, /*atRealSizes=*/true);
  if (!differences.empty())
    found = {std::move(*witness), std::move(differences), seed};
  return false;
}

void IntegerProof::judge() {
  if (!result.hasEqualValues() || isProven)
    return;
  if (found) {
    found->differences.front().message += describe(found->witness, first);
    llvm::append_range(result.differences, std::move(found->differences));
    result.witness = std::move(found->witness);
    result.seedOfDifferences = found->seed;
    return;
  }
  // Names the decision, if it is known.
  comparison.judgeDraws();
  if (!result.hasEqualValues() || !comparison.restsOnDraws())
    return;
  assert((reason || drawn) && "draws were judged before the proof");
  if (reason) {
    result.notProven =
        "the programs are equal for all integers that were drawn, but not as "
        "functions of integers: " +
        *reason;
    return;
  }
  if (options.isStrict)
    result.notProven = "the programs are not told apart in " +
                       std::to_string(result.numRounds) +
                       " drawings, which need not show all: " + *drawn;
  result.drawn = drawn;
}

llvm::Error IntegerProof::run() {
  auto proves = [&] { return isProven = prove(); };
  if (llvm::Error error = comparison.run(first, second, proves))
    return error;
  result.dropUndecided();
  if (result.hasEqualValues() && comparison.restsOnDraws() && !reason &&
      !drawn && !isProven)
    isProven = prove();
  judge();
  return llvm::Error::success();
}
