//===- FunctionArguments.cpp - arguments of Python functions ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "FunctionArguments.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using archive::Node;
using llvm::StringRef;

/// Returns the index of the parameter that readers call `name`.
static std::optional<size_t> findParameter(const OperatorEntry *entry,
                                           StringRef name) {
  if (!entry)
    return std::nullopt;
  for (auto [position, parameter] : llvm::enumerate(entry->parameters))
    if (parameter.name == name)
      return position;
  return std::nullopt;
}

/// Returns the indices in the node's inputs of the positional arguments,
/// beginning with the positional argument `first`.
static llvm::SmallVector<size_t> getPositional(const Node &node, size_t first) {
  llvm::SmallVector<size_t> positions;
  for (auto [position, input] : llvm::enumerate(node.inputs))
    if (input.name.empty())
      positions.push_back(position);
  positions.erase(positions.begin(),
                  positions.begin() + std::min(first, positions.size()));
  return positions;
}

std::optional<size_t> vocabulary::findInput(const Node &node,
                                            const OperatorEntry *entry,
                                            StringRef name) {
  std::optional<size_t> place = findParameter(entry, name);
  for (auto [position, input] : llvm::enumerate(node.inputs))
    if (!input.name.empty() &&
        (input.name == name ||
         (place &&
          llvm::is_contained(entry->parameters[*place].keywords, input.name))))
      return position;
  if (!place || entry->parameters[*place].isKeywordOnly)
    return std::nullopt;
  llvm::SmallVector<size_t> positional = getPositional(node, *place);
  if (positional.empty())
    return std::nullopt;
  return positional.front();
}

bool vocabulary::hasKnownArguments(const Node &node,
                                   const OperatorEntry &entry) {
  if (entry.parameters.empty())
    return true;
  size_t numPlaces = 0;
  bool takesRest = false;
  for (const Parameter &parameter : entry.parameters) {
    numPlaces += !parameter.isKeywordOnly;
    takesRest |= parameter.takesRest;
  }
  size_t numPositional = 0;
  for (const archive::NamedArgument &input : node.inputs) {
    if (input.name.empty()) {
      ++numPositional;
      continue;
    }
    bool isKnown = llvm::any_of(entry.parameters, [&](const Parameter &known) {
      return known.name == input.name ||
             llvm::is_contained(known.keywords, input.name);
    });
    if (!isKnown)
      return false;
  }
  return takesRest || numPositional <= numPlaces;
}

bool vocabulary::gatherRest(const Node &node, const OperatorEntry *entry,
                            StringRef name, Argument &gathered) {
  std::optional<size_t> place = findParameter(entry, name);
  if (!place || !entry->parameters[*place].takesRest)
    return false;
  llvm::SmallVector<size_t> positional = getPositional(node, *place);
  bool areIntegers =
      !positional.empty() && llvm::all_of(positional, [&](size_t position) {
        ArgumentTag tag = node.inputs[position].value.tag;
        return tag == ArgumentTag::Int || tag == ArgumentTag::SymInt;
      });
  if (!areIntegers)
    return false;
  gathered.tag = ArgumentTag::SymInts;
  for (size_t position : positional)
    gathered.elements.push_back(node.inputs[position].value);
  return true;
}

bool vocabulary::isFunctionCall(const Node &node) {
  return !node.target.starts_with("torch.ops.");
}
