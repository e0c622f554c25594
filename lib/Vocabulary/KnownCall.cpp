//===- KnownCall.cpp - calls in terms of known operators ------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "KnownCall.h"

#include "OperatorCall.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using archive::NamedArgument;
using archive::Node;
using llvm::createStringError;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// OperatorAlias
//===----------------------------------------------------------------------===//

StringRef OperatorAlias::getOwnName(StringRef argument) const {
  if (constants.count(argument))
    return {};
  auto source = arguments.find(argument);
  return source == arguments.end() ? argument : source->second.names.front();
}

bool OperatorAlias::isMapped(StringRef own) const {
  return llvm::any_of(llvm::make_second_range(arguments),
                      [&](const Source &source) {
                        return llvm::is_contained(source.names, own);
                      });
}

bool OperatorAlias::isOnlyWritten(StringRef own) const {
  return llvm::is_contained(mutated, own) && !isMapped(own);
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
class Translation {
public:
  Translation(const OperatorAlias &alias, const OperatorCall &call)
      : alias(alias), call(call) {}

  llvm::Error addArguments(Node &known);
  llvm::Error addOutputs(const Node &node, Node &known);

private:
  const Argument *find(StringRef own) const;
  llvm::Error addSource(StringRef name, const OperatorAlias::Source &source,
                        Node &known);

  const OperatorAlias &alias;
  const OperatorCall &call;
};
} // namespace

const Argument *Translation::find(StringRef own) const {
  for (const NamedArgument &input : call.inputs)
    if (input.name == own)
      return &input.value;
  return nullptr;
}

llvm::Error Translation::addSource(StringRef name,
                                   const OperatorAlias::Source &source,
                                   Node &known) {
  NamedArgument result{name, {}, archive::ArgumentKind::Positional};
  if (source.isList) {
    result.value.tag = ArgumentTag::Tensors;
    for (StringRef own : source.names) {
      const Argument *element = find(own);
      if (!element || element->tag != ArgumentTag::Tensor)
        return createStringError("argument \"" + own + "\" is not a tensor");
      result.value.elements.push_back(*element);
    }
    known.inputs.push_back(std::move(result));
    return llvm::Error::success();
  }
  const Argument *own = find(source.names.front());
  // The argument was left at its default.
  if (!own)
    return llvm::Error::success();
  if (source.element) {
    size_t numUsed = llvm::count_if(alias.arguments, [&](const auto &other) {
      return other.second.names.front() == source.names.front();
    });
    if (own->elements.size() != numUsed || *source.element >= numUsed)
      return createStringError("argument \"" + source.names.front() +
                               "\" has " + llvm::Twine(own->elements.size()) +
                               " elements, but the vocabulary describes " +
                               llvm::Twine(numUsed));
    own = &own->elements[*source.element];
  }
  result.value = *own;
  known.inputs.push_back(std::move(result));
  return llvm::Error::success();
}

llvm::Error Translation::addArguments(Node &known) {
  for (const NamedArgument &input : call.inputs) {
    if (alias.isOnlyWritten(input.name) || alias.isMapped(input.name))
      continue;
    if (llvm::is_contained(alias.ignored, input.name)) {
      bool namesValue = false;
      input.value.forEachValue([&](const Argument &) { namesValue = true; });
      if (namesValue)
        return createStringError("the ignored argument \"" + input.name +
                                 "\" is not a constant");
      continue;
    }
    if (alias.constants.count(input.name) || alias.arguments.count(input.name))
      return createStringError("argument \"" + input.name +
                               "\" is not described, and the known "
                               "operator has another argument of this name");
    known.inputs.push_back(input);
  }
  for (const auto &[name, source] : alias.arguments)
    if (llvm::Error error = addSource(name, source, known))
      return error;
  for (const auto &[name, value] : alias.constants)
    known.inputs.push_back({name, value, archive::ArgumentKind::Positional});
  return llvm::Error::success();
}

llvm::Error Translation::addOutputs(const Node &node, Node &known) {
  if (alias.results.empty()) {
    if (call.form != CallForm::Direct)
      return createStringError(
          "\"results\" does not state which arguments hold the results");
    known.outputs = node.outputs;
    return llvm::Error::success();
  }
  // The tensors that the operator returns, one by one.
  llvm::SmallVector<const Argument *> returned;
  for (const Argument *output : call.returned)
    output->forEachValue(
        [&](const Argument &value) { returned.push_back(&value); });
  for (const OperatorAlias::Result &result : alias.results) {
    const Argument *found = nullptr;
    if (result.mutated.empty()) {
      if (result.position < returned.size())
        found = returned[result.position];
    } else {
      for (auto [name, value] : call.written)
        if (name == result.mutated)
          found = value;
    }
    if (!found)
      return createStringError(
          result.mutated.empty()
              ? "it does not return result " + llvm::Twine(result.position)
              : "it writes into \"" + result.mutated + "\" in place");
    known.outputs.push_back(*found);
  }
  return llvm::Error::success();
}

llvm::Expected<Node> vocabulary::getKnownCall(const Node &node,
                                              const OperatorAlias &alias) {
  std::optional<OperatorCall> call = getOperatorCall(node, alias.mutated);
  if (!call)
    return createStringError("its mutated arguments do not match \"mutated\", "
                             "or are views of other tensors");
  Node known;
  known.target = alias.sameAs;
  known.name = node.name;
  known.metadata = node.metadata;
  known.stackTrace = node.stackTrace;
  Translation translation(alias, *call);
  if (llvm::Error error = translation.addArguments(known))
    return std::move(error);
  if (llvm::Error error = translation.addOutputs(node, known))
    return std::move(error);
  return known;
}
