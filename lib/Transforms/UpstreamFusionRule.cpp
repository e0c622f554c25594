//===- UpstreamFusionRule.cpp - Inductor's rule for fusions -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FusionLaws.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;

namespace {

class UpstreamFusionStrategy : public Strategy {
public:
  bool needsPrices() const override { return false; }

  Legal<> accept(const Finding &finding, const Draft &draft,
                 const Price &price) const override {
    // Narrow slices of a contraction are not profitable.
    constexpr int64_t minContraction = 1024;
    const auto &fusion = static_cast<const FusionFinding &>(finding);
    Operation *collective = fusion.getCollective();
    auto shard = cast<RankedTensorType>(collective->getOperand(0).getType());
    if (!fusion.contracts() || shard.getShape().back() >= minContraction)
      return {};
    return Refusal{collective, RefusalCode::UpstreamRule,
                   "each rank's shard has " +
                       std::to_string(shard.getShape().back()) +
                       " elements along the contraction dimension, and "
                       "upstream's rule needs at least " +
                       std::to_string(minContraction)};
  }
};

} // namespace

std::unique_ptr<Strategy> commute::makeUpstreamFusionStrategy() {
  return std::make_unique<UpstreamFusionStrategy>();
}
