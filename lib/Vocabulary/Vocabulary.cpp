//===- Vocabulary.cpp - PyTorch operators and their tp ops ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/Vocabulary.h"

#include "NodeReader.h"

#include "commute/Support/Json.h"

using namespace commute;
using namespace commute::vocabulary;
using llvm::StringRef;

Vocabulary::Vocabulary() {
  addAtenElementwise(*this);
  addAtenCopies(*this);
  addAtenFactories(*this);
  addAtenContractions(*this);
  addAtenFormulas(*this);
  addAtenGrouped(*this);
  addAtenIndexing(*this);
  addAtenSorting(*this);
  addAtenReindex(*this);
  addAtenRowwise(*this);
  addAtenSlices(*this);
  addAtenBackward(*this);
  addAtenComposites(*this);
  addAtenMatmul(*this);
  addC10dFunctional(*this);
  addSymmMem(*this);
  addTensorCast(*this);
  // Add the functions last: each is defined as one of the operators above.
  addTorchFunctions(*this);
}

const OperatorEntry *Vocabulary::find(StringRef target) const {
  auto found = operators.find(target);
  return found == operators.end() ? nullptr : &found->second;
}

std::vector<StringRef> Vocabulary::getReadTargets() const {
  std::vector<StringRef> targets;
  for (const auto &entry : operators)
    if (entry.getValue().read && entry.getKey().starts_with("torch.ops."))
      targets.push_back(entry.getKey());
  for (const auto &entry : aliases)
    targets.push_back(entry.getKey());
  llvm::sort(targets);
  return targets;
}

const OperatorAlias *Vocabulary::findAlias(StringRef target) const {
  auto found = aliases.find(target);
  return found == aliases.end() ? nullptr : &found->second;
}

WriteFunction Vocabulary::findWriter(mlir::OperationName name) const {
  return writers.lookup(name.getStringRef());
}

WriteFunction Vocabulary::findFunctionWriter(mlir::OperationName name) const {
  return functionWriters.lookup(name.getStringRef());
}

void Vocabulary::addAlias(StringRef target, StringRef sameAs,
                          std::map<std::string, std::string> arguments) {
  assert(find(sameAs) && "the operator must be added first");
  aliases[target] = {sameAs.str(), std::move(arguments), /*isBuiltIn=*/true};
}

void Vocabulary::addFunction(StringRef target, StringRef parameters,
                             StringRef sameAs) {
  // PyTorch accepts NumPy's names of these keywords for every function.
  static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral>
      alsoCalled[] = {{"dim", "axis"},
                      {"input", "x"},
                      {"input", "a"},
                      {"input", "x1"},
                      {"other", "x2"}};
  const OperatorEntry &known = operators[sameAs];
  assert(known.read && "the operator must be added first");
  OperatorEntry entry = known;
  llvm::SmallVector<StringRef> texts;
  parameters.split(texts, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  bool isKeywordOnly = false;
  for (StringRef text : texts) {
    if (text == "*") {
      isKeywordOnly = true;
      continue;
    }
    Parameter parameter;
    parameter.isKeywordOnly = isKeywordOnly;
    parameter.takesRest = text.consume_back("...");
    llvm::SmallVector<StringRef> names;
    text.split(names, '|');
    parameter.name = names.front();
    parameter.keywords.append(names.begin() + 1, names.end());
    for (const auto &[name, other] : alsoCalled)
      if (llvm::is_contained(names, name))
        parameter.keywords.push_back(other);
    entry.parameters.push_back(std::move(parameter));
  }
  operators[target] = std::move(entry);
}

/// Returns the decoded text of a JSON string, or nullopt for anything else.
static std::optional<std::string> getText(JsonValue value) {
  std::string storage;
  if (!value)
    return std::nullopt;
  std::optional<StringRef> text = value.getString(storage);
  return text ? std::optional(text->str()) : std::nullopt;
}

llvm::Error Vocabulary::addUserVocabulary(StringRef text, StringRef origin) {
  auto makeError = [&](const llvm::Twine &message) {
    return llvm::createStringError(origin + ": " + message);
  };
  llvm::Expected<std::unique_ptr<JsonDocument>> document =
      JsonDocument::parse(text.str());
  if (!document)
    return makeError(llvm::toString(document.takeError()));
  JsonValue root = (*document)->root();
  if (!root.is(JsonKind::Object))
    return makeError("a vocabulary file must be an object with \"version\" and "
                     "\"operators\"");
  if (!root.get("version") || root.get("version").getInteger() != 1)
    return makeError(
        "\"version\" is missing or not 1, the only version that Commute reads");
  JsonValue list = root.get("operators");
  if (!list || !list.is(JsonKind::Object))
    return makeError("\"operators\" is missing or not an object");
  for (auto it = list.begin(); it != list.end(); ++it) {
    std::string target = *getText(it.key());
    JsonValue entry = *it;
    if (!entry.is(JsonKind::Object))
      return makeError("operator \"" + target + "\" must be an object");
    OperatorAlias alias;
    std::optional<std::string> sameAs = getText(entry.get("same_as"));
    if (!sameAs)
      return makeError(
          "operator \"" + target +
          "\" lacks \"same_as\", the known operator that it behaves like");
    alias.sameAs = *sameAs;
    if (const OperatorEntry *known = find(alias.sameAs); !known || !known->read)
      return makeError("operator \"" + target +
                       "\" is declared the same as \"" + alias.sameAs +
                       "\", which no built-in vocabulary contains; expected a "
                       "complete name such as "
                       "torch.ops.aten.rms_norm.default");
    const OperatorAlias *builtIn = findAlias(target);
    if (builtIn && !builtIn->isBuiltIn)
      builtIn = nullptr;
    // A file may state what has become built in since it was written.
    if (builtIn && builtIn->sameAs == alias.sameAs)
      continue;
    if (const OperatorEntry *known = find(target);
        builtIn || (known && known->read))
      return makeError("operator \"" + target +
                       "\" is built in and cannot be redefined");
    if (JsonValue arguments = entry.get("arguments")) {
      if (!arguments.is(JsonKind::Object))
        return makeError("operator \"" + target +
                         "\": \"arguments\" must be an object");
      for (auto name = arguments.begin(); name != arguments.end(); ++name) {
        std::optional<std::string> own = getText(*name);
        if (!own)
          return makeError("operator \"" + target + "\": argument \"" +
                           *getText(name.key()) + "\" must be a string");
        alias.arguments[*getText(name.key())] = *own;
      }
    }
    aliases[target] = std::move(alias);
  }
  return llvm::Error::success();
}
