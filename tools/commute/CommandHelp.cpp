//===- CommandHelp.cpp - what commands do, and their options ----*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandHelp.h"

#include "CommandLine.h"
#include "TextLayout.h"

#include "llvm/ADT/StringExtras.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

cl::OptionCategory &tool::getProgramCategory() {
  static cl::OptionCategory category("about the program");
  return category;
}

cl::OptionCategory &tool::getProofCategory() {
  static cl::OptionCategory category("budget of the proof");
  return category;
}

cl::OptionCategory &tool::getOutputCategory() {
  static cl::OptionCategory category("output");
  return category;
}

static constexpr CommandNotes notes[] = {
    {"show",
     "Lists the inputs, process groups, collectives and operators of a graph, "
     "and what is not stated about it.",
     "commute show model.pt2\n"
     "commute show folder_of_ranks"},
    {"opt",
     "Runs the passes, proves that the result computes the same on every rank, "
     "and writes it. Everything that no pass rewrites is copied byte for byte.",
     "commute opt model.pt2 -o better.pt2\n"
     "commute opt model.pt2 -o better.pt2 --target=b200x8 "
     "--passes=sequence-parallel,micro-pipeline{margin=0.1}\n"
     "commute opt model.pt2 -o better.pt2 --group=0=0-3 "
     "--input-placement='.*norm.*=replicated'"},
    {"explain",
     "Runs the passes without writing anything, and lists each site with the "
     "decision, the op that blocks a rewrite, prices, and what would change "
     "the decision. The potential is what the step would gain.",
     "commute explain model.pt2\n"
     "commute explain model.pt2 --refused --pass=micro-pipeline\n"
     "commute explain model.pt2 --why=all_reduce_3"},
    {"verify",
     "Compares two graphs on all ranks: exact over a prime field, for all "
     "inputs that agree with the placements.",
     "commute verify model.pt2 better.pt2\n"
     "commute verify folder_a folder_b --precision=strict"},
    {"diff",
     "Lists removed, added, changed and moved ops by layer, with collectives "
     "and predicted steps. The exit code is 1 if the graphs differ.",
     "commute diff model.pt2 better.pt2"},
    {"run",
     "Computes the outputs on all ranks, which are threads, or processes under "
     "mpirun.",
     "commute run model.pt2 --ranks=4\n"
     "mpirun -n 4 commute run model.pt2 --inputs=in.safetensors "
     "--outputs=out.safetensors"},
    {"estimate",
     "Predicts the time of a step, the communication that is not hidden, and "
     "the memory.",
     "commute estimate model.pt2 --target=h200x8\n"
     "commute estimate model.pt2 --size s77=4096 --trace=step.json"},
    {"passes", "Lists what --passes takes: names, options and their values.",
     "commute passes\n"
     "commute opt model.pt2 -o better.pt2 --passes=micro-pipeline{margin=0}"},
    {"targets", "Lists machines, with the source of every number.",
     "commute targets\n"
     "commute targets h100x8 --json > mine.json\n"
     "commute estimate model.pt2 --target=mine.json"},
    {"vocabularies",
     "Lists the operators of serving engines that Commute knows, as the known "
     "operators that they behave like. A file is checked and listed alike.",
     "commute vocabularies\n"
     "commute vocabularies vllm --json > mine.json\n"
     "commute opt model.pt2 -o better.pt2 --vocabulary=mine.json"},
    {"calibrate",
     "Measures products, memory and transfers. Ranks are threads, or "
     "processes under mpirun.",
     "commute calibrate\n"
     "commute estimate model.pt2 --target=local"},
    {"completion",
     "Prints a script that completes commands, options and their values.",
     "source <(commute completion bash)\n"
     "commute completion zsh > ~/.zfunc/_commute\n"
     "commute completion fish > ~/.config/fish/completions/commute.fish"},
    {"manual", "Prints a manual page, of one command or of all.",
     "commute manual opt | man -l -\n"
     "commute manual > commute.1"},
};

llvm::ArrayRef<CommandNotes> tool::getCommandNotes() { return notes; }

std::vector<cl::SubCommand *> tool::getCommands() {
  std::vector<cl::SubCommand *> commands;
  for (const CommandNotes &entry : notes)
    for (cl::SubCommand *command : cl::getRegisteredSubcommands())
      if (command->getName() == entry.name)
        commands.push_back(command);
  return commands;
}

const llvm::StringLiteral tool::exitCodes =
    "Exit codes: 0 success, 1 the requested property does not hold, 2 bad "
    "usage "
    "or input, 3 an internal error of Commute, 4 not proven within the budget.";
const llvm::StringLiteral tool::trust =
    "Files of kind .pt2 and .mlir may come from untrusted sources. Read "
    ".mlirbc "
    "only from trusted ones: MLIR's bytecode reader is not hardened against "
    "hostile files.";

/// The column at which descriptions start.
static constexpr size_t descriptionColumn = 36;

static void printEntry(llvm::StringRef left, llvm::StringRef description,
                       size_t column, llvm::raw_ostream &os) {
  std::string wrapped;
  llvm::raw_string_ostream text(wrapped);
  printWrapped(description, column, text);
  bool fits = left.size() + 4 <= column;
  os << "  " << left;
  if (fits)
    os << llvm::StringRef(wrapped).drop_front(left.size() + 2);
  else
    os << '\n' << wrapped;
}

void tool::printOverview(llvm::raw_ostream &os) {
  os << "Commute optimizes tensor-parallel programs captured from PyTorch.\n\n"
        "usage: commute COMMAND [options] [files]\n\ncommands:\n";
  for (cl::SubCommand *command : getCommands())
    printEntry(command->getName(), command->getDescription(), 16, os);
  os << "\n'commute help COMMAND' describes a command and its options.\n\n";
  printWrapped(exitCodes, 0, os);
  os << '\n';
  printWrapped(trust, 0, os);
}

std::vector<std::pair<llvm::StringRef, std::vector<cl::Option *>>>
tool::getOptionGroups(cl::SubCommand &command) {
  std::vector<std::pair<llvm::StringRef, std::vector<cl::Option *>>> groups = {
      {"options", {}}};
  for (cl::OptionCategory *category :
       {&getProgramCategory(), &getProofCategory(), &getOutputCategory()})
    groups.push_back({category->getName(), {}});
  for (cl::Option *option : getOptions(command)) {
    llvm::StringRef heading = option->Categories.front()->getName();
    auto group = llvm::find_if(
        groups, [&](const auto &entry) { return entry.first == heading; });
    (group == groups.end() ? groups.front() : *group).second.push_back(option);
  }
  llvm::erase_if(groups,
                 [](const auto &entry) { return entry.second.empty(); });
  return groups;
}

void tool::printCommandHelp(cl::SubCommand &command, llvm::raw_ostream &os) {
  std::string positionals = getPositionals(command);
  os << "usage: commute " << command.getName() << " [options]"
     << (positionals.empty() ? "" : " ") << positionals << "\n\n";
  printWrapped((command.getDescription() + ".").str(), 0, os);
  const CommandNotes *entry = llvm::find_if(notes, [&](const auto &other) {
    return other.name == command.getName();
  });
  if (entry != std::end(notes)) {
    printWrapped(entry->details, 0, os);
    os << "\nexamples:\n";
    for (llvm::StringRef line : llvm::split(entry->examples, '\n'))
      os << "  " << line << '\n';
  }
  for (const auto &[heading, options] : getOptionGroups(command)) {
    os << '\n' << heading << ":\n";
    for (cl::Option *option : options)
      printEntry(getSpelling(*option), option->HelpStr, descriptionColumn, os);
  }
}
