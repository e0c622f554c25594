//===- ManualCommand.cpp - commute manual -----------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"
#include "CommandLine.h"
#include "Commands.h"
#include "SafeOutput.h"

#include "commute/Support/SimilarWord.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class ManualCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"manual", "Print a manual page for man"};
  cl::opt<std::string> topic{cl::Positional, cl::sub(command),
                             cl::desc("[COMMAND]")};
};
} // namespace

/// Escapes text for troff.
static std::string escape(llvm::StringRef text) {
  std::string result;
  for (char c : text)
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
  // A line that starts with a dot or a quote would be a request.
  if (!result.empty() && (result[0] == '.' || result[0] == '\''))
    result = "\\&" + result;
  return result;
}

static void printTitle(const llvm::Twine &name, llvm::raw_ostream &os) {
  os << ".TH \"" << llvm::StringRef(name.str()).upper()
     << "\" \"1\" \"\" \"Commute " << COMMUTE_VERSION << "\"\n";
}

static void printOptions(cl::SubCommand &command, llvm::raw_ostream &os) {
  for (const auto &[heading, options] : getOptionGroups(command)) {
    os << ".SS \"" << escape(heading) << "\"\n";
    for (cl::Option *option : options)
      os << ".TP\n.B " << escape(getSpelling(*option)) << '\n'
         << escape(option->HelpStr) << '\n';
  }
}

static void printExamples(const CommandNotes &notes, llvm::raw_ostream &os) {
  os << ".nf\n";
  for (llvm::StringRef line : llvm::split(notes.examples, '\n'))
    os << escape(line) << '\n';
  os << ".fi\n";
}

static void printPage(cl::SubCommand &command, const CommandNotes &notes,
                      llvm::raw_ostream &os) {
  llvm::StringRef name = command.getName();
  printTitle("commute-" + name, os);
  os << ".SH NAME\ncommute\\-" << name << " \\- "
     << escape(command.getDescription()) << "\n.SH SYNOPSIS\n.B commute "
     << name << "\n[options] " << escape(getPositionals(command))
     << "\n.SH DESCRIPTION\n"
     << escape(notes.details) << "\n.SH OPTIONS\n";
  printOptions(command, os);
  os << ".SH EXAMPLES\n";
  printExamples(notes, os);
  os << ".SH EXIT STATUS\n"
     << escape(exitCodes) << "\n.SH SEE ALSO\n.BR commute (1)\n";
}

static void printAllCommands(llvm::raw_ostream &os) {
  printTitle("commute", os);
  os << ".SH NAME\ncommute \\- optimize tensor\\-parallel programs captured "
        "from PyTorch\n.SH SYNOPSIS\n.B commute\n.I COMMAND\n[options] "
        "[files]\n.SH COMMANDS\n";
  for (const CommandNotes &notes : getCommandNotes())
    if (cl::SubCommand *command = findCommand(notes.name))
      os << ".TP\n.B " << notes.name << '\n'
         << escape(command->getDescription()) << ".\n"
         << escape(notes.details) << '\n';
  os << ".SH EXAMPLES\n";
  for (const CommandNotes &notes : getCommandNotes())
    printExamples(notes, os);
  os << ".SH EXIT STATUS\n"
     << escape(exitCodes) << "\n.SH SECURITY\n"
     << escape(trust) << "\n.SH SEE ALSO\n";
  for (const CommandNotes &notes : getCommandNotes())
    os << ".BR commute\\-" << notes.name << " (1)\n";
}

llvm::Expected<ExitCode> ManualCommand::run() {
  if (topic.empty()) {
    printAllCommands(dataOuts());
    return Success;
  }
  cl::SubCommand *chosen = findCommand(topic);
  const CommandNotes *notes =
      llvm::find_if(getCommandNotes(),
                    [&](const auto &entry) { return entry.name == topic; });
  if (!chosen) {
    std::vector<llvm::StringRef> names;
    for (cl::SubCommand *other : getCommands())
      names.push_back(other->getName());
    return llvm::createStringError("manual: there is no command '" + topic +
                                   "'" + describeSimilar(topic, names));
  }
  printPage(*chosen, *notes, dataOuts());
  return Success;
}

std::unique_ptr<Command> tool::createManualCommand() {
  return std::make_unique<ManualCommand>();
}
