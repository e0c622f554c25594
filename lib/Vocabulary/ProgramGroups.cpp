//===- ProgramGroups.cpp - the process groups of a program ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramGroups.h"

#include "KnownCall.h"
#include "OperatorCall.h"

#include "commute/Vocabulary/GroupCompletion.h"
#include "commute/Vocabulary/GroupNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

struct ProgramGroups::Arguments {
  Arguments(const archive::Node &node, const Vocabulary &vocabulary);
  Arguments(const Arguments &) = delete;
  Arguments &operator=(const Arguments &) = delete;

  const OperatorAlias *alias;
  /// Null unless the group has a name.
  const archive::Argument *name = nullptr;
  const archive::Argument *size = nullptr;
  /// The ranks by which TensorCast's operators identify groups.
  const archive::Argument *ranks = nullptr;
  /// This rank, in such operators.
  const archive::Argument *rank = nullptr;

private:
  /// With an alias, the call whose arguments these are.
  archive::Node known;
};

ProgramGroups::Arguments::Arguments(const archive::Node &node,
                                    const Vocabulary &vocabulary)
    : alias(vocabulary.findAlias(getCalledOperator(node))) {
  if (alias) {
    llvm::Expected<archive::Node> call = getKnownCall(node, *alias);
    if (!call) {
      llvm::consumeError(call.takeError());
      return;
    }
    known = std::move(*call);
  }
  auto find = [&](StringRef argument) {
    return (alias ? known : node).find(argument);
  };
  ranks = find("rank_group");
  if (ranks)
    rank = find("rank");
  name = find("group_name");
  if (!name)
    name = find("group");
  if (name && name->tag != archive::ArgumentTag::String)
    name = nullptr;
  if (name)
    size = find("group_size");
}

bool vocabulary::namesGroups(const archive::Graph &graph,
                             const Vocabulary &vocabulary) {
  return llvm::any_of(graph.nodes, [&](const archive::Node &node) {
    return ProgramGroups::namesGroup(node, vocabulary);
  });
}

void vocabulary::renameGroups(archive::Program &program,
                              const std::map<std::string, std::string> &names) {
  for (archive::Node &node : program.graph.nodes)
    for (archive::NamedArgument &input : node.inputs) {
      if (input.value.tag != archive::ArgumentTag::String ||
          (input.name != "group_name" && input.name != "group"))
        continue;
      auto found = names.find(input.value.text.str());
      if (found != names.end())
        input.value.text = program.strings.save(found->second);
    }
}

bool ProgramGroups::namesGroup(const archive::Node &node,
                               const Vocabulary &vocabulary) {
  Arguments group(node, vocabulary);
  return group.name || group.ranks;
}

void ProgramGroups::collect(const archive::Node &node,
                            const Vocabulary &vocabulary) {
  Arguments group(node, vocabulary);
  if (group.ranks)
    collectRanks(group);
  if (!group.name)
    return;
  StringRef key = getKey(group.name->text);
  auto [known, isNew] = sizes.insert({key, std::nullopt});
  if (group.size && group.size->tag == archive::ArgumentTag::Int &&
      !known->second)
    known->second = group.size->integer;
  if (group.alias && !group.alias->vocabulary.empty())
    vocabularies.insert({key, group.alias->vocabulary});
}

void ProgramGroups::collectRanks(const Arguments &arguments) {
  if (!arguments.rank || arguments.rank->tag != archive::ArgumentTag::Int ||
      (arguments.ranks->tag != archive::ArgumentTag::Ints &&
       arguments.ranks->tag != archive::ArgumentTag::SymInts))
    return;
  std::vector<int64_t> members;
  llvm::SmallDenseSet<int64_t> seen;
  for (const archive::Argument &element : arguments.ranks->elements) {
    // The node is not read if its group is not valid.
    if (element.namesValue() || element.integer < 0 ||
        element.integer >= tp::GroupAttr::maxRanks ||
        !seen.insert(element.integer).second)
      return;
    members.push_back(element.integer);
  }
  if (!seen.contains(arguments.rank->integer))
    return;
  if (!rankOfLists)
    rankOfLists = arguments.rank->integer;
  groupsOfRanks.try_emplace(members, GroupRanks{members});
}

void ProgramGroups::complete() {
  std::vector<GroupRanks> stated;
  llvm::append_range(stated, llvm::make_second_range(groupsOfRanks));
  SmallVector<StringRef> names;
  for (const auto &[name, ranks] : distributed.groups) {
    // The members of other ranks' groups are in the programs of these ranks. An
    // option for a group that the program lacks is an error.
    bool isMistake = distributed.groupOptions.count(name) && !sizes.count(name);
    if (distributed.hasOtherPrograms || isMistake)
      continue;
    names.push_back(name);
    stated.push_back(ranks);
  }
  if (!lacksOtherGroups(stated))
    return;
  std::optional<int64_t> rank = rankOfLists ? rankOfLists : distributed.rank;
  if (!rank)
    rank = findCommonRank(stated);
  std::optional<std::vector<GroupRanks>> all;
  if (rank)
    all = completeGroups(stated, *rank);
  if (all) {
    premise = describeCompletion(stated, *all, *rank);
    auto next = all->begin();
    for (auto &[members, ranks] : groupsOfRanks)
      ranks = std::move(*next++);
    for (StringRef name : names)
      completed[name.str()] = std::move(*next++);
  } else if (!distributed.hasOtherPrograms) {
    limitation = describeIncomplete(stated);
  }
}

StringRef ProgramGroups::getKey(StringRef name) const {
  for (const auto &[group, processGroup] : distributed.processGroups)
    if (processGroup == name && distributed.groups.count(group))
      return group;
  return name;
}

DictionaryAttr ProgramGroups::getSpellings(const Vocabulary &vocabulary) const {
  Builder builder(context);
  SmallVector<NamedAttribute> spellings;
  for (const auto &[name, used] : vocabularies) {
    tp::GroupSpelling spelling = getSpelling(vocabulary, used, name);
    spellings.push_back(
        builder.getNamedAttr(name, spelling.toAttribute(context)));
  }
  return builder.getDictionaryAttr(spellings);
}

tp::GroupSpelling ProgramGroups::getSpelling(const Vocabulary &vocabulary,
                                             StringRef used,
                                             StringRef group) const {
  auto find = [&](StringRef collective) {
    std::string sameAs =
        ("torch.ops._c10d_functional." + collective + ".default").str();
    return vocabulary.findAliasOf(used, sameAs).second;
  };
  tp::GroupSpelling spelling;
  spelling.vocabulary = used;
  const OperatorAlias *gather = find("all_gather_into_tensor");
  const OperatorAlias *scatter = find("reduce_scatter_tensor");
  spelling.gathersAnyDim = gather && gather->isKnown("dim");
  spelling.scattersAnyDim = scatter && scatter->isKnown("dim");
  auto stated = distributed.processGroups.find(group.str());
  if (stated != distributed.processGroups.end())
    spelling.processGroup = stated->second;
  else if (!vocabulary.findVocabulary(used)->hasOwnGroupNames)
    spelling.processGroup = group;
  spelling.hasReduceScatter = scatter || !spelling.processGroup.empty();
  spelling.onlySums = scatter && scatter->constants.count("reduce_op") &&
                      spelling.processGroup.empty();
  return spelling;
}

const GroupRanks *ProgramGroups::findMembers(StringRef name) const {
  for (const auto *known : {&completed, &distributed.groups})
    if (auto members = known->find(name.str()); members != known->end())
      return &members->second;
  return nullptr;
}

tp::GroupAttr ProgramGroups::get(StringRef stated, std::string &error) {
  StringRef name = getKey(stated);
  auto known = groups.find(name);
  if (known != groups.end())
    return known->second;
  if (!limitation.empty())
    return {};
  SmallVector<int64_t> ranks;
  int64_t size = 0;
  if (const GroupRanks *members = findMembers(name)) {
    for (const std::vector<int64_t> &group : *members)
      llvm::append_range(ranks, group);
    size = members->front().size();
  } else {
    size = sizes.lookup(name).value_or(0);
    if (size < 1 || size > tp::GroupAttr::maxRanks) {
      error = "the members of process group '" + name.str() +
              "' are not stated: pass --group=" + name.str() +
              "=0-3 (its ranks), or list them in the archive's record "
              "extra/commute.json";
      return {};
    }
    // The only group of a program consists of all ranks. With several groups,
    // members must be stated.
    bool isOnlyOne = sizes.size() == 1 && groupsOfRanks.empty() &&
                     !distributed.hasOtherGroups;
    if (isOnlyOne)
      llvm::append_range(ranks, llvm::seq<int64_t>(0, size));
  }
  // The group is valid: ranks in the context were checked when it was parsed.
  tp::GroupAttr group = tp::GroupAttr::get(context, name, size, ranks);
  groups.insert({name, group});
  return group;
}

tp::GroupAttr ProgramGroups::getOfRanks(ArrayRef<int64_t> ranks) {
  auto all = groupsOfRanks.find(ranks.vec());
  if (all == groupsOfRanks.end() || !limitation.empty())
    return {};
  SmallVector<int64_t> flat;
  for (const std::vector<int64_t> &group : all->second)
    llvm::append_range(flat, group);
  return tp::GroupAttr::get(context, /*name=*/"", ranks.size(), flat);
}

ArrayRef<Attribute> ProgramGroups::addStated() {
  std::string ignored;
  for (const auto &[name, ranks] : distributed.groups)
    get(StringAttr::get(context, name).getValue(), ignored);
  SmallVector<tp::GroupAttr> known = getRead();
  all.assign(known.begin(), known.end());
  return all;
}

SmallVector<tp::GroupAttr> ProgramGroups::getRead() const {
  return llvm::to_vector(llvm::make_second_range(groups));
}

SmallVector<StringRef> ProgramGroups::getNotRead() const {
  SmallVector<StringRef> names;
  for (const auto &[name, size] : sizes)
    if (!groups.contains(name))
      names.push_back(name);
  return names;
}

bool ProgramGroups::hasUnstated() const {
  return llvm::any_of(llvm::make_first_range(sizes), [&](StringRef name) {
    return distributed.groups.count(name.str()) == 0;
  });
}
