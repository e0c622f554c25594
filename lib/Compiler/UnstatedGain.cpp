//===- UnstatedGain.cpp - what a statement would save -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/UnstatedGain.h"

#include "SizeRanges.h"
#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Returns those of `inputs` whose placement some rewrite lacks, by a remark.
static std::vector<std::string>
getLackingInputs(ArrayRef<std::string> inputs,
                 ArrayRef<report::RemarkEntry> entries) {
  // A remark may ask for several inputs: '(a|b)=replicated'.
  std::vector<llvm::Regex> patterns;
  for (const report::RemarkEntry &entry : entries) {
    auto [text, option] =
        StringRef(entry.suggestion).split("--input-placement='");
    auto [pattern, placement] = option.split('=');
    if (!placement.empty())
      patterns.emplace_back(("^(" + pattern + ")$").str());
  }
  std::vector<std::string> lacking;
  for (const std::string &input : inputs)
    if (llvm::any_of(patterns, [&](const llvm::Regex &pattern) {
          return pattern.match(input);
        }))
      lacking.push_back(input);
  return lacking;
}

static void stateReplicated(ModuleOp module, ArrayRef<std::string> inputs) {
  func::FuncOp function = analysis::getMain(module);
  llvm::StringSet<> names(llvm::from_range, inputs);
  Builder builder(module.getContext());
  auto replicated = tp::PlacementAttr::getReplicated(module.getContext());
  NamedAttrList placements;
  for (tp::GroupAttr group : analysis::getGroups(module))
    placements.set(group.getKey(), replicated);
  for (unsigned index = 0; index < function.getNumArguments(); ++index)
    if (auto name = function.getArgAttrOfType<StringAttr>(
            index, tp::TPDialect::nameAttrName);
        name && names.contains(name.getValue()))
      function.setArgAttr(index, tp::TPDialect::placementsAttrName,
                          placements.getDictionary(module.getContext()));
}

std::optional<UnstatedGain> compiler::findUnstatedGain(
    ModuleOp original, ModuleOp optimized, ArrayRef<std::string> inputs,
    const OptimizationOptions &options, report::RemarkCollector &remarks) {
  std::vector<report::RemarkEntry> entries(remarks.getEntries());
  std::vector<std::string> lacking = getLackingInputs(inputs, entries);
  if (lacking.empty() || !analysis::getMain(original))
    return std::nullopt;
  llvm::Expected<target::Target> machine =
      target::loadTarget(options.settings.target);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return std::nullopt;
  }
  target::PriceModel model(*machine, target::getStatedSizes(original));
  OwningOpRef<ModuleOp> trial = cast<ModuleOp>(original->clone());
  stateReplicated(*trial, lacking);
  PassRun run;
  run.passes = options.passes;
  run.settings = options.settings;
  // A failure here is none of the program's.
  run.getReproducer = [](unsigned) { return std::string(); };
  ScopedDiagnosticHandler handler(trial->getContext(),
                                  [](Diagnostic &) { return success(); });
  llvm::Expected<std::vector<PassFailure>> failures =
      runPasses(*trial, original, run);
  remarks.clear();
  for (report::RemarkEntry &entry : entries)
    remarks.add(std::move(entry));
  if (!failures) {
    llvm::consumeError(failures.takeError());
    return std::nullopt;
  }
  std::optional<double> before = predictSeconds(original, model);
  std::optional<double> now = predictSeconds(optimized, model);
  std::optional<double> stated = predictSeconds(*trial, model);
  if (!before || !now || !stated || *stated >= *now)
    return std::nullopt;
  return UnstatedGain{*before - *now, *before - *stated, std::move(lacking)};
}

std::optional<PredictedStep>
compiler::predictStep(ModuleOp original, ModuleOp optimized, StringRef target) {
  llvm::Expected<target::Target> machine = target::loadTarget(target);
  if (!machine) {
    llvm::consumeError(machine.takeError());
    return std::nullopt;
  }
  if (!analysis::getMain(original) || !analysis::getMain(optimized))
    return std::nullopt;
  target::PriceModel model(*machine, target::getStatedSizes(original));
  std::optional<double> before = predictSeconds(original, model);
  std::optional<double> after = predictSeconds(optimized, model);
  if (!before || !after)
    return std::nullopt;
  return PredictedStep{*before, *after};
}
