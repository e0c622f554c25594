//===- DecisionRecord.h - what passes decided at each site ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_DECISIONRECORD_H
#define COMMUTE_TRANSFORMS_DECISIONRECORD_H

#include "commute/Analysis/Legal.h"

#include "llvm/ADT/DenseMap.h"

#include <string>
#include <vector>

namespace commute {

/// An op as it was when a decision mentioned it; it may since be erased.
struct MentionedOp {
  /// The name of the node.
  std::string node;
  /// The name of the op, or of the PyTorch operator if the op is opaque.
  std::string op;
  mlir::Location location;
  bool isOpaque = false;

  static MentionedOp get(mlir::Operation *op);
};

/// One law, tried at one site.
struct Decision {
  enum class Outcome {
    /// The law has nothing to rewrite there.
    NotApplicable,
    /// The rewrite is illegal, is not worth its price, or was left for another
    /// one; `code` tells which.
    Refused,
    Applied,
  };

  std::string pass;
  std::string law;
  Outcome outcome = Outcome::NotApplicable;
  /// Why it was refused.
  analysis::RefusalCode code = analysis::RefusalCode::NotApplicable;
  /// The predicted time of the ops before and after the rewrite, if it got as
  /// far as a price.
  std::optional<double> secondsBefore, secondsAfter;
  /// The rewrite that was made, or the reason why it was not.
  std::string text;
  /// The change that would allow the rewrite, if there is one, and the option
  /// that makes this change.
  std::string remedy;
  std::optional<analysis::RemedyOption> option;
  /// The op that blocks the rewrite, if it is not the site.
  std::optional<MentionedOp> blocker;
  /// See Refusal::payingRows.
  std::optional<int64_t> payingRows;
  /// The gain that the pass requires, as a fraction of the time after.
  double requiredGain = 0;
  /// False for a refusal that no remark reports: about an op that the pass
  /// itself has inserted, or in a second run of the pass.
  bool isReported = true;
};
llvm::StringRef stringify(Decision::Outcome outcome);

/// All laws that were tried at each site, with their outcomes and prices. A
/// pass may visit a site in several rounds, of which the last counts.
class DecisionRecord {
public:
  struct Site : MentionedOp {
    /// The types of the op's results.
    std::string types;
    bool isErased = false;
    std::vector<Decision> decisions;
  };

  /// Sites in the order of their first decision.
  llvm::ArrayRef<Site> getSites() const { return sites; }

  /// Begins a round, whose decisions replace those of earlier rounds by the
  /// same pass and law at the same site.
  void beginRound() { ++round; }
  Decision &add(mlir::Operation *site, Decision decision);
  /// The number of the current round.
  unsigned getRound() const { return round; }
  /// Removes decisions by a law that it made before a round and that changed
  /// nothing: the round did not repeat them, so they no longer hold. Keeps that
  /// a law found nothing to rewrite at an op that another one then erased.
  void removeOutdated(llvm::StringRef pass, llvm::StringRef law,
                      unsigned beforeRound);
  /// Must be called before the op is erased. Decisions about it are kept.
  void forget(mlir::Operation *op);
  void clear();

private:
  std::vector<Site> sites;
  /// By site and decision, the round in which it was made.
  std::vector<std::vector<unsigned>> rounds;
  llvm::DenseMap<mlir::Operation *, size_t> indexOfSite;
  unsigned round = 0;
};

} // namespace commute

#endif // COMMUTE_TRANSFORMS_DECISIONRECORD_H
