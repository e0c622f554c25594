//===- SplitLaws.h - products in segments, as laws --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_SPLITLAWS_H
#define COMMUTE_LIB_TRANSFORMS_SPLITLAWS_H

#include "Law.h"
#include "PassPrices.h"
#include "SplitRewrite.h"

#include "commute/Transforms/Policy.h"

namespace commute {

/// What the laws of split-linear share: facts that hold for a round, and how
/// sums are written.
struct SplitState {
  SplitState(const PassPrices &prices, Policy policy, double margin)
      : prices(prices), policy(policy), margin(margin) {}

  const PassPrices &prices;
  Policy policy;
  /// The strategy's, for remarks.
  double margin;
  /// The forms of a sum to choose among.
  llvm::SmallVector<SplitForm, 2> forms;
  std::unique_ptr<analysis::ProductContext> context = nullptr;
  /// Leave alone what is a collective along another dim together with ops
  /// around it.
  bool keepsCollectives = false;
  /// These ops and the results that they rearrange, with their collectives;
  /// only if these are kept.
  llvm::DenseMap<mlir::Operation *, mlir::Operation *> partOfCollective;

  /// Refuses to rewrite what is part of a collective.
  analysis::Legal<> mayRewrite(mlir::Operation *op) const;
};

/// The concatenations that upstream's rule splits.
struct UpstreamSplitLimits {
  unsigned maxParts;
  int64_t minPartWidth, maxWidth;
};

/// The users of a value along the dim that it has parts along, in program
/// order.
struct PartUsers {
  mlir::Operation *source;
  llvm::SmallVector<analysis::ProductReader> products;
  llvm::SmallVector<tp::SliceOp> slices;
  /// A user of the whole value that no law rewrites; null for none.
  mlir::Operation *keeper = nullptr;
};
PartUsers findPartUsers(mlir::Operation *source, unsigned dim,
                        analysis::ProductContext &context);

/// A product with its segments.
struct SplitMember {
  analysis::ProductReader reader;
  analysis::PartialProducts products;
};

/// Products, and slices, of one value with parts. They are rewritten together,
/// so that nothing needs the whole value any more, or else one by one.
std::unique_ptr<Finding> makePartUsersFinding(PartUsers users,
                                              std::vector<SplitMember> members,
                                              SplitState &state);

/// "cat", or "the return op".
std::string getUserName(mlir::Operation *op);

/// A group that visits site by site. Equal views are merged after each round.
class SplitLaws : public LawGroup {
public:
  explicit SplitLaws(SplitState initial)
      : LawGroup(Choice::SiteBySite), state(std::move(initial)) {}

  llvm::Error beginRound(mlir::func::FuncOp function) override;
  void endRound(mlir::func::FuncOp function,
                mlir::RewriterBase &rewriter) override;

  SplitState state;
};

/// The laws of the pass, and the rule that was proposed for Inductor.
std::unique_ptr<LawGroup> makeSplitLaws(SplitState state);
std::unique_ptr<LawGroup> makeUpstreamSplitLaws(SplitState state,
                                                UpstreamSplitLimits limits);

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_SPLITLAWS_H
