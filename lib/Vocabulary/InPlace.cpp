//===- InPlace.cpp - which values a graph writes into -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "InPlace.h"

#include "llvm/ADT/EquivalenceClasses.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::Node;
using llvm::StringRef;

/// "add_" for "torch.ops.aten.add_.Tensor".
static StringRef getOperatorName(StringRef target) {
  if (!target.starts_with("torch.ops."))
    return {};
  return target.rsplit('.').first.rsplit('.').second;
}

llvm::SmallVector<StringRef, 2>
vocabulary::getMutatedArguments(const Node &node, const OperatorEntry *entry) {
  llvm::SmallVector<StringRef, 2> names;
  if (entry)
    names.append(entry->mutatedArguments.begin(),
                 entry->mutatedArguments.end());
  StringRef name = getOperatorName(node.target);
  // "__or__" and the like are functional.
  bool isInPlace = name.ends_with("_") && !name.ends_with("__");
  if (isInPlace && !node.inputs.empty())
    names.push_back(node.inputs.front().name);
  if (node.find("out"))
    names.push_back("out");
  // An operator of which nothing is known and that gives nothing is called for
  // what it writes. ATen's own such operators are assertions.
  if (names.empty() && !entry && node.outputs.empty() &&
      node.target.starts_with("torch.ops.") &&
      !node.target.starts_with("torch.ops.aten."))
    for (const archive::NamedArgument &input : node.inputs)
      names.push_back(input.name);
  return names;
}

llvm::DenseSet<StringRef>
vocabulary::findMutatedValues(const archive::Graph &graph,
                              const Vocabulary &vocabulary) {
  auto getEntry = [&](const Node &node) {
    const OperatorAlias *alias = vocabulary.findAlias(node.target);
    return vocabulary.find(alias ? StringRef(alias->sameAs) : node.target);
  };
  std::vector<StringRef> written;
  for (const Node &node : graph.nodes)
    for (StringRef name : getMutatedArguments(node, getEntry(node)))
      if (const Argument *argument = node.find(name))
        argument->forEachValue(
            [&](const Argument &value) { written.push_back(value.text); });
  // Nearly every graph ends here.
  llvm::DenseSet<StringRef> result;
  if (written.empty())
    return result;

  // Values that may share memory: a view and what it is a view of, and the
  // result of an in-place form and what it writes into. Of operators that the
  // vocabulary does not know, every result may be a view of every operand.
  llvm::EquivalenceClasses<StringRef> sharing;
  for (const Node &node : graph.nodes) {
    const OperatorEntry *entry = getEntry(node);
    bool isWriting = !getMutatedArguments(node, entry).empty();
    if (entry && entry->read && !entry->mayAlias && !isWriting)
      continue;
    std::optional<StringRef> first;
    auto unite = [&](const Argument &value) {
      if (value.tag != archive::ArgumentTag::Tensor)
        return;
      if (first)
        sharing.unionSets(*first, value.text);
      else
        first = value.text;
    };
    for (const archive::NamedArgument &input : node.inputs)
      input.value.forEachValue(unite);
    for (const Argument &output : node.outputs)
      output.forEachValue(unite);
  }
  for (StringRef name : written) {
    result.insert(name);
    auto leader = sharing.findLeader(name);
    for (; leader != sharing.member_end(); ++leader)
      result.insert(*leader);
  }
  return result;
}
