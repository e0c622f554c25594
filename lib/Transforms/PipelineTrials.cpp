//===- PipelineTrials.cpp - passes run on copies, to compare results ------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "PipelineTrials.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Estimate.h"
#include "commute/Transforms/LawPass.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace commute;

llvm::Error PipelineTrials::plan(const llvm::StringSet<> &excluded) {
  SmallVector<StringRef> names;
  for (StringRef name : getPipelinePasses())
    if (!excluded.contains(name))
      names.push_back(name);
  if (names.empty())
    return llvm::Error::success();
  llvm::Expected<std::vector<PassStep>> steps =
      planPipeline(llvm::join(names, ","), settings);
  if (!steps)
    return steps.takeError();
  auto competes = [](const PassStep &step) {
    return findPassTraits(step.name)->competes;
  };
  auto begin = llvm::find_if(*steps, competes);
  auto end = llvm::find_if(llvm::reverse(*steps), competes).base();
  if (begin == steps->end())
    end = begin;
  head.assign(steps->begin(), begin);
  tail.assign(end, steps->end());
  for (auto step = begin; step != end; ++step) {
    if (competes(*step)) {
      competing.push_back(findPassTraits(step->name)->name);
      stepsOfCompeting.emplace_back();
    }
    stepsOfCompeting.back().push_back(*step);
  }
  return llvm::Error::success();
}

bool PipelineTrials::loadPrices(func::FuncOp function) {
  llvm::Expected<std::unique_ptr<PassPrices>> loaded =
      PassPrices::load(settings.target, function);
  if (!loaded) {
    llvm::consumeError(loaded.takeError());
    return false;
  }
  prices = std::move(*loaded);
  return true;
}

ArrayRef<PassStep> PipelineTrials::getSteps(StringRef pass) const {
  return stepsOfCompeting[llvm::find(competing, pass) - competing.begin()];
}

void commute::append(std::vector<ChosenStep> &steps, ArrayRef<PassStep> added) {
  for (const PassStep &step : added)
    steps.push_back({step, nullptr});
}

void PipelineTrials::appendTail(std::vector<ChosenStep> &steps) const {
  for (const PassStep &step : tail)
    if (!isPostponed(step.name))
      steps.push_back({step, nullptr});
}

std::vector<ChosenStep> PipelineTrials::getDefault() const {
  std::vector<ChosenStep> steps;
  append(steps, head);
  for (StringRef pass : competing)
    if (!isPostponed(pass))
      append(steps, getSteps(pass));
  appendTail(steps);
  return steps;
}

std::optional<bool>
PipelineTrials::run(ModuleOp input, ArrayRef<ChosenStep> steps,
                    RewriteTrials::Recorder *recorder) const {
  MLIRContext *context = input.getContext();
  // The run whose result is kept tells what fails.
  ScopedDiagnosticHandler handler(context,
                                  [](Diagnostic &) { return success(); });
  bool isChanged = false;
  for (const ChosenStep &chosen : steps) {
    PassManager manager(context);
    manager.enableVerifier(false);
    OpPassManager &functions = manager.nest<func::FuncOp>();
    llvm::cantFail(addPasses(functions, chosen.step));
    Pass &pass = *functions.getPasses().begin();
    getPipelinePass(pass)->setTrial();
    LawPass *laws = getLawPass(pass);
    if (laws)
      laws->setListener(recorder ? recorder : chosen.scope.get());
    if (failed(manager.run(input)))
      return std::nullopt;
    isChanged |= laws && laws->hasChanged();
  }
  return isChanged;
}

std::optional<bool>
PipelineTrials::run(ModuleOp input, StringRef pass,
                    RewriteTrials::Recorder *recorder) const {
  ArrayRef<PassStep> steps = getSteps(pass);
  if (recorder)
    recorder->setPass(pass);
  std::optional<bool> isChanged =
      run(input, ChosenStep{steps.front(), nullptr}, recorder);
  if (isChanged == true) {
    std::vector<ChosenStep> others;
    append(others, steps.drop_front());
    if (!run(input, others))
      return std::nullopt;
  }
  return isChanged;
}

std::optional<double> PipelineTrials::predict(ModuleOp input) const {
  OwningOpRef<ModuleOp> result = input.clone();
  std::vector<ChosenStep> steps;
  append(steps, tail);
  if (!run(*result, steps))
    return std::nullopt;
  llvm::Expected<target::Estimate> estimate =
      target::estimate(analysis::getMain(*result), prices->getModel());
  if (!estimate) {
    llvm::consumeError(estimate.takeError());
    return std::nullopt;
  }
  return estimate->stepSeconds;
}
