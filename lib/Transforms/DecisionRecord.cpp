//===- DecisionRecord.cpp - what passes decided at each site ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/DecisionRecord.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

using namespace mlir;
using namespace commute;

llvm::StringRef commute::stringify(Decision::Outcome outcome) {
  switch (outcome) {
  case Decision::Outcome::NotApplicable:
    return "not-applicable";
  case Decision::Outcome::Refused:
    return "refused";
  case Decision::Outcome::Applied:
    return "applied";
  }
  llvm_unreachable("all outcomes are listed");
}

MentionedOp MentionedOp::get(Operation *op) {
  auto call = dyn_cast<tp::CallOp>(op);
  return {getNodeName(op),
          call ? call.getCallee().str() : op->getName().getStringRef().str(),
          op->getLoc(), bool(call)};
}

static std::string getTypes(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(op->getResultTypes(), os);
  return text;
}

Decision &DecisionRecord::add(Operation *site, Decision decision) {
  auto [known, isFirst] = indexOfSite.try_emplace(site, sites.size());
  if (isFirst) {
    sites.push_back({MentionedOp::get(site), getTypes(site), false, {}});
    rounds.emplace_back();
  }
  std::vector<Decision> &decisions = sites[known->second].decisions;
  std::vector<unsigned> &madeIn = rounds[known->second];
  for (size_t index = decisions.size(); index-- > 0;)
    if (madeIn[index] != round && decisions[index].pass == decision.pass &&
        decisions[index].law == decision.law &&
        decisions[index].outcome != Decision::Outcome::Applied) {
      // A second run of the pass repeats refusals without reporting them.
      if (decision.outcome == decisions[index].outcome)
        decision.isReported |= decisions[index].isReported;
      decisions.erase(decisions.begin() + index);
      madeIn.erase(madeIn.begin() + index);
    }
  decisions.push_back(std::move(decision));
  madeIn.push_back(round);
  return decisions.back();
}

void DecisionRecord::forget(Operation *op) {
  auto known = indexOfSite.find(op);
  if (known == indexOfSite.end())
    return;
  sites[known->second].isErased = true;
  indexOfSite.erase(known);
}

void DecisionRecord::removeOutdated(llvm::StringRef pass, llvm::StringRef law,
                                    unsigned beforeRound) {
  for (auto [site, madeIn] : llvm::zip_equal(sites, rounds))
    for (size_t index = site.decisions.size(); index-- > 0;) {
      const Decision &decision = site.decisions[index];
      if (madeIn[index] >= beforeRound || decision.pass != pass ||
          decision.law != law ||
          decision.outcome == Decision::Outcome::Applied ||
          (site.isErased &&
           decision.outcome == Decision::Outcome::NotApplicable))
        continue;
      site.decisions.erase(site.decisions.begin() + index);
      madeIn.erase(madeIn.begin() + index);
    }
}

void DecisionRecord::clear() {
  sites.clear();
  rounds.clear();
  indexOfSite.clear();
}
