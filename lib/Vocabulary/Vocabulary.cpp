//===- Vocabulary.cpp - PyTorch operators and their tp ops ------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Vocabulary/Vocabulary.h"

#include "EmbeddedVocabularies.h"
#include "EngineKernels.h"
#include "NodeReader.h"
#include "VocabularyFile.h"

#include "llvm/Support/ErrorHandling.h"

using namespace commute;
using namespace commute::vocabulary;
using llvm::StringRef;

Vocabulary::Vocabulary() {
  addAtenElementwise(*this);
  addAtenCopies(*this);
  addAtenFactories(*this);
  addAtenContractions(*this);
  addAtenCounting(*this);
  addAtenFormulas(*this);
  addAtenGrouped(*this);
  addAtenIndexing(*this);
  addAtenSorting(*this);
  addAtenReindex(*this);
  addAtenRowwise(*this);
  addAtenSlices(*this);
  addAtenActivationGradients(*this);
  addAtenBackward(*this);
  addAtenComplex(*this);
  addAtenComposites(*this);
  addAtenMatmul(*this);
  addAtenAttention(*this);
  addAtenLosses(*this);
  addAtenScalarFormulas(*this);
  addAtenScatter(*this);
  addAtenStatistics(*this);
  addC10dFunctional(*this);
  addSymmMem(*this);
  addTensorCast(*this);
  addEngineKernels(*this);
  // Add the functions last: each is defined as one of the operators above.
  addTorchFunctions(*this);
  for (const EmbeddedFile &embedded : getEmbeddedVocabularies())
    if (llvm::Error error =
            VocabularyFile(*this, embedded.name, /*isBuiltIn=*/true)
                .read(embedded.text))
      llvm::report_fatal_error(std::move(error));
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
    if (entry.getValue().vocabulary.empty())
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
                          const std::map<std::string, std::string> &arguments) {
  assert(find(sameAs) && "the operator must be added first");
  OperatorAlias &alias = aliases[target];
  alias.sameAs = strings.save(sameAs);
  alias.isBuiltIn = true;
  for (const auto &[name, own] : arguments)
    alias.arguments[strings.save(name)].names = {strings.save(own)};
}

const OperatorVocabulary *Vocabulary::findVocabulary(StringRef name) const {
  const auto *found = llvm::find_if(llvm::ArrayRef(vocabularies),
                                    [&](const OperatorVocabulary &vocabulary) {
                                      return vocabulary.name == name;
                                    });
  return found == llvm::ArrayRef(vocabularies).end() ? nullptr : found;
}

std::pair<StringRef, const OperatorAlias *>
Vocabulary::findAliasOf(StringRef name, StringRef sameAs) const {
  if (const OperatorVocabulary *vocabulary = findVocabulary(name))
    for (StringRef target : vocabulary->targets)
      if (const OperatorAlias *alias = findAlias(target);
          alias && alias->sameAs == sameAs)
        return {target, alias};
  return {};
}

llvm::Error Vocabulary::addUserVocabulary(StringRef text, StringRef origin) {
  return VocabularyFile(*this, origin, /*isBuiltIn=*/false).read(text);
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
