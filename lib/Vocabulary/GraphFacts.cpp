//===- GraphFacts.cpp - facts about the values of a graph -----------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "GraphFacts.h"

using namespace commute;
using archive::Argument;
using llvm::StringRef;

llvm::DenseSet<StringRef>
vocabulary::getUsedNames(const archive::Graph &graph) {
  llvm::DenseSet<StringRef> names;
  auto add = [&](const Argument &value) { names.insert(value.text); };
  for (const archive::Node &node : graph.nodes)
    for (const archive::NamedArgument &input : node.inputs)
      input.value.forEachValue(add);
  for (const Argument &output : graph.outputs)
    output.forEachValue(add);
  return names;
}

bool vocabulary::areOnSameDevice(const archive::Graph &graph, StringRef a,
                                 StringRef b) {
  auto first = graph.tensorValues.find(a), second = graph.tensorValues.find(b);
  if (first == graph.tensorValues.end() || second == graph.tensorValues.end())
    return false;
  const archive::TensorMeta &x = first->second, &y = second->second;
  return x.device.type == y.device.type && x.device.index == y.device.index &&
         x.layout == y.layout;
}
