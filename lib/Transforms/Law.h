//===- Law.h - a rewrite as the driver sees it ------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// A law is an equation between programs, read in one direction: gather_n(a) @ b
// = fused(a, b). It answers three questions, each in a place of its own:
//
//   find      Does the equation hold at this op? A pure analysis that returns
//             findings and refusals.
//   draft     What would the program look like? Real ops with inferred types,
//             in no block yet, with the values that they replace.
//   describe  What does a person read about it?
//
// Everything else is the driver's (LawDriver.h). A pass is a list of laws
// (LawPass.h).
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_LAW_H
#define COMMUTE_LIB_TRANSFORMS_LAW_H

#include "Draft.h"

#include "commute/Analysis/Legal.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>
#include <vector>

namespace commute {

/// A remark about a rewrite that was made, or about one that is not needed.
struct LawRemark {
  mlir::Location location;
  /// In one word, stable.
  llvm::StringRef name;
  std::string text;
  std::string suggestion = {};
};

/// A place where a law applies.
class Finding {
public:
  virtual ~Finding() = default;

  /// Refuses only what no analysis can tell without the new ops.
  virtual analysis::Legal<std::unique_ptr<Draft>> draft() = 0;
  /// Called when the draft is applied, and what it replaces is not yet erased.
  /// `model` is null if nothing is priced.
  virtual llvm::SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const = 0;
  /// Completes a refusal by a strategy for one site, in words about this
  /// finding. Findings that no strategy refuses have nothing to say.
  virtual void explain(analysis::Refusal &refusal, mlir::Operation *site,
                       const Draft &draft, const Price &price,
                       const target::PriceModel &model) const {}
  /// A sentence about losing ops to another finding; empty if there is nothing
  /// to tell.
  virtual std::string describeConflict(const Finding &other) const {
    return "";
  }
  /// The ops at which a refusal is told, of what was found at `site`.
  virtual llvm::SmallVector<mlir::Operation *>
  getRefusedSites(mlir::Operation *site) const {
    return {site};
  }
  /// Findings that may be applied one by one if they are not worth it
  /// together. Called when no draft is alive.
  virtual std::vector<std::unique_ptr<Finding>> getParts() const { return {}; }
};

/// What laws say about sites.
class Findings {
public:
  /// Most sites of most laws are not applicable. Only a record keeps these.
  explicit Findings(bool keepsInapplicable)
      : keepsInapplicable(keepsInapplicable) {}

  struct Entry {
    mlir::Operation *site;
    analysis::Legal<std::unique_ptr<Finding>> result;
  };

  void add(mlir::Operation *site, std::unique_ptr<Finding> finding) {
    entries.emplace_back(site, std::move(finding));
  }
  void refuse(mlir::Operation *site, analysis::Refusal refusal) {
    if (refusal.isApplicable() || keepsInapplicable)
      entries.emplace_back(site, std::move(refusal));
  }
  /// There is nothing to rewrite, for a reason worth telling; `statistic`
  /// counts it. Only for laws that visit each site once.
  struct Note {
    mlir::Operation *site;
    llvm::StringRef statistic;
    LawRemark remark;
  };
  void tell(mlir::Operation *site, llvm::StringRef statistic,
            LawRemark remark) {
    notes.push_back({site, statistic, std::move(remark)});
  }

  /// Forgets everything, but keeps the memory: most sites have one entry.
  void clear() {
    entries.clear();
    notes.clear();
  }

  std::vector<Entry> &getEntries() { return entries; }
  llvm::ArrayRef<Note> getNotes() const { return notes; }

private:
  bool keepsInapplicable;
  std::vector<Entry> entries;
  std::vector<Note> notes;
};

/// Whether a name is that of one of some ops.
template <typename... Ops>
bool isNameOf(mlir::OperationName name) {
  return ((name.getTypeID() == mlir::TypeID::get<Ops>()) || ...);
}

class Law {
public:
  virtual ~Law() = default;

  /// In one or two words, stable: "gather-fusion".
  virtual llvm::StringRef getName() const = 0;
  /// Whether the law may apply at ops of this name. Asked once for each name.
  virtual bool isSite(mlir::OperationName name) const = 0;
  /// Adds what there is to say about a site.
  virtual void find(mlir::Operation *site, Findings &findings) = 0;
  /// The text of a remark about a refusal at `site`.
  virtual std::string describe(const analysis::Refusal &refusal,
                               mlir::Operation *site) const {
    return refusal.reason;
  }
};

/// Laws that are tried in the same round.
class LawGroup {
public:
  enum class Choice {
    /// Find everything first; then apply what gains most, and nothing that
    /// overlaps with it.
    LargestGainFirst,
    /// Apply what is found at one site before looking at the next.
    SiteBySite,
  };

  explicit LawGroup(Choice choice = Choice::LargestGainFirst)
      : choice(choice) {}
  virtual ~LawGroup() = default;

  template <typename T, typename... Arguments>
  void add(Arguments &&...arguments) {
    laws.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
  }

  /// Analyzes the function for a round. An error ends the pass.
  virtual llvm::Error beginRound(mlir::func::FuncOp function) {
    return llvm::Error::success();
  }
  /// Called after a round that has changed the function.
  virtual void endRound(mlir::func::FuncOp function,
                        mlir::RewriterBase &rewriter) {}

  const Choice choice;
  /// Whether rewrites can create sites. If they cannot, there is another round
  /// only for findings that overlapped with an applied one.
  bool createsSites = true;
  std::vector<std::unique_ptr<Law>> laws;
};

/// Which legal rewrites are made.
class Strategy {
public:
  virtual ~Strategy() = default;

  virtual bool needsPrices() const { return true; }
  /// Whether rewrites that are made together or apart are compared by gain.
  virtual bool comparesGains() const { return false; }
  /// The gain that a rewrite must have, as a fraction of the time after.
  virtual double getMargin() const { return 0; }
  /// If the refusal has no reason, the finding gives it.
  virtual analysis::Legal<> accept(const Finding &finding, const Draft &draft,
                                   const Price &price) const = 0;
};

/// Rewrites that save time: at least `margin`, as a fraction of the time after.
std::unique_ptr<Strategy> makeProfitableStrategy(double margin);
/// Rewrites that make progress, at any price.
std::unique_ptr<Strategy> makeAlwaysStrategy();
/// All that is legal; nothing is priced.
std::unique_ptr<Strategy> makeUnpricedStrategy();

/// The laws of a pass.
struct LawSet {
  std::vector<std::unique_ptr<LawGroup>> groups;
  std::unique_ptr<Strategy> strategy;
  /// Refuse rewrites that round sums in another order.
  bool exactRounding = false;
  /// Report refusals, not only rewrites.
  bool reportsRefusals = true;
};

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_LAW_H
