//===- Strategies.cpp - which findings are applied --------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Law.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Refusal;
using analysis::RefusalCode;

namespace {

class ProfitableStrategy : public Strategy {
public:
  explicit ProfitableStrategy(double margin) : margin(margin) {}
  bool comparesGains() const override { return true; }
  double getMargin() const override { return margin; }
  Legal<> accept(const Finding &finding, const Draft &draft,
                 const Price &price) const override {
    if (!price.isKnown())
      return Refusal{nullptr, RefusalCode::Unpriced};
    if (*price.after * (1 + margin) < *price.before)
      return {};
    return Refusal{nullptr, RefusalCode::Unprofitable};
  }

private:
  double margin;
};

class AlwaysStrategy : public Strategy {
public:
  Legal<> accept(const Finding &finding, const Draft &draft,
                 const Price &price) const override {
    if (price.isProgress)
      return {};
    return Refusal{nullptr, RefusalCode::NoProgress};
  }
};

class UnpricedStrategy : public Strategy {
public:
  bool needsPrices() const override { return false; }
  Legal<> accept(const Finding &finding, const Draft &draft,
                 const Price &price) const override {
    return {};
  }
};

} // namespace

std::unique_ptr<Strategy> commute::makeProfitableStrategy(double margin) {
  return std::make_unique<ProfitableStrategy>(margin);
}

std::unique_ptr<Strategy> commute::makeAlwaysStrategy() {
  return std::make_unique<AlwaysStrategy>();
}

std::unique_ptr<Strategy> commute::makeUnpricedStrategy() {
  return std::make_unique<UnpricedStrategy>();
}
