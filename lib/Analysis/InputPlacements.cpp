//===- InputPlacements.cpp - what ranks know of their inputs ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/InputPlacements.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::PlacementAttr;
using tp::PlacementKind;

SmallVector<tp::GroupAttr> analysis::getGroups(ModuleOp module) {
  llvm::SetVector<tp::GroupAttr> groups;
  if (auto stated =
          module->getAttrOfType<ArrayAttr>(tp::TPDialect::groupsAttrName))
    for (auto group : stated.getAsRange<tp::GroupAttr>())
      groups.insert(group);
  module.walk([&](Operation *op) {
    if (auto group = op->getAttrOfType<tp::GroupAttr>("group"))
      groups.insert(group);
  });
  return groups.takeVector();
}

SmallVector<int64_t> analysis::getWorld(ModuleOp module) {
  SmallVector<int64_t> ranks;
  for (tp::GroupAttr group : getGroups(module))
    llvm::append_range(ranks, group.getRanks());
  llvm::sort(ranks);
  ranks.erase(llvm::unique(ranks), ranks.end());
  if (ranks.empty())
    ranks.push_back(0);
  return ranks;
}

/// Inputs that are read as weights or biases of norms, and as nothing else.
static bool isNormWeight(BlockArgument argument) {
  if (argument.use_empty())
    return false;
  return llvm::all_of(argument.getUses(), [](OpOperand &use) {
    auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(use.getOwner());
    return ruled && ruled.isNormalizationParameter(use);
  });
}

llvm::Expected<InputPlacements>
InputPlacements::resolve(func::FuncOp function) {
  auto module = function->getParentOfType<ModuleOp>();
  MLIRContext *context = function.getContext();
  InputPlacements result;
  result.groups = getGroups(module);
  result.world = analysis::getWorld(module);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto nameAttr = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::nameAttrName);
    std::string name = nameAttr ? nameAttr.str() : "#" + std::to_string(index);
    auto stated = function.getArgAttrOfType<DictionaryAttr>(
        index, tp::TPDialect::placementsAttrName);
    bool isWeight = isNormWeight(argument);
    auto &row = result.placements.emplace_back();
    for (auto [position, group] : llvm::enumerate(result.groups)) {
      PlacementAttr placement =
          stated ? stated.getAs<PlacementAttr>(group.getKey())
                 : PlacementAttr();
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      if (placement && placement.getKind() == PlacementKind::Shard &&
          (!type || placement.getDim() >= type.getRank()))
        return llvm::createStringError("input '" + name + "' is placed " +
                                       placement.getText() +
                                       ", but has no such dim");
      // One group may have several names.
      for (auto [other, otherGroup] : llvm::enumerate(result.groups)) {
        if (other >= position || !otherGroup.hasSameMembers(group))
          continue;
        if (!placement)
          placement = row[other];
        else if (stated.get(otherGroup.getKey()) && row[other] != placement)
          return llvm::createStringError(
              "input '" + name + "' is placed " + placement.getText() +
              " on group '" + group.getKey() + "' and " + row[other].getText() +
              " on group '" + otherGroup.getKey() +
              "', which has the same members");
      }
      if (!placement) {
        placement = isWeight ? PlacementAttr::getReplicated(context)
                             : PlacementAttr::getVarying(context);
        result.assumptions.push_back(
            "input '" + name + "' is " + placement.getText() + " on group '" +
            group.getKey() + "'" +
            (isWeight ? " (the weight or bias of a norm)" : ""));
      }
      row.push_back(placement);
    }
  }
  return result;
}

PlacementAttr InputPlacements::get(unsigned argument,
                                   tp::GroupAttr group) const {
  for (auto [position, known] : llvm::enumerate(groups))
    if (known.hasSameMembers(group))
      return placements[argument][position];
  return {};
}

InputInstance InputPlacements::getInstance(unsigned argument,
                                           int64_t rank) const {
  // Replication and sharding join the ranks of a group; what is not joined
  // holds a tensor of its own.
  auto getIndex = [&](int64_t member) {
    return static_cast<unsigned>(llvm::lower_bound(world, member) -
                                 world.begin());
  };
  llvm::IntEqClasses classes(world.size());
  InputInstance instance;
  for (auto [group, placement] :
       llvm::zip_equal(groups, placements[argument])) {
    if (placement.getKind() != PlacementKind::Replicated &&
        placement.getKind() != PlacementKind::Shard)
      continue;
    for (int64_t index = 0; index < group.getNumGroups(); ++index)
      for (int64_t member : group.getMembers(index))
        classes.join(getIndex(group.getMembers(index).front()),
                     getIndex(member));
    bool isCutAlready =
        llvm::any_of(groups, [&, known = group](tp::GroupAttr other) {
          return other != known && other.hasSameMembers(known) &&
                 std::less<const void *>()(other.getAsOpaquePointer(),
                                           known.getAsOpaquePointer());
        });
    std::optional<int64_t> position = group.getPosition(rank);
    if (placement.getKind() == PlacementKind::Shard && position &&
        !isCutAlready)
      instance.cuts.push_back({placement.getDim(), *position, group.getSize()});
  }
  classes.compress();
  instance.tensor = classes[getIndex(rank)];
  return instance;
}
