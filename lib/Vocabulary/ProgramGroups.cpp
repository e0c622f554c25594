//===- ProgramGroups.cpp - the process groups of a program ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramGroups.h"

#include "KnownCall.h"
#include "OperatorCall.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

void ProgramGroups::collect(const archive::Node &node,
                            const Vocabulary &vocabulary) {
  const OperatorAlias *alias = vocabulary.findAlias(getCalledOperator(node));
  archive::Node known;
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
  // TensorCast's operators identify groups by lists of ranks.
  if (find("rank_group"))
    hasGroupsOfRanks = true;
  const archive::Argument *name = find("group_name");
  if (!name)
    name = find("group");
  if (!name || name->tag != archive::ArgumentTag::String)
    return;
  StringRef key = getKey(name->text);
  auto [entry, isNew] = sizes.insert({key, std::nullopt});
  const archive::Argument *size = find("group_size");
  if (size && size->tag == archive::ArgumentTag::Int && !entry->second)
    entry->second = size->integer;
  if (alias && !alias->vocabulary.empty())
    vocabularies.insert({key, alias->vocabulary});
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
