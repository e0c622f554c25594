//===- EditedProgram.cpp - edited programs in memory ----------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Archive/Program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace commute::archive;

/// New names by the position of the name that they replace.
using NewNames = llvm::DenseMap<uint32_t, llvm::StringRef>;

static NewNames getNewNames(llvm::ArrayRef<ProgramEdits::Rename> renames) {
  NewNames result;
  for (const ProgramEdits::Rename &rename : renames)
    result[rename.span.begin] = rename.name;
  return result;
}

static void renameValues(Argument &argument, const NewNames &names) {
  argument.forEachValue([&](Argument &value) {
    if (auto name = names.find(value.nameSpan.begin); name != names.end())
      value.text = name->second;
  });
}

std::unique_ptr<Program>
ProgramEdits::applyInMemory(const Program &program) const {
  auto result = std::make_unique<Program>();
  result->origin = program.origin;
  result->inputSpecs = program.inputSpecs;
  result->outputSpecs = program.outputSpecs;
  result->call = program.call;
  result->rangeConstraints = program.rangeConstraints;
  result->schemaMajor = program.schemaMajor;
  result->schemaMinor = program.schemaMinor;
  result->torchVersion = program.torchVersion;
  result->outerNames = program.outerNames;

  const Graph &source = program.graph;
  Graph &graph = result->graph;
  graph.holdsFunctions = source.holdsFunctions;
  graph.inputs = source.inputs;
  graph.outputs = source.outputs;
  graph.symIntValues = source.symIntValues;
  graph.symBoolValues = source.symBoolValues;
  graph.symFloatValues = source.symFloatValues;
  NewNames outer = getNewNames(outerRenames);
  for (Argument &output : graph.outputs)
    renameValues(output, outer);
  for (OutputSpec &spec : result->outputSpecs)
    renameValues(spec.argument, outer);
  for (Argument &name : result->outerNames)
    renameValues(name, outer);

  for (const NodeItem &item : nodes) {
    graph.nodes.push_back(item.source ? source.nodes[*item.source]
                                      : item.added);
    Node &node = graph.nodes.back();
    if (item.source && item.renames.empty())
      continue;
    NewNames names = getNewNames(item.renames);
    for (NamedArgument &input : node.inputs)
      renameValues(input.value, names);
    for (Argument &output : node.outputs)
      renameValues(output, names);
    node.numberValues();
    if (!item.source && item.added.origin)
      node.stackTrace = source.nodes[*item.added.origin].stackTrace;
  }

  llvm::DenseSet<llvm::StringRef> removed(removedValues.begin(),
                                          removedValues.end());
  for (const auto &[name, meta] : source.tensorValues)
    if (!removed.contains(name))
      graph.tensorValues.insert({name, meta});
  // The last entry for a name is the valid one.
  for (const auto &[name, meta] : addedValues)
    graph.tensorValues[name] = meta;
  for (const auto &[name, number] : addedNumbers)
    graph.symIntValues[name] = number;
  return result;
}
