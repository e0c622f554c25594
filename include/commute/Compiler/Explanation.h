//===- Explanation.h - what passes do at each site, and why -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The decisions of all passes as rows for people: alike sites are folded into
// one row, and each refusal has a potential, the time that the step would save
// without it. Used by `commute explain` and by reports.
//
// A refusal that names its remedy (an option, or an opaque operator that could
// be described) is priced by trying it: the passes run again on a copy of the
// program with this change, and the predicted steps are compared. Without such
// a remedy, the potential is bounded by the time for which the site delays the
// step.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_COMPILER_EXPLANATION_H
#define COMMUTE_COMPILER_EXPLANATION_H

#include "commute/Compiler/StatedFacts.h"
#include "commute/Transforms/PassDriver.h"

#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace commute::compiler {

/// An op, by the node of the PyTorch graph and the line of Python.
struct ExplainedOp {
  /// Empty for an op without a name.
  std::string node;
  /// "tp.all_reduce", or the PyTorch operator if the op is opaque.
  std::string op;
  /// "model.py:12"; empty if unknown.
  std::string source;
};
ExplainedOp describe(const MentionedOp &op);
llvm::json::Object toJson(const ExplainedOp &op);

/// A change that would allow a refused rewrite: an option, or an operator to
/// describe.
struct Remedy {
  /// "assume", "group", "input-placement", "passes" or "rank"; empty for an
  /// operator.
  std::string option;
  /// The value of the option, or the name of the operator.
  std::string value;

  auto operator<=>(const Remedy &) const = default;
};

/// Sites with alike decisions, such as those of one line in each layer.
struct ExplainedSites {
  std::string pass;
  std::string law;
  Decision::Outcome outcome = Decision::Outcome::NotApplicable;
  /// "unprofitable"; empty unless refused.
  std::string code;
  /// The first site in program order.
  ExplainedOp site;
  std::string types;
  /// The rewrite that was made at that site, or the reason why it was not.
  std::string text;
  std::optional<ExplainedOp> blocker;
  /// Seconds of the rewritten ops at one site.
  std::optional<double> secondsBefore, secondsAfter;
  /// The gain that the pass requires, as a fraction of the time after.
  double requiredGain = 0;
  /// See Refusal::payingRows.
  std::optional<int64_t> payingRows;
  /// The change that would allow the rewrite, in words; empty if there is none.
  std::string remedyText;
  /// The same change in a form that can be tried, and the index of the trial in
  /// `Explanation::remedies`.
  std::optional<Remedy> remedy;
  std::optional<size_t> remedyIndex;
  /// The nodes of all sites, in program order; the line of an op without a
  /// name.
  std::vector<std::string> nodes;
  size_t count = 1;

  /// Seconds that the step would save if all of these sites were rewritten;
  /// nullopt if there is nothing to gain or it is unknown.
  std::optional<double> potentialSeconds;
  /// True if the potential is an upper bound, not a prediction.
  bool isBound = false;

  /// The gain as a fraction of the time after, as passes compare it with
  /// `requiredGain`.
  std::optional<double> getGain() const;
};

/// A remedy of all sites that name it, and what it would gain.
struct TriedRemedy {
  /// An imperative sentence: "describe torch.ops.my.norm.default in a ...".
  std::string text;
  /// The option to pass, such as "--assume='s0 % 4 == 0'"; may be empty.
  std::string option;
  /// The text of a vocabulary file, for an operator; may be empty.
  std::string vocabulary;
  /// The number of refused sites that name it, or of calls of the operator.
  size_t numSites = 0;
  /// Seconds that the step would save compared with the passes as they run
  /// now; nullopt if that cannot be predicted.
  std::optional<double> gainSeconds;
};

/// A step on the target, as predicted before and after the passes.
struct ExplainedStep {
  double seconds = 0;
  double exposedSeconds = 0;
};

struct Explanation {
  std::string target;
  std::optional<ExplainedStep> before, after;
  /// Why there are no predictions; empty if there are.
  std::string unpriced;
  /// Refusals by potential, then rewrites, then facts, each in program order.
  std::vector<ExplainedSites> rows;
  /// By gain.
  std::vector<TriedRemedy> remedies;
  /// Passes that failed and were skipped.
  std::vector<PassFailure> failures;
  /// Defaults that passes rest on, because nothing states otherwise
  /// (InputPlacements::describeDefaults).
  std::vector<std::string> assumptions;
  /// All decisions, including those that found nothing to rewrite.
  DecisionRecord record;
};

struct ExplanationOptions {
  /// "a,b{option=value}"; empty for all passes.
  std::string passes;
  PassSettings settings;
  /// The largest number of remedies to try, each by a run of all passes.
  unsigned maxTrials = 8;
  /// Called before each run of the passes, with the part that is done.
  std::function<void(double)> onProgress;
};

/// Folds alike sites of a record into rows, in the order of the record, without
/// potentials. Leaves out attempts that found nothing to rewrite.
std::vector<ExplainedSites> foldSites(const DecisionRecord &record);

/// Explains what passes do with a module, which is not changed. Returns an
/// error for an invalid pass, option or target, and for a module whose
/// statements contradict each other.
llvm::Expected<Explanation> explain(mlir::ModuleOp module,
                                    const ExplanationOptions &options);

/// The rows, remedies and predictions; see docs/schemas/explain.json.
llvm::json::Object toJson(const Explanation &explanation);

} // namespace commute::compiler

#endif // COMMUTE_COMPILER_EXPLANATION_H
