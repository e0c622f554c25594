//===- CommandHelp.h - help, manual pages and shell completion --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// All texts come from the declarations of the options and from one table of
// examples.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_COMMANDHELP_H
#define COMMUTE_TOOLS_COMMUTE_COMMANDHELP_H

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

namespace commute::tool {

/// Headings under which options are listed; other options come first.
llvm::cl::OptionCategory &getProgramCategory();
llvm::cl::OptionCategory &getProofCategory();
llvm::cl::OptionCategory &getOutputCategory();

/// What a reader wants besides the options.
struct CommandNotes {
  llvm::StringLiteral name;
  llvm::StringLiteral details;
  /// Lines of a shell, without the prompt.
  llvm::StringLiteral examples;
};
llvm::ArrayRef<CommandNotes> getCommandNotes();

/// Prints all commands, with the exit codes.
void printOverview(llvm::raw_ostream &os);
void printCommandHelp(llvm::cl::SubCommand &command, llvm::raw_ostream &os);

/// Options by heading, in the order of the help.
std::vector<std::pair<llvm::StringRef, std::vector<llvm::cl::Option *>>>
getOptionGroups(llvm::cl::SubCommand &command);

extern const llvm::StringLiteral exitCodes;
extern const llvm::StringLiteral trust;

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_COMMANDHELP_H
