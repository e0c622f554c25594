//===- RepetitionLaw.cpp - what repeats earlier ops -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RepetitionLaw.h"

#include "commute/Analysis/Collectives/Repetitions.h"
#include "commute/Dialect/NodeName.h"

using namespace mlir;
using namespace commute;
using analysis::Legal;
using analysis::Repetitions;

namespace {

class RepetitionFinding : public Finding {
public:
  RepetitionFinding(Operation *repeated, analysis::Repetition found)
      : repeated(repeated), found(std::move(found)) {}

  Legal<std::unique_ptr<Draft>> draft() override {
    auto draft = std::make_unique<ReplacementDraft>(repeated->getContext());
    draft->position = repeated;
    draft->values = found.values;
    draft->reliedOn.push_back(found.first);
    for (auto [value, same] : found.values)
      draft->replaced.push_back(value.getDefiningOp());
    if (!llvm::is_contained(draft->replaced, repeated))
      draft->replaced.push_back(repeated);
    draft->counts.emplace_back("num-repetitions", 1);
    return std::unique_ptr<Draft>(std::move(draft));
  }

  SmallVector<LawRemark>
  describe(const Draft &draft, const Price &price,
           const target::PriceModel *model) const override {
    return {{repeated->getLoc(), "repetition",
             "removed: it repeats " + getNodeName(found.first) +
                 ", whose result its readers read instead"}};
  }

private:
  Operation *repeated;
  analysis::Repetition found;
};

class RepetitionLaw : public Law {
public:
  explicit RepetitionLaw(std::optional<Repetitions> &repetitions)
      : repetitions(repetitions) {}

  StringRef getName() const override { return "repetition"; }
  bool isSite(OperationName name) const override {
    return name.hasInterface<tp::CollectiveOpInterface>() ||
           (name.hasInterface<tp::EvaluationOpInterface>() &&
            !name.hasInterface<tp::ReindexOpInterface>());
  }
  void find(Operation *site, Findings &findings) override {
    Legal<analysis::Repetition> found = repetitions->find(site);
    if (found)
      findings.add(
          site, std::make_unique<RepetitionFinding>(site, std::move(*found)));
    else if (isa<tp::CollectiveOpInterface>(site) ||
             found.getRefusal().isApplicable())
      findings.refuse(site, std::move(found.getRefusal()));
  }
  std::string describe(const analysis::Refusal &refusal,
                       Operation *site) const override {
    return "kept: " + refusal.reason;
  }

private:
  std::optional<Repetitions> &repetitions;
};

class RepetitionLaws : public LawGroup {
public:
  RepetitionLaws() { add<RepetitionLaw>(repetitions); }

  llvm::Error beginRound(func::FuncOp function) override {
    repetitions.emplace(function.getBody());
    return llvm::Error::success();
  }

private:
  std::optional<Repetitions> repetitions;
};

} // namespace

std::unique_ptr<LawGroup> commute::makeRepetitionLaw() {
  return std::make_unique<RepetitionLaws>();
}
