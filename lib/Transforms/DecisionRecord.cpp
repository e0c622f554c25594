//===- DecisionRecord.cpp - what passes decided at each site ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Transforms/DecisionRecord.h"

#include "commute/Dialect/NodeName.h"

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

Decision &DecisionRecord::add(Operation *site, Decision decision) {
  auto [known, isNew] = indexOfSite.try_emplace(site, sites.size());
  if (isNew) {
    sites.push_back({getNodeName(site),
                     site->getName().getStringRef().str(),
                     site->getLoc(),
                     {}});
    rounds.emplace_back();
  }
  std::vector<Decision> &decisions = sites[known->second].decisions;
  std::vector<unsigned> &madeIn = rounds[known->second];
  for (size_t index = decisions.size(); index-- > 0;)
    if (madeIn[index] != round && decisions[index].pass == decision.pass &&
        decisions[index].law == decision.law &&
        decisions[index].outcome != Decision::Outcome::Applied) {
      decisions.erase(decisions.begin() + index);
      madeIn.erase(madeIn.begin() + index);
    }
  decisions.push_back(std::move(decision));
  madeIn.push_back(round);
  return decisions.back();
}

void DecisionRecord::clear() {
  sites.clear();
  rounds.clear();
  indexOfSite.clear();
}
