//===- CommandLine.cpp - which command runs, with which options -*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"

#include "CommandHelp.h"
#include "OptionParsers.h"
#include "SafeOutput.h"

#include "commute/Support/SimilarWord.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

#include <set>

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

//===----------------------------------------------------------------------===//
// Declared options
//===----------------------------------------------------------------------===//

cl::SubCommand *tool::findCommand(llvm::StringRef name) {
  for (cl::SubCommand *command : getCommands())
    if (command->getName() == name)
      return command;
  return nullptr;
}

std::vector<cl::Option *> tool::getOptions(cl::SubCommand &command) {
  std::vector<cl::Option *> options;
  for (auto [name, option] : command.OptionsMap)
    if (option->getOptionHiddenFlag() == cl::NotHidden &&
        option->ArgStr == name && name != "help" && name != "version")
      options.push_back(option);
  llvm::sort(options, [](const cl::Option *a, const cl::Option *b) {
    return a->ArgStr < b->ArgStr;
  });
  return options;
}

std::string tool::getPositionals(cl::SubCommand &command) {
  std::vector<std::string> names;
  for (const cl::Option *option : command.PositionalOpts)
    names.push_back(option->HelpStr.str());
  return llvm::join(names, " ");
}

bool tool::isFlag(const cl::Option &option) {
  return option.getValueExpectedFlag() != cl::ValueRequired;
}

std::string tool::getSpelling(const cl::Option &option) {
  bool isLetter = option.ArgStr.size() == 1;
  std::string text = (isLetter ? "-" : "--") + option.ArgStr.str();
  if (isFlag(option))
    return text;
  return text + (isLetter ? " " : "=") +
         (option.ValueStr.empty() ? "VALUE" : option.ValueStr.str());
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static llvm::raw_ostream &error() {
  llvm::WithColor::error(llvm::errs(), "commute");
  return safeErrs();
}

bool tool::reportBadValue(llvm::StringRef name, llvm::StringRef value,
                          const llvm::Twine &expected) {
  error() << (name.size() == 1 ? "-" : "--") << name << '=' << value << ": "
          << expected << '\n';
  return true;
}

/// Prints an error about the command line of a command, and how it is used.
static ExitCode fail(cl::SubCommand &command, const llvm::Twine &message) {
  error() << command.getName() << ": " << message << '\n';
  std::string positionals = getPositionals(command);
  safeErrs() << "usage: commute " << command.getName() << " [options]"
             << (positionals.empty() ? "" : " ") << positionals
             << "; for the options, try 'commute help " << command.getName()
             << "'\n";
  return BadInput;
}

static ExitCode failWithoutCommand(llvm::StringRef word) {
  std::vector<llvm::StringRef> names = {"help"};
  for (cl::SubCommand *command : getCommands())
    names.push_back(command->getName());
  error() << "there is no command '" << word << "'"
          << describeSimilar(word, names)
          << "; 'commute help' lists the commands\n";
  return BadInput;
}

//===----------------------------------------------------------------------===//
// Check of one command's arguments
//===----------------------------------------------------------------------===//

namespace {

class ArgumentCheck {
public:
  ArgumentCheck(cl::SubCommand &command,
                llvm::ArrayRef<llvm::StringRef> arguments)
      : command(command), arguments(arguments) {}

  /// Returns an exit code unless the arguments are well-formed.
  std::optional<ExitCode> run();

private:
  std::optional<ExitCode> checkOption(size_t &index);
  std::optional<ExitCode> checkPositionals();
  std::optional<ExitCode> checkRequired();
  ExitCode failUnknown(llvm::StringRef spelling, llvm::StringRef name);
  cl::Option *find(llvm::StringRef name) const {
    auto found = command.OptionsMap.find(name);
    return found == command.OptionsMap.end() ? nullptr : found->second;
  }

  cl::SubCommand &command;
  llvm::ArrayRef<llvm::StringRef> arguments;
  std::vector<llvm::StringRef> positionals;
  std::set<cl::Option *> seen;
};

} // namespace

static bool looksLikeOption(llvm::StringRef text) {
  return text.size() > 1 && text.front() == '-';
}

ExitCode ArgumentCheck::failUnknown(llvm::StringRef spelling,
                                    llvm::StringRef name) {
  std::vector<llvm::StringRef> names = {"help"};
  for (cl::Option *option : getOptions(command))
    names.push_back(option->ArgStr);
  std::string similar =
      describeSimilar(name, names, name.size() == 1 ? "-" : "--");
  if (!similar.empty())
    return fail(command, "there is no option '" + spelling + "'" + similar);
  // Perhaps the option of another command.
  std::vector<std::string> owners;
  for (cl::SubCommand *other : getCommands())
    if (auto found = other->OptionsMap.find(name);
        found != other->OptionsMap.end() &&
        found->second->getOptionHiddenFlag() == cl::NotHidden)
      owners.push_back(other->getName().str());
  return fail(command, "there is no option '" + spelling + "'" +
                           (owners.empty() ? ""
                                           : "; it is an option of " +
                                                 llvm::join(owners, ", ")));
}

std::optional<ExitCode> ArgumentCheck::checkOption(size_t &index) {
  llvm::StringRef text = arguments[index];
  auto [spelling, value] = text.split('=');
  bool hasValue = text.contains('=');
  llvm::StringRef name = spelling.ltrim('-');
  if (name == "help" || name == "h") {
    printCommandHelp(command, safeOuts());
    return Success;
  }
  cl::Option *option = find(name);
  if (!option || option->getOptionHiddenFlag() == cl::ReallyHidden)
    return failUnknown(spelling, name);
  bool isRepeated = !seen.insert(option).second;
  if (isRepeated && (option->getNumOccurrencesFlag() == cl::Optional ||
                     option->getNumOccurrencesFlag() == cl::Required))
    return fail(command, "'" + spelling + "' is given twice");
  if (isFlag(*option)) {
    if (hasValue && !llvm::is_contained({"true", "false"}, value))
      return fail(command, "'" + spelling + "' takes no value, but '" + value +
                               "' is given");
    return std::nullopt;
  }
  if (!hasValue) {
    // The value is the next argument.
    bool isMissing = index + 1 == arguments.size();
    if (!isMissing && looksLikeOption(arguments[index + 1]) &&
        find(arguments[index + 1].split('=').first.ltrim('-')))
      isMissing = true;
    if (isMissing)
      return fail(command,
                  "'" + spelling + "' needs a value: " + getSpelling(*option));
    value = arguments[++index];
  }
  if (value.empty())
    return fail(command, "'" + spelling + "' has an empty value; expected " +
                             getSpelling(*option));
  return std::nullopt;
}

std::optional<ExitCode> ArgumentCheck::checkPositionals() {
  size_t least = 0, most = 0;
  for (cl::Option *option : command.PositionalOpts) {
    cl::NumOccurrencesFlag flag = option->getNumOccurrencesFlag();
    least += flag == cl::Required || flag == cl::OneOrMore;
    bool isList = flag == cl::OneOrMore || flag == cl::ZeroOrMore;
    most = isList || most == SIZE_MAX ? SIZE_MAX : most + 1;
  }
  if (positionals.size() < least)
    return fail(command,
                "expected " + getPositionals(command) +
                    (positionals.empty() ? ", but nothing is given" : ""));
  if (positionals.size() > most)
    return fail(command,
                "'" + positionals[most] + "' is one argument too many" +
                    (most == 0 ? "; the command takes none"
                               : "; expected only " + getPositionals(command)));
  for (llvm::StringRef text : positionals)
    if (text.empty())
      return fail(command,
                  "an argument is empty; expected " + getPositionals(command));
  return std::nullopt;
}

std::optional<ExitCode> ArgumentCheck::checkRequired() {
  for (cl::Option *option : getOptions(command))
    if (option->getNumOccurrencesFlag() == cl::Required && !seen.count(option))
      return fail(command, "'" + getSpelling(*option) +
                               "' is missing: " + option->HelpStr);
  return std::nullopt;
}

std::optional<ExitCode> ArgumentCheck::run() {
  bool hasEnded = false;
  for (size_t index = 0; index < arguments.size(); ++index) {
    llvm::StringRef text = arguments[index];
    if (!hasEnded && text == "--")
      hasEnded = true;
    else if (hasEnded || !looksLikeOption(text))
      positionals.push_back(text);
    else if (std::optional<ExitCode> code = checkOption(index))
      return code;
  }
  if (std::optional<ExitCode> code = checkPositionals())
    return code;
  return checkRequired();
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// commute help [COMMAND]
static ExitCode help(llvm::ArrayRef<llvm::StringRef> arguments) {
  if (arguments.empty()) {
    printOverview(safeOuts());
    return Success;
  }
  if (arguments.size() > 1) {
    error() << "help: '" << arguments[1]
            << "' is one argument too many; expected the name of one command\n";
    return BadInput;
  }
  cl::SubCommand *command = findCommand(arguments.front());
  if (!command)
    return failWithoutCommand(arguments.front());
  printCommandHelp(*command, safeOuts());
  return Success;
}

std::optional<ExitCode> tool::parseCommandLine(int argc,
                                               const char *const *argv) {
  std::vector<llvm::StringRef> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    printOverview(safeErrs());
    return BadInput;
  }
  llvm::StringRef first = arguments.front();
  llvm::ArrayRef<llvm::StringRef> rest = llvm::ArrayRef(arguments).drop_front();
  if (llvm::is_contained({"--help", "-help", "-h", "help"}, first))
    return help(rest);
  if (llvm::is_contained({"--version", "-version"}, first)) {
    safeOuts() << "commute " << COMMUTE_VERSION << '\n';
    return Success;
  }
  if (looksLikeOption(first)) {
    error() << "'" << first
            << "' is given before any command; the form is commute COMMAND "
               "[options], and 'commute help' lists the commands\n";
    return BadInput;
  }
  cl::SubCommand *command = findCommand(first);
  if (!command)
    return failWithoutCommand(first);
  if (std::optional<ExitCode> code = ArgumentCheck(*command, rest).run())
    return code;
  // Invalid values are reported by the options' parsers.
  std::string unexpected;
  llvm::raw_string_ostream os(unexpected);
  if (cl::ParseCommandLineOptions(argc, argv, "", &os))
    return std::nullopt;
  if (!unexpected.empty())
    error() << llvm::StringRef(unexpected).trim() << '\n';
  return BadInput;
}
