//===- StatedPlacements.cpp - placements stated by the user -----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/StatedPlacements.h"

#include "commute/Dialect/SizeAssumption.h"
#include "commute/Dialect/SymbolNames.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

bool StatedNames::hasGroup(StringRef key) const {
  std::string known = getKey(key);
  return llvm::any_of(
             groups,
             [&](tp::GroupAttr group) { return group.getKey() == known; }) ||
         llvm::is_contained(otherGroups, key);
}

std::string StatedNames::getKey(StringRef stated) const {
  for (tp::GroupAttr group : groups) {
    std::string key = group.getKey();
    if (group.getName().empty() &&
        llvm::is_contained(llvm::split(key, '/'), stated))
      return key;
  }
  return stated.str();
}

/// Returns, for example, "the program has no such group; its groups are 'dp'
/// and 'tp'".
static std::string describeGroups(const StatedNames &program) {
  SmallVector<std::string> names;
  for (tp::GroupAttr group : program.groups)
    names.push_back(group.getKey());
  for (StringRef name : program.otherGroups)
    names.push_back(name.str());
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  if (names.empty())
    return "the program has no groups";
  // Limit the list: a program may name any number of groups.
  constexpr size_t maxListed = 8;
  std::string text = "the program has no such group; its groups are ";
  for (auto [index, name] : llvm::enumerate(names)) {
    if (index == maxListed)
      return text + " and " + std::to_string(names.size() - index) + " more";
    bool isLast = index + 1 == names.size();
    text += (index == 0 ? "'" : isLast ? " and '" : ", '") + name + "'";
  }
  return text;
}

static llvm::Error checkRank(int64_t rank, const StatedNames &program) {
  bool isInGroup = llvm::any_of(program.groups, [&](tp::GroupAttr group) {
    return !group.hasKnownMembers() || group.getPosition(rank);
  });
  if (isInGroup || !program.otherGroups.empty())
    return llvm::Error::success();
  if (!program.groups.empty())
    return llvm::createStringError(
        "rank " + Twine(rank) +
        " is not a member of any of the graph's groups");
  if (rank == 0)
    return llvm::Error::success();
  return llvm::createStringError(
      "rank " + Twine(rank) +
      ": the program has no groups, so it runs on rank 0 only");
}

/// Returns true if the stated group could be the result of merging several
/// groups of the program, that is, if they contain all of its ranks, and none
/// of them contains those of one stated list.
static bool couldJoinGroups(const GroupRanks &stated,
                            const DistributedContext &distributed,
                            const StatedNames &program) {
  llvm::DenseSet<int64_t> world;
  for (tp::GroupAttr group : program.groups)
    world.insert(group.getRanks().begin(), group.getRanks().end());
  for (const auto &[name, ranks] : distributed.groups)
    if (program.hasGroup(name))
      for (const std::vector<int64_t> &members : ranks)
        world.insert(members.begin(), members.end());
  auto contains = [](ArrayRef<int64_t> group, ArrayRef<int64_t> members) {
    return llvm::all_of(
        members, [&](int64_t rank) { return llvm::is_contained(group, rank); });
  };
  return llvm::all_of(stated, [&](const std::vector<int64_t> &members) {
    bool isInWorld = llvm::all_of(
        members, [&](int64_t rank) { return world.contains(rank); });
    bool isInGroup = llvm::any_of(program.groups, [&](tp::GroupAttr group) {
      if (!group.hasKnownMembers())
        return false;
      for (int64_t index = 0; index < group.getNumGroups(); ++index)
        if (contains(group.getMembers(index), members))
          return true;
      return false;
    });
    return isInWorld && !isInGroup;
  });
}

llvm::Error vocabulary::checkStatedGroups(const DistributedContext &distributed,
                                          const StatedNames &program,
                                          bool hasUnstated) {
  for (const auto &[name, ranks] : distributed.groups) {
    if (program.hasGroup(name))
      continue;
    bool isOption = distributed.groupOptions.count(name) > 0;
    if (hasUnstated ||
        (isOption && !couldJoinGroups(ranks, distributed, program)))
      return llvm::createStringError("the members of group '" + name +
                                     "' are stated, but " +
                                     describeGroups(program));
  }
  return llvm::Error::success();
}

llvm::Error
vocabulary::checkStatedAssumptions(ModuleOp module,
                                   const DistributedContext &distributed,
                                   const StatedNames &program) {
  if (distributed.assumptions.empty())
    return llvm::Error::success();
  std::set<StringRef> symbols(program.otherSymbols.begin(),
                              program.otherSymbols.end());
  if (auto hints = module->getAttrOfType<DictionaryAttr>(
          tp::TPDialect::symbolHintsAttrName))
    for (NamedAttribute hint : hints)
      symbols.insert(hint.getName().getValue());
  llvm::DenseSet<Type> seen;
  auto add = [&](Type type) {
    if (!seen.insert(type).second)
      return;
    for (StringAttr symbol : tp::getSymbolNames(type))
      symbols.insert(symbol.getValue());
  };
  module.walk([&](Block *block) {
    llvm::for_each(block->getArgumentTypes(), add);
    for (Operation &op : *block)
      llvm::for_each(op.getResultTypes(), add);
  });
  for (const std::string &text : distributed.assumptions) {
    llvm::Expected<tp::SizeAssumption> assumption =
        tp::parseSizeAssumption(text);
    if (!assumption)
      return assumption.takeError();
    for (const std::string &symbol : assumption->symbols)
      if (!symbols.count(symbol))
        return llvm::createStringError(
            "'" + text + "' is assumed, but the program has no symbolic size " +
            symbol);
  }
  return llvm::Error::success();
}

llvm::Error vocabulary::statePlacements(func::FuncOp function,
                                        const DistributedContext &distributed,
                                        const StatedNames &program,
                                        std::optional<int64_t> rank) {
  MLIRContext *context = function.getContext();
  Builder builder(context);
  std::vector<std::pair<llvm::Regex, const PlacementRule *>> rules;
  rules.reserve(distributed.rules.size());
  for (const PlacementRule &rule : distributed.rules)
    rules.emplace_back(llvm::Regex("^(" + rule.pattern + ")$"), &rule);
  std::vector<bool> ruleMatched(rules.size());
  std::map<std::string, bool> inputKnown;
  for (const auto &[name, placements] : distributed.inputs)
    inputKnown[name] = false;

  SmallVector<DictionaryAttr> inputAttributes;
  for (unsigned index = 0; index < function.getNumArguments(); ++index) {
    NamedAttrList attributes(function.getArgAttrDict(index));
    // Handwritten modules need not name their inputs; use the position instead.
    auto name = dyn_cast_if_present<StringAttr>(
        attributes.get(tp::TPDialect::nameAttrName));
    if (!name)
      name = builder.getStringAttr("arg" + Twine(index));
    auto parameter = dyn_cast_if_present<StringAttr>(
        attributes.get(tp::TPDialect::parameterAttrName));
    std::map<std::string, std::string> stated;
    for (StringAttr key : {parameter, name}) {
      if (!key)
        continue;
      auto found = distributed.inputs.find(key.str());
      if (found == distributed.inputs.end())
        continue;
      inputKnown[key.str()] = true;
      for (const auto &[group, placement] : found->second) {
        if (!program.hasGroup(group) && !distributed.groups.count(group))
          return llvm::createStringError(
              "input '" + key.getValue() + "' is placed " + placement +
              " on group '" + group + "', but " + describeGroups(program));
        stated[program.getKey(group)] = placement;
      }
    }
    for (auto [ruleIndex, item] : llvm::enumerate(rules)) {
      auto &[regex, rule] = item;
      if (!regex.match(name.getValue()) &&
          !(parameter && regex.match(parameter.getValue())))
        continue;
      ruleMatched[ruleIndex] = true;
      if (!rule->group.empty()) {
        stated[program.getKey(rule->group)] = rule->placement;
        continue;
      }
      for (tp::GroupAttr group : program.groups)
        stated[group.getKey()] = rule->placement;
      for (const auto &[group, ranks] : distributed.groups)
        stated[group] = rule->placement;
    }
    NamedAttrList placements(dyn_cast_if_present<DictionaryAttr>(
        attributes.get(tp::TPDialect::placementsAttrName)));
    for (const auto &[group, text] : stated) {
      auto placement = tp::PlacementAttr::parseText(context, text);
      auto type =
          dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
      int64_t rank = type ? type.getRank() : 0;
      if (placement.getKind() == tp::PlacementKind::Shard &&
          placement.getDim() >= rank)
        return llvm::createStringError("input '" + name.getValue() + "' has " +
                                       Twine(rank) + " dims, but is placed " +
                                       text + " on group '" + group + "'");
      placements.set(group, placement);
    }
    if (!placements.empty())
      attributes.set(tp::TPDialect::placementsAttrName,
                     placements.getDictionary(context));
    inputAttributes.push_back(attributes.getDictionary(context));
  }
  function.setAllArgAttrs(inputAttributes);
  for (const PlacementRule &rule : distributed.rules)
    if (!rule.group.empty() && !program.hasGroup(rule.group) &&
        !distributed.groups.count(rule.group))
      return llvm::createStringError("--input-placement=" + rule.pattern + "=" +
                                     rule.placement + "@" + rule.group + ": " +
                                     describeGroups(program));
  if (rank)
    if (llvm::Error error = checkRank(*rank, program))
      return error;
  for (const auto &[name, isFound] : inputKnown)
    if (!isFound)
      return llvm::createStringError(
          "a placement is stated for '" + name +
          "', but the graph has no input of that name");
  for (auto [item, matched] : llvm::zip_equal(rules, ruleMatched))
    if (!matched)
      return llvm::createStringError(
          "no input matches --input-placement=" + item.second->pattern + "=" +
          item.second->placement);
  return llvm::Error::success();
}
