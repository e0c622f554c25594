//===- OwnSpelling.cpp - calls of operators of other systems --------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OwnSpelling.h"

#include "OperatorCall.h"

#include "llvm/ADT/STLExtras.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentKind;
using archive::ArgumentTag;
using archive::NamedArgument;
using archive::Node;
using llvm::createStringError;
using llvm::SmallVector;
using llvm::SmallVectorImpl;
using llvm::StringRef;

static bool isSame(const Argument &a, const Argument &b) {
  return a.tag == b.tag && a.integer == b.integer && a.real == b.real &&
         a.text == b.text &&
         llvm::equal(
             a.elements, b.elements,
             [](const Argument &x, const Argument &y) { return isSame(x, y); });
}

namespace {
class Respelling {
public:
  Respelling(const OwnSpelling &own, Node &node,
             SmallVectorImpl<mlir::Value> &results, MakeEmpty makeEmpty)
      : alias(own.alias), example(own.example), target(own.target), node(node),
        results(results), makeEmpty(makeEmpty) {
    if (example)
      call = getOperatorCall(*example, alias.mutated);
  }

  llvm::Error run();

private:
  llvm::Error addMapped(NamedArgument argument);
  llvm::Error addIgnored();
  llvm::Error addOnlyWritten();
  void order();
  llvm::Error wrapDirect();
  llvm::Error wrapFunctionalized();
  NamedArgument *find(StringRef own) {
    auto *found = llvm::find_if(arguments, [&](const NamedArgument &argument) {
      return argument.name == own;
    });
    return found == arguments.end() ? nullptr : found;
  }

  const OperatorAlias &alias;
  const Node *example;
  StringRef target;
  Node &node;
  SmallVectorImpl<mlir::Value> &results;
  MakeEmpty makeEmpty;
  std::optional<OperatorCall> call;
  /// Arguments of the own operator.
  SmallVector<NamedArgument> arguments;
};
} // namespace

llvm::Error Respelling::addMapped(NamedArgument argument) {
  if (auto constant = alias.constants.find(argument.name);
      constant != alias.constants.end())
    return isSame(constant->second, argument.value)
               ? llvm::Error::success()
               : createStringError("it has another \"" + argument.name + "\"");
  auto mapped = alias.arguments.find(argument.name);
  if (mapped == alias.arguments.end()) {
    arguments.push_back(std::move(argument));
    return llvm::Error::success();
  }
  const OperatorAlias::Source &source = mapped->second;
  if (source.isList) {
    if (argument.value.elements.size() != source.names.size())
      return createStringError("it takes " + llvm::Twine(source.names.size()) +
                               " tensors as \"" + argument.name + "\"");
    for (auto [name, element] :
         llvm::zip_equal(source.names, argument.value.elements))
      arguments.push_back({name, element, argument.kind});
    return llvm::Error::success();
  }
  StringRef name = source.names.front();
  if (!source.element) {
    argument.name = name;
    arguments.push_back(std::move(argument));
    return llvm::Error::success();
  }
  NamedArgument *list = find(name);
  if (!list) {
    list = &arguments.emplace_back(NamedArgument{name, {}, argument.kind});
    list->value.tag = ArgumentTag::Tensors;
  }
  list->value.elements.resize(
      std::max(list->value.elements.size(), *source.element + 1));
  list->value.elements[*source.element] = argument.value;
  return llvm::Error::success();
}

llvm::Error Respelling::addIgnored() {
  if (!call) {
    for (const auto &[name, value] : alias.ignoredValues)
      arguments.push_back({name, value, ArgumentKind::Keyword});
    return llvm::Error::success();
  }
  for (const NamedArgument &shown : call->inputs)
    if (llvm::is_contained(alias.ignored, shown.name))
      arguments.push_back(shown);
  return llvm::Error::success();
}

llvm::Error Respelling::addOnlyWritten() {
  for (auto [index, result] : llvm::enumerate(alias.results)) {
    if (result.mutated.empty() || !alias.isOnlyWritten(result.mutated))
      continue;
    Argument empty;
    empty.tag = ArgumentTag::Tensor;
    empty.text = makeEmpty(results[index]);
    if (empty.text.empty())
      return createStringError("the memory of a result cannot be allocated");
    arguments.push_back(
        {result.mutated, std::move(empty), ArgumentKind::Positional});
  }
  return llvm::Error::success();
}

void Respelling::order() {
  SmallVector<NamedArgument> shown;
  if (call)
    shown.assign(call->inputs.begin(), call->inputs.end());
  else
    for (StringRef name : alias.signature)
      shown.push_back({name, {}, ArgumentKind::Positional});
  SmallVector<NamedArgument> unordered = std::move(arguments);
  arguments.clear();
  // Arguments after a gap must be keyword arguments.
  bool hasGap = false;
  for (const NamedArgument &example : shown) {
    ArgumentKind kind = hasGap
                            ? ArgumentKind::Keyword
                            : example.kind.value_or(ArgumentKind::Positional);
    auto *argument =
        llvm::find_if(unordered, [&](const NamedArgument &candidate) {
          return candidate.name == example.name;
        });
    if (argument == unordered.end()) {
      // None need not be the default.
      if (call && example.value.tag == ArgumentTag::None)
        arguments.push_back({example.name, {}, kind});
      else
        hasGap = true;
      continue;
    }
    argument->kind = kind;
    arguments.push_back(std::move(*argument));
    unordered.erase(argument);
  }
  for (NamedArgument &argument : unordered) {
    argument.kind = ArgumentKind::Keyword;
    arguments.push_back(std::move(argument));
  }
}

llvm::Error Respelling::wrapDirect() {
  node.target = target;
  node.inputs.assign(arguments.begin(), arguments.end());
  if (alias.results.empty())
    return llvm::Error::success();
  std::vector<Argument> outputs(node.outputs.size());
  SmallVector<mlir::Value> values(results.size());
  for (auto [index, result] : llvm::enumerate(alias.results)) {
    if (index >= results.size())
      break;
    if (!result.mutated.empty() || result.position >= outputs.size())
      return createStringError("it returns values that are not described");
    outputs[result.position] = node.outputs[index];
    values[result.position] = results[index];
  }
  node.outputs = std::move(outputs);
  results.assign(values.begin(), values.end());
  return llvm::Error::success();
}

llvm::Error Respelling::wrapFunctionalized() {
  if (alias.results.size() != results.size() ||
      alias.mutated.size() != results.size())
    return createStringError("some of its results are not described");
  // A call returns None, then the written arguments.
  std::vector<Argument> outputs(1 + alias.mutated.size());
  SmallVector<mlir::Value> values(results.size());
  SmallVector<NamedArgument> written;
  for (auto [index, result] : llvm::enumerate(alias.results)) {
    const auto *place = llvm::find(alias.mutated, result.mutated);
    if (place == alias.mutated.end())
      return createStringError("it returns values that are not described");
    size_t position = place - alias.mutated.begin();
    outputs[1 + position] = node.outputs[index];
    values[position] = results[index];
  }
  Argument callee;
  callee.tag = ArgumentTag::Operator;
  callee.text = target;
  bool hasViews = call->form == CallForm::FunctionalizedViews;
  node.inputs.clear();
  node.inputs.push_back({"", std::move(callee), ArgumentKind::Positional});
  for (NamedArgument &argument : arguments)
    if (!hasViews || !llvm::is_contained(alias.mutated, argument.name))
      node.inputs.push_back(
          {argument.name, argument.value, ArgumentKind::Keyword});
  if (hasViews) {
    // Every written argument is a tensor of its own.
    Argument bases;
    bases.tag = ArgumentTag::Tensors;
    for (auto [index, name] : llvm::enumerate(alias.mutated)) {
      const NamedArgument *argument = find(name);
      if (!argument)
        return createStringError("it writes into \"" + name +
                                 "\", which is not described");
      bases.elements.push_back(argument->value);
    }
    for (const NamedArgument &shown : example->inputs) {
      // "_input_base_index" of the argument "input".
      StringRef name = shown.name;
      if (!name.consume_front("_") || !name.consume_back("_base_index"))
        continue;
      const auto *place = llvm::find(alias.mutated, name);
      if (place == alias.mutated.end())
        continue;
      NamedArgument index{shown.name, {}, ArgumentKind::Keyword};
      index.value.tag = ArgumentTag::Int;
      index.value.integer = place - alias.mutated.begin();
      node.inputs.push_back(std::move(index));
    }
    node.inputs.push_back(
        {"_all_bases", std::move(bases), ArgumentKind::Keyword});
  }
  node.target = example->target;
  node.isSingleTensorReturn = example->isSingleTensorReturn;
  node.outputs = std::move(outputs);
  results.assign(values.begin(), values.end());
  return llvm::Error::success();
}

llvm::Error Respelling::run() {
  if (example && !call)
    return createStringError("its calls have an unknown form");
  for (NamedArgument &argument : node.inputs)
    if (llvm::Error error = addMapped(std::move(argument)))
      return error;
  if (llvm::Error error = addIgnored())
    return error;
  if (llvm::Error error = addOnlyWritten())
    return error;
  order();
  if (call && call->form != CallForm::Direct)
    return wrapFunctionalized();
  return wrapDirect();
}

llvm::Error vocabulary::respell(const OwnSpelling &own, Node &node,
                                SmallVectorImpl<mlir::Value> &results,
                                MakeEmpty makeEmpty) {
  return Respelling(own, node, results, makeEmpty).run();
}
