//===- FusionLaws.h - collectives fused with products -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_LIB_TRANSFORMS_FUSIONLAWS_H
#define COMMUTE_LIB_TRANSFORMS_FUSIONLAWS_H

#include "Law.h"

#include "commute/Analysis/Products/PipelineFusion.h"

namespace commute {

/// A collective with the products that it can be fused with.
class FusionFinding : public Finding {
public:
  mlir::Operation *getCollective() const { return collective; }
  /// Whether shards along the contraction dimension are gathered.
  virtual bool contracts() const { return false; }

protected:
  explicit FusionFinding(mlir::Operation *collective)
      : collective(collective) {}

  mlir::Operation *collective;
};

/// all_gather(a) @ b and reduce_scatter(a @ b) as one op each. `margin` is the
/// strategy's, for remarks.
std::unique_ptr<LawGroup> makeFusionLaws(double margin);

/// Inductor's rule: everything but contractions over narrow shards.
std::unique_ptr<Strategy> makeUpstreamFusionStrategy();

} // namespace commute

#endif // COMMUTE_LIB_TRANSFORMS_FUSIONLAWS_H
