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
  /// The rewrite that was made, or the reason why it was not.
  std::string text;
  /// The change that would allow the rewrite, if there is one.
  std::string remedy;
};
llvm::StringRef stringify(Decision::Outcome outcome);

/// All laws that were tried at each site, with their outcomes and prices. A
/// pass may visit a site in several rounds, of which the last counts.
class DecisionRecord {
public:
  struct Site {
    /// The name of the node, its op, and its location.
    std::string node;
    std::string op;
    mlir::Location location;
    std::vector<Decision> decisions;
  };

  /// Sites in the order of their first decision.
  llvm::ArrayRef<Site> getSites() const { return sites; }

  /// Begins a round, whose decisions replace those of earlier rounds by the
  /// same pass and law at the same site.
  void beginRound() { ++round; }
  Decision &add(mlir::Operation *site, Decision decision);
  /// Must be called before the op is erased. Decisions about it are kept.
  void forget(mlir::Operation *op) { indexOfSite.erase(op); }
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
