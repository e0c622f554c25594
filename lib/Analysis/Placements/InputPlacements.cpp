//===- InputPlacements.cpp - what ranks know of their inputs ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Placements/InputPlacements.h"

#include "commute/Dialect/CarrierAttributes.h"
#include "commute/Support/NamePattern.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/SetVector.h"

#include <map>

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

llvm::Error analysis::checkGroupsAreKnown(ModuleOp module) {
  std::string names, options;
  unsigned count = 0;
  // A program may name any number of groups.
  constexpr unsigned maxListed = 4;
  for (tp::GroupAttr group : getGroups(module)) {
    if (group.hasKnownMembers() || ++count > maxListed)
      continue;
    names += (names.empty() ? "'" : ", '") + group.getName().str() + "' (" +
             std::to_string(group.getSize()) + " ranks)";
    options += (options.empty() ? "--group=" : " --group=") +
               group.getName().str() + "=0-" +
               std::to_string(group.getSize() - 1);
  }
  if (count == 0)
    return llvm::Error::success();
  if (count > maxListed)
    names += " and " + std::to_string(count - maxListed) + " more";
  return llvm::createStringError(
      Twine("the members of ") +
      (count == 1 ? "process group " : "process groups ") + names +
      " are unknown; declare their ranks, for example with " + options +
      " (--group=NAME=0-1/2-3 declares all groups of a mesh axis), or in the "
      "archive's record extra/commute.json");
}

SmallVector<int64_t> analysis::getWorld(ModuleOp module) {
  SmallVector<int64_t> ranks;
  // Many groups may have the same thousands of ranks.
  llvm::SmallDenseSet<ArrayRef<int64_t>> seen;
  for (tp::GroupAttr group : getGroups(module))
    if (seen.insert(group.getRanks()).second)
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

/// One group may have several names. For every group the index of the first
/// that has its members.
static SmallVector<unsigned> getFirstNames(ArrayRef<tp::GroupAttr> groups) {
  SmallVector<unsigned> result;
  DenseMap<std::pair<int64_t, ArrayRef<int64_t>>, unsigned> byMembers;
  DenseMap<std::pair<int64_t, StringRef>, unsigned> byName;
  for (auto [index, group] : llvm::enumerate(groups)) {
    unsigned position = index;
    result.push_back(
        group.hasKnownMembers()
            ? byMembers
                  .try_emplace({group.getSize(), group.getRanks()}, position)
                  .first->second
            : byName.try_emplace({group.getSize(), group.getName()}, position)
                  .first->second);
  }
  return result;
}

/// Numbers the ranks of `world`; ranks that are connected by `groups` get the
/// same number.
static std::vector<unsigned> joinRanks(ArrayRef<int64_t> world,
                                       ArrayRef<tp::GroupAttr> groups) {
  llvm::IntEqClasses classes(world.size());
  auto getIndex = [&](int64_t rank) {
    return static_cast<unsigned>(llvm::lower_bound(world, rank) -
                                 world.begin());
  };
  for (tp::GroupAttr group : groups)
    for (int64_t index = 0; index < group.getNumGroups(); ++index)
      for (int64_t member : group.getMembers(index))
        classes.join(getIndex(group.getMembers(index).front()),
                     getIndex(member));
  classes.compress();
  std::vector<unsigned> numbers;
  for (unsigned index = 0; index < world.size(); ++index)
    numbers.push_back(classes[index]);
  return numbers;
}

llvm::Expected<InputPlacements>
InputPlacements::resolve(func::FuncOp function) {
  if (llvm::Error error =
          checkGroupsAreKnown(function->getParentOfType<ModuleOp>()))
    return std::move(error);
  llvm::Expected<InputPlacements> result = resolveInAnyWorld(function);
  if (!result)
    return result.takeError();
  // Many inputs are joined alike; the world may have thousands of ranks.
  std::map<std::vector<bool>, unsigned> known;
  for (const auto &row : result->placements) {
    std::vector<bool> isJoined;
    SmallVector<tp::GroupAttr> joined;
    for (auto [group, placement] : llvm::zip_equal(result->groups, row)) {
      isJoined.push_back(placement.getKind() == PlacementKind::Replicated ||
                         placement.getKind() == PlacementKind::Shard);
      if (isJoined.back())
        joined.push_back(group);
    }
    auto [place, isNew] = known.try_emplace(isJoined, result->tensors.size());
    if (isNew)
      result->tensors.push_back(joinRanks(result->world, joined));
    result->tensorsOfInput.push_back(place->second);
  }
  return result;
}

/// The placement of an input that is stated under any of the names of each
/// group; by the index of the first name.
static llvm::Expected<DenseMap<unsigned, PlacementAttr>>
collectStated(BlockArgument argument, StringRef name, DictionaryAttr stated,
              ArrayRef<tp::GroupAttr> groups, ArrayRef<unsigned> firstNames) {
  DenseMap<unsigned, PlacementAttr> result;
  DenseMap<unsigned, tp::GroupAttr> statedBy;
  if (!stated)
    return result;
  auto type = dyn_cast<RankedTensorType>(argument.getType());
  for (auto [group, first] : llvm::zip_equal(groups, firstNames)) {
    auto placement = stated.getAs<PlacementAttr>(group.getKey());
    if (!placement)
      continue;
    if (placement.getKind() == PlacementKind::Shard &&
        (!type || placement.getDim() >= type.getRank()))
      return llvm::createStringError("input '" + name + "' is placed " +
                                     placement.getText() +
                                     ", but has no such dim");
    auto [known, isNew] = result.try_emplace(first, placement);
    if (!isNew && known->second != placement)
      return llvm::createStringError(
          "input '" + name + "' is placed " + placement.getText() +
          " on group '" + group.getKey() + "' and " + known->second.getText() +
          " on group '" + statedBy[first].getKey() +
          "', which has the same members");
    statedBy.try_emplace(first, group);
  }
  return result;
}

std::string analysis::getPlacedName(BlockArgument input) {
  auto function = cast<func::FuncOp>(input.getOwner()->getParentOp());
  unsigned index = input.getArgNumber();
  for (StringRef key :
       {tp::TPDialect::parameterAttrName, tp::TPDialect::nameAttrName})
    if (auto name = function.getArgAttrOfType<StringAttr>(index, key))
      return name.str();
  return "arg" + std::to_string(index);
}

std::vector<std::string> InputPlacements::describe(func::FuncOp function,
                                                   bool areStated) const {
  std::vector<std::string> lines;
  for (auto [position, group] : llvm::enumerate(groups)) {
    // By placement, the number of inputs with each name.
    std::map<std::string, std::map<std::string, unsigned>> names;
    for (BlockArgument argument : function.getArguments()) {
      unsigned index = argument.getArgNumber();
      PlacementAttr placement = placements[index][position];
      if (stated[index][position] == areStated &&
          placement.getKind() != PlacementKind::Varying)
        ++names[placement.getText()][getNamePattern(getPlacedName(argument))];
    }
    for (const auto &[placement, patterns] : names) {
      std::string line =
          "on group '" + group.getKey() + "', " + placement + ": ";
      bool isFirst = true;
      for (const auto &[pattern, count] : patterns) {
        line += (isFirst ? "" : ", ") + pattern;
        if (count > 1)
          line += " (" + std::to_string(count) + " inputs)";
        isFirst = false;
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

std::vector<std::string>
InputPlacements::describeStatements(func::FuncOp function) const {
  return describe(function, /*areStated=*/true);
}

std::vector<std::string>
InputPlacements::describeDefaults(func::FuncOp function) const {
  std::vector<std::string> lines = describe(function, /*areStated=*/false);
  for (std::string &line : lines)
    line += " (weights or biases of norms)";
  return lines;
}

llvm::Expected<InputPlacements>
InputPlacements::resolveInAnyWorld(func::FuncOp function, Default defaults) {
  auto module = function->getParentOfType<ModuleOp>();
  MLIRContext *context = function.getContext();
  InputPlacements result;
  if (module->hasAttr(tp::noPlacementDefaultsAttrName))
    defaults = Default::Varying;
  if (auto premise =
          module->getAttrOfType<StringAttr>(tp::groupPremiseAttrName))
    result.assumptions.push_back("of groups: " + premise.str());
  result.world = analysis::getWorld(module);
  assert(llvm::is_sorted(result.world) && "the ranks of a world ascend");
  SmallVector<tp::GroupAttr> names = getGroups(module);
  SmallVector<unsigned> firstNames = getFirstNames(names);
  for (auto [index, group] : llvm::enumerate(names))
    if (firstNames[index] == index)
      result.groups.push_back(group);
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto nameAttr = function.getArgAttrOfType<StringAttr>(
        index, tp::TPDialect::nameAttrName);
    std::string name = nameAttr ? nameAttr.str() : "#" + std::to_string(index);
    auto stated = function.getArgAttrOfType<DictionaryAttr>(
        index, tp::TPDialect::placementsAttrName);
    llvm::Expected<DenseMap<unsigned, PlacementAttr>> known =
        collectStated(argument, name, stated, names, firstNames);
    if (!known)
      return known.takeError();
    bool isWeight =
        defaults == Default::NormsReplicated && isNormWeight(argument);
    auto &row = result.placements.emplace_back();
    auto &isStated = result.stated.emplace_back();
    for (auto [position, group] : llvm::enumerate(names)) {
      if (firstNames[position] != position)
        continue;
      PlacementAttr placement = known->lookup(position);
      isStated.push_back(bool(placement));
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

bool InputPlacements::isStated(unsigned argument, tp::GroupAttr group) const {
  for (auto [position, known] : llvm::enumerate(groups))
    if (known.hasSameMembers(group))
      return stated[argument][position];
  return false;
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
  // Ranks that replicate or shard an input hold the same tensor; all other
  // ranks hold tensors of their own.
  InputInstance instance;
  for (auto [group, placement] :
       llvm::zip_equal(groups, placements[argument])) {
    std::optional<int64_t> position = group.getPosition(rank);
    if (placement.getKind() == PlacementKind::Shard && position)
      instance.cuts.push_back({placement.getDim(), *position, group.getSize()});
  }
  instance.tensor = tensors[tensorsOfInput[argument]]
                           [llvm::lower_bound(world, rank) - world.begin()];
  return instance;
}
