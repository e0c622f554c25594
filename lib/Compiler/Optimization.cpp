//===- Optimization.cpp - a module through passes and proof -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/Optimization.h"

#include "SizeRanges.h"
#include "WaitedValues.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Equivalence/ArrivalChecks.h"
#include "commute/Target/Target.h"

#include "mlir/IR/OperationSupport.h"

using namespace commute;
using namespace commute::compiler;

llvm::Error compiler::checkOptions(const OptimizationOptions &options) {
  if (llvm::Expected<target::Target> known =
          target::loadTarget(options.settings.target);
      !known)
    return known.takeError();
  return planPipeline(options.passes, options.settings).takeError();
}

/// Compares a module with the original.
static void verify(mlir::ModuleOp module, const OptimizationOptions &options,
                   Optimization &result) {
  using Outcome = Optimization::Outcome;
  auto fail = [&](Outcome outcome, llvm::Error error) {
    result.outcome = outcome;
    result.reason = llvm::toString(std::move(error));
  };
  if (llvm::Error error = analysis::checkGroupsAreKnown(module))
    return fail(Outcome::NeedsGroups, std::move(error));
  if (options.onStage)
    options.onStage("verifying");
  // Rewrites leave most of a program as it was.
  equivalence::VerifyOptions proof = options.proof;
  proof.evaluatesShared = false;
  proof.isStrict = !options.allowsDrawn;
  llvm::Expected<equivalence::VerifyResult> verdict =
      equivalence::verifyEquivalence(*result.original, module, proof);
  if (!verdict)
    return fail(Outcome::CannotBeVerified, verdict.takeError());
  if (!verdict->differences.empty())
    result.outcome = Outcome::Different;
  else if (verdict->notProven)
    result.outcome = Outcome::NotProven;
  result.verification = std::move(*verdict);
}

static void addLeftAlone(const analysis::EarlyRead &read, std::string why,
                         llvm::StringRef suggestion,
                         report::RemarkCollector &remarks) {
  report::RemarkEntry entry;
  entry.verdict = report::Verdict::Refused;
  entry.pass = "verify";
  entry.name = "ReadsEarly";
  report::describeLocation(read.reader->getLoc(), entry.node, entry.file,
                           entry.line);
  entry.message = "the graph is left alone: " + std::move(why);
  entry.suggestion = suggestion.str();
  remarks.add(std::move(entry));
}

/// Returns true if a module that passes can work on says by its dataflow when
/// values have arrived; otherwise says why it does not.
static bool statesArrivals(mlir::ModuleOp module, Optimization &result,
                           report::RemarkCollector &remarks) {
  using analysis::Arrivals;
  mlir::func::FuncOp main = analysis::getMain(module);
  if (!main)
    return true;
  Arrivals arrivals(main);
  if (!arrivals.getEarlyReads().empty()) {
    const analysis::EarlyRead &read = arrivals.getEarlyReads().front();
    std::string text = equivalence::describe(read);
    result.outcome = Optimization::Outcome::ReadsEarly;
    result.reason = text + ": " + equivalence::earlyReadFix.str();
    addLeftAlone(read, text, equivalence::earlyReadFix, remarks);
    return false;
  }
  // Passes erase a wait whose result nothing uses.
  Arrivals byDataflow(main, arrivals.getAwaitedInputs(),
                      /*ignoresUnusedWaits=*/true);
  if (byDataflow.getEarlyReads().empty())
    return true;
  const analysis::EarlyRead &read = byDataflow.getEarlyReads().front();
  addLeftAlone(read,
               report::describeLocation(read.reader->getLoc()) + " reads " +
                   report::describeLocation(read.pending.getLoc()) +
                   " through a view that was taken before the wait",
               "take the view of the result of wait_tensor", remarks);
  return false;
}

llvm::Expected<Optimization>
compiler::optimize(mlir::ModuleOp module, const OptimizationOptions &options,
                   report::RemarkCollector &remarks) {
  if (options.onStage)
    options.onStage("optimizing");
  Optimization result;
  result.original = mlir::cast<mlir::ModuleOp>(module->clone());
  mlir::OwningOpRef<mlir::ModuleOp> start;
  if (useResultsOfWaits(module))
    start = mlir::cast<mlir::ModuleOp>(module->clone());
  auto restore = [&] {
    mlir::OwningOpRef<mlir::ModuleOp> copy =
        mlir::cast<mlir::ModuleOp>((*result.original)->clone());
    module.getBodyRegion().takeBody(copy->getBodyRegion());
  };
  if (!statesArrivals(module, result, remarks)) {
    restore();
    return result;
  }
  PassRun run;
  run.passes = options.passes;
  run.settings = options.settings;
  run.getReproducer = options.getReproducer;
  run.onRestart = [&] { remarks.clear(); };
  llvm::Expected<std::vector<PassFailure>> failures =
      runPasses(module, *result.original, run);
  if (!failures)
    return failures.takeError();
  result.failures = std::move(*failures);
  for (const PassFailure &failure : result.failures)
    remarks.add(report::describeFailure(failure.pass, failure.describe()));
  if (mlir::OperationEquivalence::isEquivalentTo(
          start ? *start : *result.original, module,
          mlir::OperationEquivalence::IgnoreLocations)) {
    if (start)
      restore();
    return result;
  }
  if (options.settings.policy == Policy::Profitable)
    if (std::optional<std::string> loss = findLossAtLargestSizes(
            *result.original, module, options.settings.target)) {
      restore();
      remarks.clear();
      remarks.add({report::Verdict::Refused, "size-ranges", "unprofitable", "",
                   "", 0, *loss, ""});
      return result;
    }
  result.outcome = Optimization::Outcome::Changed;
  if (mlir::func::FuncOp main = analysis::getMain(*result.original)) {
    llvm::Expected<analysis::InputPlacements> placements =
        analysis::InputPlacements::resolveInAnyWorld(main);
    if (!placements)
      return placements.takeError();
    result.assumptions = placements->describeDefaults(main);
    if (auto premise =
            module->getAttrOfType<mlir::StringAttr>(tp::groupPremiseAttrName))
      result.assumptions.insert(result.assumptions.begin(),
                                "of groups: " + premise.str());
  }
  if (!options.verifies)
    return result;
  if (!options.readWritten) {
    verify(module, options, result);
    return result;
  }
  // Without the members of its groups, nothing is proven of a program, and a
  // reader would ask for them as those of the new nodes.
  if (mlir::func::FuncOp main = analysis::getMain(*result.original))
    if (llvm::Expected<analysis::InputPlacements> placements =
            analysis::InputPlacements::resolve(main);
        !placements)
      return placements.takeError();
  // Reading the program again repeats the remarks of the first time.
  size_t numRemarks = remarks.getEntries().size();
  llvm::Expected<mlir::OwningOpRef<mlir::ModuleOp>> written =
      options.readWritten();
  if (!written)
    return written.takeError();
  remarks.keepFirst(numRemarks);
  verify(**written, options, result);
  return result;
}
