//===- VocabulariesCommand.cpp - commute vocabularies -----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "Commands.h"
#include "JsonOutput.h"
#include "SafeOutput.h"
#include "TextLayout.h"

#include "commute/Archive/InputFile.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace commute;
using namespace commute::tool;
using vocabulary::OperatorAlias;
using vocabulary::OperatorVocabulary;
using vocabulary::Vocabulary;
namespace cl = llvm::cl;

namespace {
class VocabulariesCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"vocabularies",
                         "List the operators of other systems that Commute "
                         "knows, or those that a vocabulary file describes"};
  cl::list<std::string> names{cl::Positional, cl::sub(command),
                              cl::desc("[NAME|FILE...]")};
  cl::opt<bool> json{"json", cl::sub(command), cl::cat(getOutputCategory()),
                     cl::desc("Print JSON; of one vocabulary, in the format of "
                              "vocabulary files")};
};
} // namespace

static std::string describe(const archive::Argument &constant) {
  switch (constant.tag) {
  case archive::ArgumentTag::None:
    return "null";
  case archive::ArgumentTag::Bool:
    return constant.integer ? "true" : "false";
  case archive::ArgumentTag::Int:
    return std::to_string(constant.integer);
  case archive::ArgumentTag::Float:
    return formatJsonFloat(constant.real);
  case archive::ArgumentTag::String:
    return quoteJson(constant.text);
  default: {
    std::string text = "[";
    for (const archive::Argument &element : constant.elements)
      text += (text.size() > 1 ? ", " : "") + std::to_string(element.integer);
    return text + "]";
  }
  }
}

static std::string describe(const OperatorAlias::Source &source) {
  std::string text = llvm::join(source.names, ", ");
  if (source.isList)
    return "[" + text + "]";
  return source.element ? text + "[" + std::to_string(*source.element) + "]"
                        : text;
}

/// Prints how an operator differs from the known one.
static void print(llvm::StringRef target, const OperatorAlias &alias,
                  llvm::raw_ostream &os) {
  os << "  " << target << "\n      as " << alias.sameAs << '\n';
  std::vector<std::string> parts;
  for (const auto &[name, source] : alias.arguments)
    if (std::string own = describe(source); own != name)
      parts.push_back(name.str() + " is " + own);
  for (const auto &[name, constant] : alias.constants)
    parts.push_back(name.str() + " is always " + describe(constant));
  if (!alias.ignored.empty())
    parts.push_back("ignores " + llvm::join(alias.ignored, ", "));
  if (!alias.mutated.empty())
    parts.push_back("writes into " + llvm::join(alias.mutated, ", "));
  for (auto [index, result] : llvm::enumerate(alias.results))
    parts.push_back("result " + std::to_string(index) + " is " +
                    (result.mutated.empty()
                         ? "result " + std::to_string(result.position)
                         : "in " + result.mutated.str()));
  if (!alias.needsWait)
    parts.push_back("needs no wait");
  if (!parts.empty())
    printWrapped(llvm::join(parts, "; "), 6, os);
}

static void print(const OperatorVocabulary &own, const Vocabulary &vocabulary,
                  llvm::raw_ostream &os) {
  os << own.name << (own.isBuiltIn ? " (built in)" : "")
     << (own.summary.empty() ? "" : "  ") << own.summary << '\n';
  if (own.hasOwnGroupNames)
    os << "  names groups in its own way; PyTorch's name of a group is its "
          "\"process_group\"\n";
  for (llvm::StringRef target : own.targets)
    if (llvm::StringRef effects = vocabulary.findEffects(target);
        !effects.empty())
      os << "  " << target << "\n      opaque, with effects: " << effects
         << '\n';
    else
      print(target, *vocabulary.findAlias(target), os);
}

static llvm::json::Object toJson(const OperatorVocabulary &own) {
  llvm::json::Object object =
      std::move(*llvm::cantFail(llvm::json::parse(own.text)).getAsObject());
  object["name"] = own.name;
  object["built_in"] = own.isBuiltIn;
  object.erase("version");
  return object;
}

llvm::Expected<ExitCode> VocabulariesCommand::run() {
  Vocabulary vocabulary;
  std::vector<const OperatorVocabulary *> chosen;
  std::vector<llvm::StringRef> added;
  for (const std::string &name : names) {
    if (!llvm::StringRef(name).ends_with(".json")) {
      added.push_back(name);
      continue;
    }
    llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> buffer =
        archive::readInputFile(name, vocabulary::largestVocabularyFile);
    if (!buffer)
      return buffer.takeError();
    if (llvm::Error error =
            vocabulary.addUserVocabulary((*buffer)->getBuffer(), name))
      return std::move(error);
    added.push_back(vocabulary.getVocabularies().back().name);
  }
  for (llvm::StringRef name : added) {
    chosen.push_back(vocabulary.findVocabulary(name));
    if (chosen.back())
      continue;
    std::string known;
    for (const OperatorVocabulary &own : vocabulary.getVocabularies())
      known += (known.empty() ? "" : ", ") + own.name.str();
    return llvm::createStringError(
        "there is no vocabulary '" + name + "'; the built-in ones are " +
        known + ", and the name of a vocabulary file ends with .json");
  }
  bool listsAll = names.empty();
  if (listsAll)
    for (const OperatorVocabulary &own : vocabulary.getVocabularies())
      chosen.push_back(&own);
  llvm::raw_ostream &os = safeOuts();
  if (json && names.size() == 1) {
    // In the format of files, to be edited.
    os << chosen.front()->text;
    return Success;
  }
  if (json) {
    llvm::json::Array list;
    for (const OperatorVocabulary *own : chosen)
      list.push_back(toJson(*own));
    printJson(llvm::json::Object{{"vocabularies", std::move(list)}});
    return Success;
  }
  llvm::interleave(
      chosen, os,
      [&](const OperatorVocabulary *own) { print(*own, vocabulary, os); },
      "\n");
  if (listsAll) {
    os << '\n';
    printWrapped("Operators of PyTorch (aten, _c10d_functional, symm_mem) and "
                 "of TensorCast are known without a vocabulary. A vocabulary "
                 "file (--vocabulary) describes operators of your own.",
                 0, os);
  }
  return Success;
}

std::unique_ptr<Command> tool::createVocabulariesCommand() {
  return std::make_unique<VocabulariesCommand>();
}
