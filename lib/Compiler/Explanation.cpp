//===- Explanation.cpp - what passes do at each site, and why ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/Explanation.h"

#include "MergedRanks.h"
#include "RemedyTrial.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Analysis/Placements/InputPlacements.h"
#include "commute/Analysis/Sizes/SymbolicSizes.h"
#include "commute/Dialect/TPDialect.h"
#include "commute/Target/Estimate.h"

#include "llvm/ADT/StringSet.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {

/// A predicted step.
struct Step {
  ExplainedStep summary;
  /// Seconds by which the communication of a node delays the step.
  llvm::StringMap<double> exposed;
};

/// Predicts steps of modules on one target.
class StepModel {
public:
  explicit StepModel(target::Target target) : target(std::move(target)) {}

  llvm::Expected<Step> predict(ModuleOp module) const;
  const target::Target &getTarget() const { return target; }

private:
  target::Target target;
};

} // namespace

/// Returns values for all symbols of a function: stated values, else examples.
static llvm::Expected<target::SizeTable> getSizes(ModuleOp module,
                                                  func::FuncOp function) {
  llvm::Expected<analysis::SymbolicSizes> sizes =
      analysis::SymbolicSizes::resolve(module);
  if (!sizes)
    return sizes.takeError();
  target::SizeTable table = target::getStatedSizes(module);
  for (StringRef symbol : target::getSizeSymbols(function))
    table.try_emplace(symbol.str(), sizes->getExample(symbol));
  return table;
}

/// Returns the key of an op's node, or of its line if it has no name.
static std::string getKey(const ExplainedOp &op) {
  return op.node.empty() ? op.source : op.node;
}

/// Adds the time in which each collective is busy and the compute lane is not.
static void addExposed(const target::Estimate &estimate,
                       llvm::StringMap<double> &exposed) {
  std::vector<const target::LaneEvent *> compute;
  for (const target::LaneEvent &event : estimate.events)
    if (event.lane == target::Lane::Compute)
      compute.push_back(&event);
  llvm::sort(compute, [](const auto *a, const auto *b) {
    return a->startSeconds < b->startSeconds;
  });
  for (const target::LaneEvent &event : estimate.events) {
    if (event.lane == target::Lane::Compute)
      continue;
    double end = event.startSeconds + event.seconds;
    double seconds = event.seconds;
    auto first = llvm::partition_point(compute, [&](const auto *other) {
      return other->startSeconds + other->seconds <= event.startSeconds;
    });
    for (auto it = first; it != compute.end() && (*it)->startSeconds < end;
         ++it)
      seconds -= std::min(end, (*it)->startSeconds + (*it)->seconds) -
                 std::max(event.startSeconds, (*it)->startSeconds);
    exposed[getKey(describe(MentionedOp::get(event.op)))] +=
        std::max(seconds, 0.0);
  }
}

llvm::Expected<Step> StepModel::predict(ModuleOp module) const {
  OwningOpRef<ModuleOp> ofRank;
  func::FuncOp function = analysis::getMain(module);
  // All ranks run the same ops; see EstimateCommand.
  if (function && !function.getOps<tp::RankSelectOp>().empty()) {
    ofRank = getModuleOfRank(module, 0, {});
    function = analysis::getMain(*ofRank);
  }
  if (!function)
    return llvm::createStringError(
        "the program is not one function of one block");
  llvm::Expected<target::SizeTable> sizes =
      getSizes(function->getParentOfType<ModuleOp>(), function);
  if (!sizes)
    return sizes.takeError();
  target::PriceModel model(target, std::move(*sizes));
  llvm::Expected<target::Estimate> estimate = target::estimate(function, model);
  if (!estimate)
    return estimate.takeError();
  Step step{{estimate->stepSeconds, estimate->exposedSeconds}, {}};
  addExposed(*estimate, step.exposed);
  return step;
}

//===----------------------------------------------------------------------===//
// Potentials
//===----------------------------------------------------------------------===//

/// Sorts by a key, and by the present order where keys are equal.
template <typename T, typename GetKey>
static void sortBy(std::vector<T> &list, GetKey getKey) {
  std::vector<size_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(getKey(list[a]), a) < std::pair(getKey(list[b]), b);
  });
  std::vector<T> sorted;
  for (size_t index : order)
    sorted.push_back(std::move(list[index]));
  list = std::move(sorted);
}

namespace {

class Explainer {
public:
  Explainer(ModuleOp module, const ExplanationOptions &options, StepModel steps,
            Explanation &result)
      : module(module), options(options), steps(std::move(steps)),
        result(result) {}

  llvm::Error run();

private:
  struct Outcome {
    std::optional<Step> step;
    DecisionRecord record;
    std::vector<PassFailure> failures;
  };
  llvm::Expected<Outcome> runPasses(ModuleOp input, StringRef passes);
  std::optional<Outcome> attempt(const std::set<Remedy> &remedies);
  double getGain(const Outcome &outcome) const;

  /// Bounds the potential of refusals at collectives.
  void addBounds(const Step &before, const Step &after);
  void tryRemedies();
  void tryTogether(std::set<Remedy> all);
  /// Sorts the remedies by gain.
  void sortRemedies();
  void progress(unsigned numDone, unsigned numRuns) const {
    if (options.onProgress)
      options.onProgress(double(numDone) / numRuns);
  }

  ModuleOp module;
  const ExplanationOptions &options;
  StepModel steps;
  Explanation &result;
  /// By remedy, its index in the result.
  std::map<Remedy, size_t> indexOf;
};

} // namespace

llvm::Expected<Explainer::Outcome> Explainer::runPasses(ModuleOp input,
                                                        StringRef passes) {
  auto original = OwningOpRef<ModuleOp>(cast<ModuleOp>(input->clone()));
  Outcome outcome;
  PassRun run;
  run.passes = passes.str();
  run.settings = options.settings;
  run.record = &outcome.record;
  llvm::Expected<std::vector<PassFailure>> failures =
      commute::runPasses(input, *original, run);
  if (!failures)
    return failures.takeError();
  outcome.failures = std::move(*failures);
  if (llvm::Expected<Step> step = steps.predict(input))
    outcome.step = std::move(*step);
  else
    llvm::consumeError(step.takeError());
  return outcome;
}

std::optional<Explainer::Outcome>
Explainer::attempt(const std::set<Remedy> &remedies) {
  Trial trial = prepareTrial(module, options.passes, remedies);
  if (!trial.module)
    return std::nullopt;
  llvm::Expected<Outcome> outcome = runPasses(*trial.module, trial.passes);
  if (!outcome) {
    llvm::consumeError(outcome.takeError());
    return std::nullopt;
  }
  if (!outcome->step || !outcome->failures.empty())
    return std::nullopt;
  return std::move(*outcome);
}

double Explainer::getGain(const Outcome &outcome) const {
  double gain = result.after->seconds - outcome.step->summary.seconds;
  // Sums of the same times in another order differ in the last digits.
  constexpr double noise = 1e-9;
  return std::abs(gain) < noise * result.after->seconds ? 0 : gain;
}

void Explainer::addBounds(const Step &before, const Step &after) {
  for (ExplainedSites &row : result.rows) {
    if (row.outcome != Decision::Outcome::Refused)
      continue;
    if (row.code == analysis::stringify(analysis::RefusalCode::Unprofitable)) {
      // A small gain below the margin.
      if (row.secondsBefore && row.secondsAfter &&
          *row.secondsAfter < *row.secondsBefore)
        row.potentialSeconds =
            double(row.count) * (*row.secondsBefore - *row.secondsAfter);
      continue;
    }
    double seconds = 0;
    bool isKnown = false;
    llvm::StringSet<> seen;
    for (const std::string &key : row.nodes) {
      if (!seen.insert(key).second)
        continue;
      // What is left of it after the other rewrites.
      auto found = after.exposed.find(key);
      if (found != after.exposed.end()) {
        seconds += found->second;
        isKnown = true;
      } else {
        isKnown |= before.exposed.contains(key);
      }
    }
    if (!isKnown)
      continue;
    row.potentialSeconds = seconds;
    row.isBound = true;
  }
}

void Explainer::tryTogether(std::set<Remedy> all) {
  // A described operator may lead to the next one that is opaque.
  constexpr unsigned maxRounds = 4;
  std::optional<Outcome> outcome;
  for (unsigned round = 0; round < maxRounds; ++round) {
    outcome = attempt(all);
    if (!outcome)
      return;
    size_t numKnown = all.size();
    for (const ExplainedSites &row : foldSites(outcome->record))
      if (row.remedy)
        all.insert(*row.remedy);
    if (all.size() == numKnown)
      break;
  }
  if (all.size() < 2)
    return;
  TriedRemedy together;
  std::string more;
  for (const Remedy &remedy : all)
    if (!indexOf.count(remedy))
      more += (more.empty() ? "" : ", ") + remedy.value;
  together.text = "all of these together";
  if (!more.empty())
    together.text += ", and then also " + more;
  together.gainSeconds = getGain(*outcome);
  for (const TriedRemedy &remedy : result.remedies)
    together.numSites += remedy.numSites;
  result.remedies.push_back(std::move(together));
}

void Explainer::tryRemedies() {
  std::map<Remedy, size_t> numSites;
  for (const ExplainedSites &row : result.rows)
    if (row.remedy)
      numSites[*row.remedy] += row.count;
  // An opaque operator also ends regions that are rewritten up to it.
  for (const auto &[callee, numCalls] : findOpaqueOperators(module))
    numSites[{"", callee}] = numCalls;
  // Those that concern most sites first.
  std::vector<std::pair<Remedy, size_t>> order(numSites.begin(),
                                               numSites.end());
  sortBy(order, [](const auto &entry) { return -double(entry.second); });
  unsigned numRuns = 2 + std::min<size_t>(order.size(), options.maxTrials);
  unsigned numDone = 1;
  std::set<Remedy> applicable;
  for (const auto &[remedy, count] : order) {
    TriedRemedy tried = describe(remedy, module, options.passes);
    tried.numSites = count;
    if (numDone <= options.maxTrials && result.after) {
      progress(numDone++, numRuns);
      if (std::optional<Outcome> outcome = attempt({remedy})) {
        tried.gainSeconds = getGain(*outcome);
        applicable.insert(remedy);
      }
    }
    indexOf[remedy] = result.remedies.size();
    result.remedies.push_back(std::move(tried));
  }
  if (!applicable.empty()) {
    progress(numDone, numRuns);
    tryTogether(std::move(applicable));
  }
}

/// Refusals that cost most come first, then rewrites, then facts.
static std::pair<int, double> getRank(const ExplainedSites &row) {
  using Outcome = Decision::Outcome;
  if (row.outcome == Outcome::Refused)
    return {0, -row.potentialSeconds.value_or(0)};
  return {row.outcome == Outcome::Applied ? 1 : 2, 0};
}

void Explainer::sortRemedies() {
  std::vector<std::pair<size_t, TriedRemedy>> order;
  for (auto [index, remedy] : llvm::enumerate(result.remedies))
    order.emplace_back(index, std::move(remedy));
  sortBy(order, [](const auto &entry) {
    return -entry.second.gainSeconds.value_or(0);
  });
  std::vector<size_t> newIndex(order.size());
  for (auto [index, entry] : llvm::enumerate(order)) {
    newIndex[entry.first] = index;
    result.remedies[index] = std::move(entry.second);
  }
  for (ExplainedSites &row : result.rows)
    if (row.remedyIndex)
      row.remedyIndex = newIndex[*row.remedyIndex];
}

llvm::Error Explainer::run() {
  progress(0, 2);
  if (func::FuncOp main = analysis::getMain(module)) {
    llvm::Expected<analysis::InputPlacements> placements =
        analysis::InputPlacements::resolveInAnyWorld(main);
    if (!placements)
      return placements.takeError();
    result.assumptions = placements->describeDefaults(main);
  }
  Step before, after;
  if (llvm::Expected<Step> step = steps.predict(module)) {
    before = std::move(*step);
    result.before = before.summary;
  } else {
    result.unpriced = llvm::toString(step.takeError());
  }
  OwningOpRef<ModuleOp> copy(cast<ModuleOp>(module->clone()));
  llvm::Expected<Outcome> outcome = runPasses(*copy, options.passes);
  if (!outcome)
    return outcome.takeError();
  result.record = std::move(outcome->record);
  result.failures = std::move(outcome->failures);
  result.rows = foldSites(result.record);
  if (result.before && outcome->step) {
    after = std::move(*outcome->step);
    result.after = after.summary;
    addBounds(before, after);
  }
  tryRemedies();

  for (ExplainedSites &row : result.rows) {
    if (!row.remedy)
      continue;
    row.remedyIndex = indexOf.at(*row.remedy);
    const TriedRemedy &tried = result.remedies[*row.remedyIndex];
    if (!tried.gainSeconds)
      continue;
    row.potentialSeconds = std::max(*tried.gainSeconds, 0.0);
    row.isBound = false;
  }
  sortBy(result.rows, getRank);

  sortRemedies();
  return llvm::Error::success();
}

llvm::Expected<Explanation>
compiler::explain(ModuleOp module, const ExplanationOptions &options) {
  llvm::Expected<target::Target> target =
      target::loadTarget(options.settings.target);
  if (!target)
    return target.takeError();
  if (llvm::Error error =
          planPipeline(options.passes, options.settings).takeError())
    return std::move(error);
  Explanation result;
  result.target = target->name;
  Explainer explainer(module, options, StepModel(std::move(*target)), result);
  if (llvm::Error error = explainer.run())
    return std::move(error);
  return std::move(result);
}
