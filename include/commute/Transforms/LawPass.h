//===- LawPass.h - passes that are lists of laws ----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TRANSFORMS_LAWPASS_H
#define COMMUTE_TRANSFORMS_LAWPASS_H

#include "commute/Transforms/DecisionRecord.h"
#include "commute/Transforms/PipelinePass.h"
#include "commute/Transforms/Policy.h"

namespace commute {

struct LawSet;
class PassPrices;
class RewriteListener;

/// A pass that registers laws and leaves the rest to the driver.
class LawPass : public PipelinePass {
public:
  /// Where the decisions go, from then on; null for nowhere.
  void setRecord(DecisionRecord *newRecord) { record = newRecord; }
  /// Who is asked about sites and told of rewrites; null for nobody.
  void setListener(RewriteListener *newListener) { listener = newListener; }
  /// Whether refusals are reported, beside rewrites.
  void setReportsRefusals(bool reports) { reportsRefusals = reports; }
  /// Whether the last run has changed its function.
  bool hasChanged() const { return isChanged; }

protected:
  using PipelinePass::PipelinePass;

  /// Whether functions of several blocks are visited. Most laws compare the
  /// order of ops and need one block.
  virtual bool allowsSeveralBlocks() const { return false; }
  /// The machine to price for; empty if nothing is priced.
  virtual llvm::StringRef getTargetName() const { return ""; }
  /// Adds the laws, which may refer to `prices` (null if nothing is priced).
  virtual llvm::Error addLaws(LawSet &laws, const PassPrices *prices) = 0;
  /// The statistic that a draft counts under this name.
  virtual Statistic *findStatistic(llvm::StringRef name) = 0;

private:
  void runOnOperation() final;

  DecisionRecord *record = nullptr;
  RewriteListener *listener = nullptr;
  bool reportsRefusals = true;
  bool isChanged = false;
};

/// The pass as one with laws, by the name that it is registered under; null if
/// it is none.
LawPass *getLawPass(mlir::Pass &pass);

} // namespace commute

#endif // COMMUTE_TRANSFORMS_LAWPASS_H
