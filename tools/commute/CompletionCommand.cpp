//===- CompletionCommand.cpp - commute completion ---------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "CommandLine.h"
#include "Commands.h"
#include "OptionParsers.h"
#include "SafeOutput.h"

#include "commute/Target/Target.h"
#include "commute/Transforms/Pipeline.h"
#include "commute/Vocabulary/Vocabulary.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class CompletionCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"completion",
                         "Print a completion script for bash, zsh or fish"};
  cl::opt<std::string> shell{cl::Positional, cl::Required, cl::sub(command),
                             cl::desc("bash|zsh|fish")};
};
} // namespace

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

/// Returns "--name", or "-o".
static std::string getFlagName(const cl::Option &option) {
  return (option.ArgStr.size() == 1 ? "-" : "--") + option.ArgStr.str();
}

/// Returns the words that an option takes; empty if it takes a file or any
/// text.
static std::vector<std::string> getValues(const cl::Option &option) {
  std::vector<std::string> words;
  if (option.ArgStr == "passes" || option.ArgStr == "pass")
    for (llvm::StringRef pass : getPipelinePasses())
      words.push_back(pass.str());
  if (option.ArgStr == "target")
    for (const target::Target &target : target::getBuiltinTargets())
      words.push_back(target.name);
  // "always|profitable", but not "NAME|FILE".
  llvm::StringRef text = option.ValueStr;
  if (words.empty() && text.contains('|') &&
      llvm::none_of(text, [](char c) { return llvm::isUpper(c); }))
    for (llvm::StringRef word : llvm::split(text, '|'))
      words.push_back(word.str());
  return words;
}

/// Returns the first argument of a command in words; empty if it is a file.
static std::vector<std::string> getArgumentWords(cl::SubCommand &command) {
  std::vector<std::string> words;
  if (command.getName() == "completion")
    return {"bash", "zsh", "fish"};
  if (command.getName() == "manual")
    for (cl::SubCommand *other : getCommands())
      words.push_back(other->getName().str());
  if (command.getName() == "targets")
    for (const target::Target &target : target::getBuiltinTargets())
      words.push_back(target.name);
  if (command.getName() == "vocabularies") {
    vocabulary::Vocabulary known;
    for (const vocabulary::OperatorVocabulary &own : known.getVocabularies())
      words.push_back(own.name.str());
  }
  return words;
}

static std::string joinCommands() {
  std::string words = "help";
  for (cl::SubCommand *command : getCommands())
    words += " " + command->getName().str();
  return words;
}

/// Returns text for a shell's single quotes.
static std::string quote(llvm::StringRef text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

//===----------------------------------------------------------------------===//
// Shells
//===----------------------------------------------------------------------===//

static void printBash(llvm::raw_ostream &os) {
  os << "# Completion of commute for bash: source <(commute completion bash)\n"
        "_commute() {\n"
        "  local word=${COMP_WORDS[COMP_CWORD]} "
        "before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  local command=${COMP_WORDS[1]} options= values= words=\n"
        "  COMPREPLY=()\n"
        "  if ((COMP_CWORD == 1)) || [[ $command == help ]]; then\n"
        "    COMPREPLY=($(compgen -W "
     << quote(joinCommands())
     << " -- \"$word\"))\n"
        "    return\n"
        "  fi\n"
        "  # bash splits --name=value at the equals sign.\n"
        "  [[ $word == = ]] && word=\n"
        "  [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
        "  case $command in\n";
  for (cl::SubCommand *command : getCommands()) {
    os << "    " << command->getName() << ")\n      options=";
    std::string names;
    for (cl::Option *option : getOptions(*command))
      names += (names.empty() ? "" : " ") + getFlagName(*option) +
               (isFlag(*option) || option->ArgStr.size() == 1 ? "" : "=");
    os << quote(names) << '\n';
    if (std::vector<std::string> words = getArgumentWords(*command);
        !words.empty())
      os << "      words=" << quote(llvm::join(words, " ")) << '\n';
    os << "      case $before in\n";
    for (cl::Option *option : getOptions(*command)) {
      if (isFlag(*option))
        continue;
      os << "        " << getFlagName(*option) << ") values=";
      std::vector<std::string> values = getValues(*option);
      os << quote(values.empty() ? "/files/" : llvm::join(values, " "))
         << " ;;\n";
    }
    os << "      esac ;;\n";
  }
  os << "  esac\n"
        "  if [[ $values == /files/ ]]; then\n"
        "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "  elif [[ -n $values ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$values\" -- \"$word\"))\n"
        "  elif [[ $word == -* ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
        "    [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null\n"
        "  elif [[ -n $words ]]; then\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
        "  else\n"
        "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
        "  fi\n"
        "  return 0\n"
        "}\n"
        "complete -o filenames -F _commute commute\n";
}

/// Escapes text for the brackets and colons of zsh's _arguments.
static std::string escapeForZsh(llvm::StringRef text) {
  std::string result;
  for (char c : text) {
    if (llvm::is_contained({'[', ']', ':', '\\'}, c))
      result += '\\';
    result += c;
  }
  return result;
}

static void printZsh(llvm::raw_ostream &os) {
  os << "#compdef commute\n"
        "# Completion of commute for zsh: commute completion zsh > "
        "~/.zfunc/_commute\n"
        "_commute() {\n"
        "  local -a commands\n"
        "  commands=(\n";
  for (cl::SubCommand *command : getCommands())
    os << "    "
       << quote((command->getName() + ":" +
                 escapeForZsh(command->getDescription()))
                    .str())
       << '\n';
  os << "    'help:Describe a command'\n"
        "  )\n"
        "  if ((CURRENT == 2)); then\n"
        "    _describe command commands\n"
        "    return\n"
        "  fi\n"
        "  case $words[2] in\n"
        "    help) _describe command commands ;;\n";
  for (cl::SubCommand *command : getCommands()) {
    os << "    " << command->getName() << ") _arguments";
    for (cl::Option *option : getOptions(*command)) {
      std::string text = getFlagName(*option);
      if (!isFlag(*option) && option->ArgStr.size() > 1)
        text += "=";
      text += "[" + escapeForZsh(option->HelpStr) + "]";
      if (!isFlag(*option)) {
        std::vector<std::string> values = getValues(*option);
        text += ":" + escapeForZsh(option->ValueStr) + ":" +
                (values.empty() ? std::string("_files")
                                : "(" + llvm::join(values, " ") + ")");
      }
      os << " \\\n      " << quote(text);
    }
    std::vector<std::string> words = getArgumentWords(*command);
    if (!command->PositionalOpts.empty())
      os << " \\\n      "
         << quote("*:" + escapeForZsh(getPositionals(*command)) + ":" +
                  (words.empty() ? std::string("_files")
                                 : "(" + llvm::join(words, " ") + ")"));
    os << " ;;\n";
  }
  os << "  esac\n"
        "}\n"
        "# As a file of $fpath, this is the function itself.\n"
        "if [[ $funcstack[1] == _commute ]]; then\n"
        "  _commute \"$@\"\n"
        "else\n"
        "  compdef _commute commute\n"
        "fi\n";
}

static void printFish(llvm::raw_ostream &os) {
  os << "# Completion of commute for fish: commute completion fish > "
        "~/.config/fish/completions/commute.fish\n"
        "complete -c commute -n __fish_use_subcommand -f -a help -d "
        "'Describe a command'\n";
  for (cl::SubCommand *command : getCommands())
    os << "complete -c commute -n __fish_use_subcommand -f -a "
       << command->getName() << " -d " << quote(command->getDescription())
       << '\n';
  os << "complete -c commute -n '__fish_seen_subcommand_from help' -f -a "
     << quote(joinCommands()) << '\n';
  for (cl::SubCommand *command : getCommands()) {
    std::string start = "complete -c commute -n '__fish_seen_subcommand_from " +
                        command->getName().str() + "'";
    if (std::vector<std::string> words = getArgumentWords(*command);
        !words.empty())
      os << start << " -f -a " << quote(llvm::join(words, " ")) << '\n';
    for (cl::Option *option : getOptions(*command)) {
      os << start << (option->ArgStr.size() == 1 ? " -s " : " -l ")
         << option->ArgStr;
      if (!isFlag(*option)) {
        std::vector<std::string> values = getValues(*option);
        os << " -r";
        if (!values.empty())
          os << " -f -a " << quote(llvm::join(values, " "));
      }
      os << " -d " << quote(option->HelpStr) << '\n';
    }
  }
}

llvm::Expected<ExitCode> CompletionCommand::run() {
  llvm::StringRef name = shell;
  if (name == "bash")
    printBash(dataOuts());
  else if (name == "zsh")
    printZsh(dataOuts());
  else if (name == "fish")
    printFish(dataOuts());
  else
    return llvm::createStringError("completion: there is no script for '" +
                                   name + "'; expected bash, zsh or fish");
  return Success;
}

std::unique_ptr<Command> tool::createCompletionCommand() {
  return std::make_unique<CompletionCommand>();
}
