//===- VocabularyFile.cpp - operators defined by files --------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "VocabularyFile.h"

#include "commute/Dialect/OpaqueOperators.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using archive::ArgumentTag;
using llvm::StringRef;
using llvm::Twine;

llvm::Error VocabularyFile::makeError(const Twine &message) const {
  return llvm::createStringError(origin + ": " + message);
}

llvm::Error VocabularyFile::makeError(StringRef target,
                                      const Twine &message) const {
  return makeError("operator \"" + target + "\"" + message);
}

llvm::Error VocabularyFile::checkKeys(JsonValue object, const Twine &owner,
                                      llvm::ArrayRef<StringRef> known) const {
  for (auto it = object.begin(); it != object.end(); ++it) {
    std::string storage;
    StringRef key = *it.key().getString(storage);
    if (!llvm::is_contained(known, key))
      return makeError(owner + " has the unknown key \"" + key +
                       "\"; the known keys are " + llvm::join(known, ", "));
  }
  return llvm::Error::success();
}

std::optional<StringRef> VocabularyFile::getText(JsonValue value) {
  std::string storage;
  if (!value)
    return std::nullopt;
  std::optional<StringRef> text = value.getString(storage);
  return text ? std::optional(vocabulary.strings.save(*text)) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Parts of an entry
//===----------------------------------------------------------------------===//

std::optional<OperatorAlias::Source>
VocabularyFile::readSource(JsonValue value) {
  OperatorAlias::Source source;
  if (std::optional<StringRef> name = getText(value)) {
    auto [list, rest] = name->split('[');
    size_t element;
    if (rest.consume_back("]") && !rest.getAsInteger(10, element))
      source.element = element;
    else if (name->contains('['))
      return std::nullopt;
    source.names.push_back(list);
    return source;
  }
  if (!value.is(JsonKind::Array) || value.size() == 0)
    return std::nullopt;
  source.isList = true;
  for (JsonValue part : value) {
    std::optional<StringRef> name = getText(part);
    if (!name)
      return std::nullopt;
    source.names.push_back(*name);
  }
  return source;
}

llvm::Error VocabularyFile::readArguments(StringRef target, JsonValue arguments,
                                          OperatorAlias &alias) {
  if (!arguments.is(JsonKind::Object))
    return makeError(target, ": \"arguments\" must be an object");
  for (auto it = arguments.begin(); it != arguments.end(); ++it) {
    StringRef name = *getText(it.key());
    std::optional<OperatorAlias::Source> source = readSource(*it);
    if (!source)
      return makeError(target,
                       ": argument \"" + name +
                           "\" must be a string (\"x\", or \"xs[0]\" for an "
                           "element of a list) or a list of strings");
    alias.arguments[name] = std::move(*source);
  }
  return llvm::Error::success();
}

/// Returns nullopt for a value that no argument of an operator can have.
static std::optional<Argument> readConstant(JsonValue value) {
  Argument argument;
  if (value.is(JsonKind::Null))
    return argument;
  if (std::optional<bool> truth = value.getBoolean()) {
    argument.tag = ArgumentTag::Bool;
    argument.integer = *truth;
    return argument;
  }
  if (std::optional<int64_t> integer = value.getInteger()) {
    argument.tag = ArgumentTag::Int;
    argument.integer = *integer;
    return argument;
  }
  if (value.is(JsonKind::Number)) {
    argument.tag = ArgumentTag::Float;
    argument.real = *value.getNumber();
    return argument;
  }
  if (!value.is(JsonKind::Array))
    return std::nullopt;
  argument.tag = ArgumentTag::Ints;
  for (JsonValue part : value) {
    std::optional<int64_t> integer = part.getInteger();
    if (!integer)
      return std::nullopt;
    Argument &element = argument.elements.emplace_back();
    element.tag = ArgumentTag::Int;
    element.integer = *integer;
  }
  return argument;
}

llvm::Error
VocabularyFile::readConstants(StringRef target, JsonValue constants,
                              StringRef key,
                              std::map<StringRef, Argument> &values) {
  if (!constants.is(JsonKind::Object))
    return makeError(target, ": \"" + key + "\" must be an object");
  for (auto it = constants.begin(); it != constants.end(); ++it) {
    StringRef name = *getText(it.key());
    if (std::optional<StringRef> text = getText(*it)) {
      Argument &argument = values[name];
      argument.tag = ArgumentTag::String;
      argument.text = *text;
      continue;
    }
    std::optional<Argument> constant = readConstant(*it);
    if (!constant)
      return makeError(target, ": the constant \"" + name +
                                   "\" must be null, true, false, a number, a "
                                   "string or a list of integers");
    values[name] = std::move(*constant);
  }
  return llvm::Error::success();
}

llvm::Error VocabularyFile::readIgnored(StringRef target, JsonValue entry,
                                        OperatorAlias &alias) {
  JsonValue ignored = entry.get("ignored");
  if (!ignored || !ignored.is(JsonKind::Object))
    return readNames(target, entry, "ignored", alias.ignored);
  if (llvm::Error error =
          readConstants(target, ignored, "ignored", alias.ignoredValues))
    return error;
  llvm::append_range(alias.ignored,
                     llvm::make_first_range(alias.ignoredValues));
  return llvm::Error::success();
}

llvm::Error VocabularyFile::readResults(StringRef target, JsonValue results,
                                        OperatorAlias &alias) {
  auto fail = [&] {
    return makeError(
        target, ": \"results\" must be a list that states, for each result of "
                "the known operator, the position of a result or the name of "
                "an argument in \"mutated\"");
  };
  if (!results.is(JsonKind::Array) || results.size() == 0)
    return fail();
  for (JsonValue value : results) {
    OperatorAlias::Result &result = alias.results.emplace_back();
    if (std::optional<StringRef> name = getText(value)) {
      if (!llvm::is_contained(alias.mutated, *name))
        return fail();
      result.mutated = *name;
      continue;
    }
    std::optional<int64_t> position = value.getInteger();
    if (!position || *position < 0)
      return fail();
    result.position = static_cast<size_t>(*position);
  }
  return llvm::Error::success();
}

llvm::Error VocabularyFile::readNames(StringRef target, JsonValue entry,
                                      StringRef key,
                                      llvm::SmallVectorImpl<StringRef> &names) {
  JsonValue list = entry.get(key);
  if (!list)
    return llvm::Error::success();
  for (JsonValue value : list) {
    std::optional<StringRef> name =
        list.is(JsonKind::Array) ? getText(value) : std::nullopt;
    if (!name || llvm::is_contained(names, *name)) {
      names.clear();
      break;
    }
    names.push_back(*name);
  }
  if (names.empty())
    return makeError(target, ": \"" + key +
                                 "\" must be a list of different arguments of "
                                 "this operator");
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

llvm::Error VocabularyFile::readEffects(StringRef target, JsonValue entry,
                                        OperatorVocabulary &own) {
  for (auto it = entry.begin(); it != entry.end(); ++it)
    if (StringRef key = *getText(it.key());
        key != "effects" && key != "comment")
      return makeError(target, ": \"" + key +
                                   "\" is for operators that are the same as "
                                   "a known one, and \"effects\" for those "
                                   "that are not");
  std::optional<StringRef> stated = getText(entry.get("effects"));
  if (!stated || !tp::parseCallEffects(*stated))
    return makeError(target,
                     ": \"effects\" must be \"none\" (its results are a "
                     "function of its operands), \"communication\" (also of "
                     "what other ranks send) or \"random\"");
  if (const OperatorEntry *known = vocabulary.find(target);
      vocabulary.findAlias(target) || (known && known->read))
    return makeError(target, " is built in and cannot be redefined");
  own.targets.push_back(target);
  vocabulary.effects[target] = *stated;
  return llvm::Error::success();
}

llvm::Error VocabularyFile::readOperator(StringRef target, JsonValue entry,
                                         OperatorVocabulary &own) {
  if (!entry.is(JsonKind::Object))
    return makeError(target, " must be an object");
  if (llvm::Error error =
          checkKeys(entry, "operator \"" + target + "\"",
                    {"same_as", "arguments", "constants", "ignored", "mutated",
                     "results", "wait", "signature", "effects", "comment"}))
    return error;
  if (entry.get("effects"))
    return readEffects(target, entry, own);
  OperatorAlias alias;
  alias.isBuiltIn = isBuiltIn;
  alias.vocabulary = own.name;
  std::optional<StringRef> sameAs = getText(entry.get("same_as"));
  if (!sameAs)
    return makeError(target, " lacks \"same_as\", the known operator that it "
                             "behaves like, and \"effects\", what an operator "
                             "that is like no known one does besides "
                             "computing");
  alias.sameAs = *sameAs;
  const OperatorEntry *known = vocabulary.find(alias.sameAs);
  if (!known || !known->read)
    return makeError(target, " is declared the same as \"" + alias.sameAs +
                                 "\", which no built-in vocabulary contains; "
                                 "expected a complete name such as "
                                 "torch.ops.aten.rms_norm.default");
  const OperatorAlias *defined = vocabulary.findAlias(target);
  if (defined && !defined->isBuiltIn)
    defined = nullptr;
  // A file may state what has become built in since it was written.
  if (defined && defined->sameAs == alias.sameAs)
    return llvm::Error::success();
  if (const OperatorEntry *other = vocabulary.find(target);
      defined || (other && other->read))
    return makeError(target, " is built in and cannot be redefined");
  if (JsonValue arguments = entry.get("arguments"))
    if (llvm::Error error = readArguments(target, arguments, alias))
      return error;
  if (JsonValue constants = entry.get("constants"))
    if (llvm::Error error =
            readConstants(target, constants, "constants", alias.constants))
      return error;
  for (const auto &[name, value] : alias.constants)
    if (alias.arguments.count(name))
      return makeError(target, ": argument \"" + name +
                                   "\" is both in \"arguments\" and in "
                                   "\"constants\"");
  if (llvm::Error error = readIgnored(target, entry, alias))
    return error;
  if (llvm::Error error = readNames(target, entry, "mutated", alias.mutated))
    return error;
  if (llvm::Error error =
          readNames(target, entry, "signature", alias.signature))
    return error;
  for (StringRef name : alias.ignored)
    if (alias.isMapped(name))
      return makeError(target, ": argument \"" + name +
                                   "\" is both in \"ignored\" and in "
                                   "\"arguments\"");
  if (JsonValue results = entry.get("results"))
    if (llvm::Error error = readResults(target, results, alias))
      return error;
  if (JsonValue wait = entry.get("wait")) {
    std::optional<bool> needsWait = wait.getBoolean();
    if (!needsWait || !known->isCollective)
      return makeError(target, needsWait
                                   ? ": \"wait\" is for collectives, and \"" +
                                         alias.sameAs + "\" is none"
                                   : Twine(": \"wait\" must be true or false"));
    alias.needsWait = *needsWait;
  }
  own.targets.push_back(target);
  vocabulary.aliases[target] = std::move(alias);
  return llvm::Error::success();
}

llvm::Error VocabularyFile::read(StringRef text) {
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
  if (llvm::Error error =
          checkKeys(root, "the vocabulary",
                    {"version", "name", "summary", "own_group_names",
                     "operators", "comment"}))
    return error;
  OperatorVocabulary own;
  own.isBuiltIn = isBuiltIn;
  own.text = vocabulary.strings.save(text);
  own.name = vocabulary.strings.save(origin);
  auto readText = [&](StringRef key, StringRef &value) -> llvm::Error {
    if (!root.get(key))
      return llvm::Error::success();
    std::optional<StringRef> stated = getText(root.get(key));
    if (!stated || stated->empty())
      return makeError("\"" + key + "\" must be a string");
    value = *stated;
    return llvm::Error::success();
  };
  if (llvm::Error error = readText("name", own.name))
    return error;
  if (llvm::Error error = readText("summary", own.summary))
    return error;
  if (JsonValue hasOwn = root.get("own_group_names")) {
    if (!hasOwn.getBoolean())
      return makeError("\"own_group_names\" must be true or false");
    own.hasOwnGroupNames = *hasOwn.getBoolean();
  }
  if (vocabulary.findVocabulary(own.name))
    return makeError("there is already a vocabulary \"" + own.name + "\"");
  for (auto it = list.begin(); it != list.end(); ++it)
    if (llvm::Error error = readOperator(*getText(it.key()), *it, own))
      return error;
  vocabulary.vocabularies.push_back(std::move(own));
  return llvm::Error::success();
}
