//===- ProgramGroups.cpp - the process groups of a program ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProgramGroups.h"

using namespace mlir;
using namespace commute;
using namespace commute::vocabulary;

void ProgramGroups::collect(const archive::Node &node,
                            const Vocabulary &vocabulary) {
  const OperatorAlias *alias = vocabulary.findAlias(node.target);
  auto find = [&](StringRef argument) {
    return node.find(alias ? alias->getOwnName(argument) : argument);
  };
  // TensorCast's operators identify groups by lists of ranks.
  if (find("rank_group"))
    hasGroupsOfRanks = true;
  const archive::Argument *name = find("group_name");
  if (!name)
    name = find("group");
  if (!name || name->tag != archive::ArgumentTag::String)
    return;
  auto [known, isNew] = sizes.insert({name->text, std::nullopt});
  const archive::Argument *size = find("group_size");
  if (size && size->tag == archive::ArgumentTag::Int && !known->second)
    known->second = size->integer;
}

tp::GroupAttr ProgramGroups::get(StringRef name, std::string &error) {
  auto known = groups.find(name);
  if (known != groups.end())
    return known->second;
  SmallVector<int64_t> ranks;
  int64_t size = 0;
  auto stated = distributed.groups.find(name.str());
  if (stated != distributed.groups.end()) {
    for (const std::vector<int64_t> &members : stated->second)
      llvm::append_range(ranks, members);
    size = stated->second.front().size();
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
