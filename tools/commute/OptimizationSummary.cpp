//===- OptimizationSummary.cpp - what commute opt says at its end ---------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OptimizationSummary.h"

#include "ProofOptions.h"

#include "TextLayout.h"
#include "Units.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Target.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace json = llvm::json;

/// Measures a version of the program's module. Returns why it has no price.
static std::string measureProgram(const LoadedProgram &file,
                                  mlir::ModuleOp module,
                                  const target::Target &machine,
                                  ProgramFigures &figures) {
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  // All ranks run the same ops.
  if (!file.ranks.empty()) {
    owned = getModuleOfRank(file, module, 0);
    module = *owned;
  }
  module.walk([&](mlir::Operation *op) {
    figures.numOps += mlir::isa_and_present<tp::TPDialect>(op->getDialect());
    figures.numCollectives += mlir::isa<tp::CollectiveOpInterface>(op);
  });
  mlir::func::FuncOp function = analysis::getMain(module);
  if (!function)
    return "the program is not a single function of one block";
  llvm::Expected<target::Estimate> estimate = target::estimate(
      function, target::PriceModel(machine, target::getStatedSizes(module)));
  if (!estimate)
    return llvm::toString(estimate.takeError());
  figures.stepSeconds = estimate->stepSeconds;
  figures.exposedSeconds = estimate->exposedSeconds;
  figures.activationBytes = estimate->peakActivationBytes;
  return "";
}

OptimizationFigures tool::measure(const LoadedProgram &file,
                                  const Optimization &optimization,
                                  llvm::StringRef target) {
  OptimizationFigures figures;
  figures.target = target.str();
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine) {
    figures.unpriced = llvm::toString(machine.takeError());
    return figures;
  }
  figures.target = machine->name;
  mlir::ModuleOp original = optimization.original.get();
  figures.unpriced = measureProgram(file, original, *machine, figures.before);
  std::string unpriced =
      measureProgram(file, file.getModule(), *machine, figures.after);
  if (figures.unpriced.empty())
    figures.unpriced = std::move(unpriced);
  if (mlir::func::FuncOp function = analysis::getMain(original))
    figures.replicated = findReplicatedWork(
        function,
        target::PriceModel(*machine, target::getStatedSizes(original)));
  return figures;
}

static json::Object toJson(const ProgramFigures &figures) {
  json::Object object{
      {"ops", static_cast<int64_t>(figures.numOps)},
      {"collectives", static_cast<int64_t>(figures.numCollectives)}};
  if (figures.stepSeconds) {
    object["step_seconds"] = *figures.stepSeconds;
    object["exposed_communication_seconds"] = *figures.exposedSeconds;
    object["peak_activation_bytes"] = *figures.activationBytes;
  }
  return object;
}

void tool::addTo(json::Object &object, const OptimizationFigures &figures) {
  object["step"] = json::Object{{"target", figures.target},
                                {"before", toJson(figures.before)},
                                {"after", toJson(figures.after)}};
  if (figures.replicated)
    object["replicated"] = compiler::toJson(*figures.replicated);
}

void tool::printTable(const OptimizationFigures &figures,
                      std::optional<size_t> numNodesBefore,
                      std::optional<size_t> numNodesAfter,
                      llvm::raw_ostream &os) {
  const ProgramFigures &before = figures.before, &after = figures.after;
  bool hasPrices = before.stepSeconds && after.stepSeconds;
  Table table({{hasPrices ? "predicted on " + figures.target : "program"},
               {"before", Table::Align::Right},
               {"after", Table::Align::Right},
               {"", Table::Align::Right}});
  auto add = [&](std::string what, double first, double second,
                 llvm::function_ref<std::string(double)> format) {
    table.addRow({std::move(what), format(first), format(second),
                  first > 0 ? formatSignedPercent(second / first - 1) : ""});
  };
  auto count = [&](std::string what, size_t first, size_t second) {
    table.addRow(
        {std::move(what), std::to_string(first), std::to_string(second)});
  };
  if (hasPrices) {
    add("step", *before.stepSeconds, *after.stepSeconds, formatSeconds);
    add("exposed communication", *before.exposedSeconds, *after.exposedSeconds,
        formatSeconds);
    add("activation memory", *before.activationBytes, *after.activationBytes,
        formatBytes);
  }
  count("collectives", before.numCollectives, after.numCollectives);
  if (numNodesBefore && numNodesAfter)
    count("nodes", *numNodesBefore, *numNodesAfter);
  else
    count("ops", before.numOps, after.numOps);
  table.print(0, os);
  if (!hasPrices && !figures.unpriced.empty())
    printWrapped("no prediction: " + figures.unpriced, 0, os, 2);
}

std::vector<std::string>
tool::explainUnchanged(const LoadedProgram &file,
                       llvm::ArrayRef<std::string> inputs,
                       const OptimizationFigures &figures,
                       const report::RemarkCollector &remarks) {
  std::vector<std::string> reasons;
  if (figures.replicated && figures.replicated->isMost()) {
    reasons.push_back(describe(*figures.replicated));
    llvm::append_range(reasons, file.distributed.notes);
  }
  size_t numRefused = llvm::count_if(
      remarks.getEntries(), [](const report::RemarkEntry &entry) {
        return entry.verdict == report::Verdict::Refused;
      });
  if (figures.before.numCollectives == 0)
    reasons.push_back("the program has no collectives");
  else if (numRefused > 0)
    reasons.push_back(std::to_string(numRefused) +
                      (numRefused == 1 ? " rewrite was" : " rewrites were") +
                      " refused for the reasons above; what each would gain: "
                      "commute explain " +
                      llvm::join(inputs, " ") + " --refused");
  else if (reasons.empty())
    reasons.push_back(
        "no pass has a rewrite for any of its " +
        std::to_string(figures.before.numCollectives) +
        (figures.before.numCollectives == 1 ? " collective" : " collectives") +
        "; what was tried: commute explain " + llvm::join(inputs, " "));
  return reasons;
}

std::string
tool::describeRemedy(const equivalence::VerifyResult &verification) {
  if (verification.drawn)
    return "--allow-drawn writes it all the same";
  std::string larger = ProofOptions::describeRemedy(verification);
  if (!larger.empty())
    return larger + "; --allow-unproven writes it all the same";
  if (verification.undecided && !verification.undecided->entry.empty())
    return "a vocabulary file that describes " +
           verification.undecided->callee +
           " may prove it; --allow-unproven writes it all the same";
  return "--allow-unproven writes it all the same";
}
