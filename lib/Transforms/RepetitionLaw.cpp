//===- RepetitionLaw.cpp - collectives that repeat others -------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RepetitionLaw.h"

#include "commute/Analysis/Collectives/RepeatedCollectives.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::RepeatedCollective;
using analysis::RepeatedCollectives;

namespace {

class Repetition : public Finding {
public:
  Repetition(Operation *collective, RepeatedCollective found)
      : collective(collective), found(std::move(found)) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    auto draft = std::make_unique<ReplacementDraft>(collective->getContext());
    draft->position = collective;
    draft->values = found.values;
    draft->reliedOn.push_back(found.first);
    for (auto [value, same] : found.values)
      draft->replaced.push_back(value.getDefiningOp());
    if (!llvm::is_contained(draft->replaced, collective))
      draft->replaced.push_back(collective);
    draft->counts.emplace_back("num-repetitions", 1);
    return std::unique_ptr<Draft>(std::move(draft));
  }

  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return {{collective->getLoc(), "repetition",
             "removed: it repeats " + getNodeName(found.first) +
                 ", whose result its readers read instead"}};
  }

private:
  Operation *collective;
  RepeatedCollective found;
};

class RepetitionLaw : public Law {
public:
  explicit RepetitionLaw(std::optional<RepeatedCollectives> &repeated)
      : repeated(repeated) {}

  StringRef getName() const override { return "repetition"; }
  bool isSite(OperationName name) const override {
    return name.hasInterface<tp::CollectiveOpInterface>();
  }
  void find(Operation *site, Findings &findings) override {
    Legal<RepeatedCollective> found = repeated->find(site);
    if (found)
      findings.add(site, std::make_unique<Repetition>(site, std::move(*found)));
    else
      findings.refuse(site, std::move(found.getRefusal()));
  }
  std::string describe(const analysis::Refusal &refusal,
                       Operation *site) const override {
    return "kept: " + refusal.reason;
  }

private:
  std::optional<RepeatedCollectives> &repeated;
};

class RepetitionLaws : public LawGroup {
public:
  RepetitionLaws() { add<RepetitionLaw>(repeated); }

  llvm::Error beginRound(func::FuncOp function) override {
    repeated.emplace(function.getBody());
    return llvm::Error::success();
  }

private:
  std::optional<RepeatedCollectives> repeated;
};

} // namespace

std::unique_ptr<LawGroup> commute::makeRepetitionLaw() {
  return std::make_unique<RepetitionLaws>();
}
