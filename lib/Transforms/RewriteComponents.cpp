//===- RewriteComponents.cpp - rewrites that compete for ops --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RewriteComponents.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace commute;

static void numberOps(func::FuncOp function,
                      llvm::DenseMap<Operation *, unsigned> &numbers) {
  unsigned number = 0;
  for (Operation &op : function.getBody().front())
    numbers[&op] = number++;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

void RewriteTrials::Recorder::begin(func::FuncOp function) {
  if (!std::exchange(hasBegun, true))
    numberOps(function, numbers);
}

void RewriteTrials::Recorder::willRewrite(StringRef law, Operation *site,
                                          const Draft &draft) {
  unsigned index = trials.rewrites.size();
  TriedRewrite &rewrite = trials.rewrites.emplace_back();
  rewrite.pass = pass;
  rewrite.law = law;
  // The entries that are values, not ops, are in neither map.
  auto take = [&](void *entry, SmallVectorImpl<unsigned> &into) {
    auto *op = static_cast<Operation *>(entry);
    if (auto number = numbers.find(op); number != numbers.end())
      into.push_back(number->second);
    else if (auto maker = makers.find(op);
             maker != makers.end() && maker->second != index &&
             !llvm::is_contained(rewrite.basedOn, maker->second))
      rewrite.basedOn.push_back(maker->second);
  };
  if (auto number = numbers.find(site); number != numbers.end())
    rewrite.site = number->second;
  Footprint footprint = draft.getFootprint();
  take(site, rewrite.changed);
  for (void *entry : footprint.getChanged())
    take(entry, rewrite.changed);
  for (void *entry : footprint.getReliedOn())
    take(entry, rewrite.reliedOn);
  SmallVector<Operation *> made;
  draft.addOps(made);
  for (Operation *op : made)
    makers[op] = index;
}

void RewriteTrials::Recorder::willErase(Operation *op) {
  numbers.erase(op);
  makers.erase(op);
}

std::vector<RewriteComponent> RewriteTrials::getComponents() const {
  llvm::IntEqClasses classes(rewrites.size());
  llvm::DenseMap<unsigned, unsigned> changerOf;
  for (auto [index, rewrite] : llvm::enumerate(rewrites)) {
    for (unsigned earlier : rewrite.basedOn)
      classes.join(index, earlier);
    for (unsigned op : rewrite.changed) {
      auto [known, isNew] = changerOf.try_emplace(op, index);
      if (!isNew)
        classes.join(index, known->second);
    }
  }
  for (auto [index, rewrite] : llvm::enumerate(rewrites))
    for (unsigned op : rewrite.reliedOn)
      if (auto changer = changerOf.find(op); changer != changerOf.end())
        classes.join(index, changer->second);
  classes.compress();
  std::vector<RewriteComponent> components(classes.getNumClasses());
  for (auto [index, rewrite] : llvm::enumerate(rewrites)) {
    RewriteComponent &component = components[classes[index]];
    component.rewrites.push_back(index);
    component.passes.insert(rewrite.pass);
    llvm::append_range(component.ops, rewrite.changed);
  }
  for (RewriteComponent &component : components) {
    llvm::sort(component.ops);
    component.ops.erase(llvm::unique(component.ops), component.ops.end());
  }
  return components;
}

//===----------------------------------------------------------------------===//
// Scopes
//===----------------------------------------------------------------------===//

void ComponentOfOp::begin(func::FuncOp function,
                          ArrayRef<RewriteComponent> of) {
  if (std::exchange(hasBegun, true))
    return;
  numberOps(function, numbers);
  llvm::DenseMap<unsigned, unsigned> componentOfNumber;
  for (auto [index, component] : llvm::enumerate(of))
    for (unsigned number : component.ops)
      componentOfNumber[number] = index;
  for (auto [op, number] : numbers)
    if (auto found = componentOfNumber.find(number);
        found != componentOfNumber.end())
      components[op] = found->second;
}

std::optional<unsigned> ComponentOfOp::find(Operation *op) const {
  auto found = components.find(op);
  return found == components.end() ? std::nullopt
                                   : std::optional(found->second);
}

std::optional<unsigned> ComponentOfOp::findNumber(Operation *op) const {
  auto found = numbers.find(op);
  return found == numbers.end() ? std::nullopt : std::optional(found->second);
}

bool ComponentScope::mayRewrite(Operation *site) const {
  std::optional<unsigned> component = componentOf->find(site);
  return component ? allowed.test(*component) : allowsOthers;
}

const analysis::Refusal *ComponentScope::findRefusal(StringRef law,
                                                     Operation *site) const {
  std::optional<unsigned> number = componentOf->findNumber(site);
  if (!number)
    return nullptr;
  auto found = refusals.find({*number, law});
  return found == refusals.end() ? nullptr : &found->second;
}

void ComponentScope::willRewrite(StringRef law, Operation *site,
                                 const Draft &draft) {
  std::optional<unsigned> component = componentOf->find(site);
  if (!component)
    return;
  SmallVector<Operation *> made;
  draft.addOps(made);
  for (Operation *op : made)
    componentOf->add(op, *component);
}
