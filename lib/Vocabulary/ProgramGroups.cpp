//===- ProgramGroups.cpp - the process groups of a program ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramGroups.h"

#include "KnownCall.h"
#include "OperatorCall.h"

#include "commute/Vocabulary/GroupNames.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

namespace {
/// The arguments by which a node identifies its group.
struct GroupArguments {
  GroupArguments(const archive::Node &node, const Vocabulary &vocabulary);
  GroupArguments(const GroupArguments &) = delete;
  GroupArguments &operator=(const GroupArguments &) = delete;

  const OperatorAlias *alias;
  /// Null unless the group has a name.
  const archive::Argument *name = nullptr;
  const archive::Argument *size = nullptr;
  /// The ranks by which TensorCast's operators identify groups.
  const archive::Argument *ranks = nullptr;

private:
  /// With an alias, the call whose arguments these are.
  archive::Node known;
};
} // namespace

GroupArguments::GroupArguments(const archive::Node &node,
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
    GroupArguments group(node, vocabulary);
    return group.name || group.ranks;
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

void ProgramGroups::collect(const archive::Node &node,
                            const Vocabulary &vocabulary) {
  GroupArguments group(node, vocabulary);
  if (group.ranks)
    hasGroupsOfRanks = true;
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

tp::GroupAttr ProgramGroups::get(StringRef stated, std::string &error) {
  StringRef name = getKey(stated);
  auto known = groups.find(name);
  if (known != groups.end())
    return known->second;
  SmallVector<int64_t> ranks;
  int64_t size = 0;
  auto members = distributed.groups.find(name.str());
  if (members != distributed.groups.end()) {
    for (const std::vector<int64_t> &group : members->second)
      llvm::append_range(ranks, group);
    size = members->second.front().size();
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
    bool isOnlyOne =
        sizes.size() == 1 && !hasGroupsOfRanks && !distributed.hasOtherGroups;
    if (isOnlyOne)
      llvm::append_range(ranks, llvm::seq<int64_t>(0, size));
  }
  // The group is valid: ranks in the context were checked when it was parsed.
  tp::GroupAttr group = tp::GroupAttr::get(context, name, size, ranks);
  groups.insert({name, group});
  return group;
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
