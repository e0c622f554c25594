//===- IntegerProof.cpp - programs that are equal for all integers -*- C++ -*-//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "IntegerProof.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Equivalence/ResolvedPrograms.h"

#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;

void equivalence::proveForAllIntegers(
    ProgramComparison &comparison, func::FuncOp first, func::FuncOp second,
    const analysis::InputPlacements &placements, const VerifyOptions &options,
    const ProofBudget &budget, VerifyResult &result) {
  auto setDrawn = [&](std::string reason) {
    comparison.judgeDraws();
    if (!result.isEquivalent())
      return;
    if (options.isStrict)
      result.notProven = "the programs are not told apart in " +
                         std::to_string(result.numRounds) +
                         " drawings, which need not show all: " + reason;
    result.drawn = std::move(reason);
  };
  if (!result.isEquivalent())
    return;
  if (!comparison.restsOnIntegers())
    return comparison.judgeDraws();
  if (!getSizesOfValues(first).empty() || !getSizesOfValues(second).empty())
    return setDrawn("sizes depend on values");
  auto getRange = [&](BlockArgument argument) {
    return comparison.getRange(first.getArgument(argument.getArgNumber()));
  };
  // Of inputs, both programs need one.
  DenseMap<Value, int64_t> periods[] = {getPeriods(first), getPeriods(second)};
  for (auto [a, b] : llvm::zip(first.getArguments(), second.getArguments())) {
    int64_t x = std::max<int64_t>(periods[0].lookup(a), 1);
    int64_t y = std::max<int64_t>(periods[1].lookup(b), 1);
    periods[0][a] = periods[1][b] = std::lcm(x, y);
  }
  SmallVector<OwningOpRef<ModuleOp>> lifted;
  for (func::FuncOp function : {first, second}) {
    llvm::Expected<OwningOpRef<ModuleOp>> own =
        IntegerLifting(function, getRange, periods[lifted.size()]).lift();
    if (!own)
      return setDrawn(llvm::toString(own.takeError()));
    lifted.push_back(std::move(*own));
  }
  if (const char *folder = std::getenv("COMMUTE_DUMP_LIFTED")) {
    llvm::errs() << "// " << folder << "\n";
    for (OwningOpRef<ModuleOp> &module : lifted)
      (*module)->print(llvm::errs());
  }
  VerifyResult own;
  func::FuncOp liftedFirst = analysis::getMain(*lifted[0]);
  func::FuncOp liftedSecond = analysis::getMain(*lifted[1]);
  for (func::FuncOp function : {liftedFirst, liftedSecond})
    own.numOps += function.getBody().front().getOperations().size() - 1;
  ProgramComparison forAll(liftedFirst, liftedSecond, placements, options,
                           budget, own);
  llvm::Error error = forAll.run(liftedFirst, liftedSecond);
  if (error) {
    result.notProven = llvm::toString(std::move(error));
    return;
  }
  own.dropUndecided();
  if (own.isEquivalent()) {
    if (forAll.restsOnOutcomes())
      setDrawn("orders or truth values are drawn");
    return;
  }
  // Which decision it is, if that is known.
  comparison.judgeDraws();
  if (result.isEquivalent())
    result.notProven =
        "the programs are equal for all integers that were drawn, but not as "
        "functions of integers: " +
        (own.notProven ? *own.notProven : own.differences.front().message);
}
