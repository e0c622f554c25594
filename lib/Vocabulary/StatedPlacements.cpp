//===- StatedPlacements.cpp - placements that people state ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/StatedPlacements.h"

#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

llvm::Error vocabulary::statePlacements(func::FuncOp function,
                                        const DistributedContext &distributed,
                                        ArrayRef<tp::GroupAttr> groups,
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
    // A module written by hand need not name its inputs: they go by place.
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
      for (const auto &[group, placement] : found->second)
        stated[group] = placement;
    }
    for (auto [ruleIndex, item] : llvm::enumerate(rules)) {
      auto &[regex, rule] = item;
      if (!regex.match(name.getValue()) &&
          !(parameter && regex.match(parameter.getValue())))
        continue;
      ruleMatched[ruleIndex] = true;
      if (!rule->group.empty()) {
        stated[rule->group] = rule->placement;
        continue;
      }
      for (tp::GroupAttr group : groups)
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
      if (placement.getKind() == tp::PlacementKind::Shard && type &&
          placement.getDim() >= type.getRank())
        return llvm::createStringError(
            "input '" + name.getValue() + "' has " + Twine(type.getRank()) +
            " dims, but is placed " + text + " on group '" + group + "'");
      placements.set(group, placement);
    }
    if (!placements.empty())
      attributes.set(tp::TPDialect::placementsAttrName,
                     placements.getDictionary(context));
    inputAttributes.push_back(attributes.getDictionary(context));
  }
  function.setAllArgAttrs(inputAttributes);
  auto isKnown = [&](StringRef name) {
    return llvm::any_of(
        groups, [&](tp::GroupAttr group) { return group.getKey() == name; });
  };
  for (const PlacementRule &rule : distributed.rules)
    if (!rule.group.empty() && !isKnown(rule.group) &&
        !distributed.groups.count(rule.group))
      return llvm::createStringError("--input-placement=" + rule.pattern + "=" +
                                     rule.placement + "@" + rule.group +
                                     ": the graph has no group of that name");
  bool isInGroup = llvm::any_of(groups, [&](tp::GroupAttr group) {
    return rank && !group.getMembersAround(*rank).empty();
  });
  if (rank && !groups.empty() && !isInGroup)
    return llvm::createStringError("rank " + Twine(*rank) +
                                   " is in none of the graph's groups");
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
