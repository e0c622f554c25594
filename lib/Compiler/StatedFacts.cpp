//===- StatedFacts.cpp - what a user states about a program -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/StatedFacts.h"

using namespace commute;
using namespace commute::compiler;

llvm::Error StatedFacts::addTo(vocabulary::DistributedContext &context) const {
  for (const auto &[name, ranks] : knownGroups)
    context.groups.try_emplace(name, ranks);
  context.hasOtherPrograms = hasOtherPrograms;
  for (const std::string &group : groups)
    if (llvm::Error error = vocabulary::addGroupOption(context, group))
      return error;
  for (const std::string &placement : placements)
    if (llvm::Error error = vocabulary::addPlacementOption(context, placement))
      return error;
  for (const std::string &assumption : assumptions)
    if (llvm::Error error =
            vocabulary::addAssumptionOption(context, assumption))
      return error;
  if (!rank)
    return llvm::Error::success();
  if (*rank < 0)
    return llvm::createStringError("--rank=" + llvm::Twine(*rank) +
                                   ": the rank must not be negative");
  context.rank = rank;
  context.isRankSpecific = true;
  return llvm::Error::success();
}

llvm::Error StatedFacts::moveGroupsToKnown() {
  vocabulary::DistributedContext stated;
  for (const std::string &group : groups)
    if (llvm::Error error = vocabulary::addGroupOption(stated, group))
      return error;
  groups.clear();
  for (auto &[name, ranks] : stated.groups)
    knownGroups[name] = ranks;
  return llvm::Error::success();
}
