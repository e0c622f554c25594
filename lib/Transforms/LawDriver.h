//===- LawDriver.h - applies laws until none is left ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The driver does for all laws what does not depend on the law. It runs in
// rounds, on one group of laws at a time. A round
//
//   1. visits all ops once and asks each law whether it applies (`find`);
//   2. drafts the findings, and has the price model price them;
//   3. asks the strategy which of them are worth it;
//   4. chooses among those, the largest gain first. Where gains are equal, what
//      has waited goes first, and then the order of the program. A finding that
//      overlaps with a chosen one waits for the next round, in which it is
//      found anew or not at all;
//   5. applies the chosen drafts, and erases what has no users left.
//
// Groups that choose site by site do 1 to 5 at each site before they look at
// the next: what was applied may be part of the next finding.
//
// A group is done when a round applies nothing, or, if its rewrites create no
// sites, when a round leaves nothing waiting. The driver then goes on to the
// next group, and ends when all groups in turn were done.
//
// Termination. Each round but the last of a group applies a draft, because the
// first finding in the order of 4 overlaps with none. Each draft lowers a
// measure which no law of the same pass raises, by at least a fixed amount, so
// that there are finitely many:
//
//   normalize-collectives   ops between a collective and the dim it acts on,
//                           and collectives in a chain
//   sequence-parallel       all_reduces; with as many of them, predicted time
//   micro-pipeline          collectives that are not fused
//   split-linear            predicted time (policy=profitable), or arithmetic,
//                           concatenated bytes, slices and products
//                           (policy=always)
//   contiguous-collectives  operands that have to be dense and may not be
//
// `Price::isProgress` states that a draft lowers the measure where legality
// does not imply it, and no strategy accepts a draft without it. A model that
// prices less than what a draft creates could still break the argument, so the
// number of rounds is bounded as well.
//
// Every law that was tried, its outcome and its price go into a DecisionRecord
// if there is one. Remarks tell of each rewrite when it is made, and of each
// refusal of the last rounds at the end, in program order.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_LAWDRIVER_H
#define COMMUTE_LIB_TRANSFORMS_LAWDRIVER_H

#include "Law.h"
#include "RewriteListener.h"

#include "commute/Transforms/DecisionRecord.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace commute {

class LawDriver : private mlir::RewriterBase::Listener {
public:
  struct Context {
    /// The name of the pass, for remarks and the record.
    llvm::StringRef pass;
    /// Null if nothing is priced.
    const target::PriceModel *model = nullptr;
    /// Null if nobody wants it.
    DecisionRecord *record = nullptr;
    /// Null if nobody is asked.
    RewriteListener *listener = nullptr;
    /// The run is a trial: no remarks.
    bool isTrial = false;
    /// Adds to a statistic of the pass.
    std::function<void(llvm::StringRef, unsigned)> count;
  };

  LawDriver(mlir::func::FuncOp function, const LawSet &laws, Context context);

  /// The error is a group's.
  llvm::Error run();
  bool hasChanged() const { return isChanged; }

private:
  /// A finding that is being decided on.
  struct Candidate {
    Law *law;
    mlir::Operation *site;
    std::unique_ptr<Finding> finding;
    std::unique_ptr<Draft> draft;
    Price price;
    analysis::Legal<> verdict;
  };
  /// A refusal that is reported at the end, unless its site is gone by then.
  struct PendingRefusal {
    Law *law;
    analysis::Refusal refusal;
    /// The seconds that the rewrite would lose; only for what was priced.
    std::optional<double> loss;
  };
  /// By the op it is reported at, and the op that it is about.
  using PendingRefusals =
      llvm::MapVector<std::pair<mlir::Operation *, mlir::Operation *>,
                      PendingRefusal>;
  struct Round {
    bool hasApplied = false;
    bool hasWaiting = false;
  };

  llvm::Expected<Round> runRound(size_t groupIndex);
  /// An op, and a law that it is a site of.
  using Site = std::pair<mlir::Operation *, Law *>;
  void addSites(mlir::Operation *op);
  /// The sites of the laws of a group, in program order.
  llvm::ArrayRef<Site> getSites(size_t groupIndex);
  void visitSite(const LawGroup &group, mlir::Operation *site, Law &law);

  /// Takes what a law says: refusals are noted, findings are appended to
  /// `candidates`.
  void takeFindings(Law &law, Findings &findings,
                    std::vector<Candidate> &candidates);
  /// Drafts and prices a candidate, and asks the strategy. False if there is no
  /// draft; that is noted.
  bool decide(Candidate &candidate);
  /// Asks the listener, and notes why it declines.
  bool mayRewrite(Law &law, mlir::Operation *site);
  bool isBetterApart(const Candidate &candidate) const;
  /// Applies what can be applied of a finding that is not applied as a whole.
  void applyParts(Candidate &candidate);
  /// The accepted candidates that do not overlap, in the order of their gains.
  llvm::SmallVector<Candidate *>
  choose(llvm::MutableArrayRef<Candidate> candidates, bool explains,
         Round &round);
  void apply(llvm::ArrayRef<Candidate *> chosen);
  /// Erases ops, and those that only they used.
  void erase(llvm::ArrayRef<mlir::Operation *> replaced);
  void notifyOperationErased(mlir::Operation *op) override;

  /// Notes why candidates of one law are refused.
  void refuse(llvm::ArrayRef<Candidate *> candidates);
  void note(Law &law, mlir::Operation *site, analysis::Refusal refusal,
            std::optional<double> loss, const Price &price);
  void report(const LawRemark &remark);
  void report(mlir::Operation *site, const PendingRefusal &pending);
  void reportPending();
  /// Completes the record after the last round.
  void completeRecord();
  /// The entry in the record; null if there is no record.
  Decision *record(const Law &law, mlir::Operation *site,
                   Decision::Outcome outcome, const Price &price,
                   const analysis::Refusal &refusal);
  mlir::remark::RemarkOpts getRemark(llvm::StringRef name);
  bool findListener();

  mlir::func::FuncOp function;
  const LawSet &laws;
  Context context;
  mlir::IRRewriter rewriter;
  LawGroup *current = nullptr;
  /// The laws, with the indices of their groups, that ops of a name are sites
  /// of.
  llvm::DenseMap<mlir::OperationName,
                 llvm::SmallVector<std::pair<size_t, Law *>>>
      lawsOfName;
  /// By group; empty if they are to be found, in one walk for all groups.
  std::vector<llvm::SmallVector<Site>> sites;
  /// Of the last round of each group.
  std::vector<PendingRefusals> pending;
  /// By group, the last round in the record.
  std::vector<unsigned> lastRounds;
  PendingRefusals *refusals = nullptr;
  /// Why a site lost its ops to another finding, in any round.
  llvm::MapVector<mlir::Operation *, PendingRefusal> conflicts;
  /// Ops that the driver has inserted: what they could not become was decided
  /// when they were made.
  llvm::DenseSet<mlir::Operation *> created;
  /// Whether anyone reads remarks about applied rewrites. If not, they are not
  /// formatted.
  bool hasListener = false;
  /// Sites of findings that have waited since the last round.
  llvm::DenseSet<mlir::Operation *> waiting;
  /// Ops erased in this round.
  llvm::DenseSet<mlir::Operation *> erased;
  bool isChanged = false;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_LAWDRIVER_H
