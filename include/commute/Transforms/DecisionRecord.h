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
  /// What was done, or why it was not.
  std::string text;
  /// What would change that.
  std::string remedy;
};
llvm::StringRef stringify(Decision::Outcome outcome);

/// For each site, every law that was tried there, with its outcome and price.
/// A pass may visit a site in several rounds: the last round counts.
class DecisionRecord {
public:
  struct Site {
    /// The name of the node, its op, and where it is.
    std::string node;
    std::string op;
    mlir::Location location;
    std::vector<Decision> decisions;
  };

  /// In the order of their first decision.
  llvm::ArrayRef<Site> getSites() const { return sites; }

  /// Begins a round, whose decisions replace those of earlier rounds by the
  /// same pass and law at the same site.
  void beginRound() { ++round; }
  Decision &add(mlir::Operation *site, Decision decision);
  /// The op is about to be erased. What was decided about it stays.
  void forget(mlir::Operation *op) { indexOfSite.erase(op); }
  void clear();

private:
  std::vector<Site> sites;
  /// By site and decision: the round in which it was made.
  std::vector<std::vector<unsigned>> rounds;
  llvm::DenseMap<mlir::Operation *, size_t> indexOfSite;
  unsigned round = 0;
};

} // namespace commute

#endif // COMMUTE_TRANSFORMS_DECISIONRECORD_H
