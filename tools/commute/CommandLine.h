//===- CommandLine.h - which command runs, with which options ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//
//
// The options are declared with LLVM's command-line library. This layer checks
// the command line against them before that library parses it, so that all
// messages are in the words of this tool and name what was probably meant.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_COMMANDLINE_H
#define COMMUTE_TOOLS_COMMUTE_COMMANDLINE_H

#include "Commands.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace commute::tool {

/// The commands, in the order of their declaration in CommandHelp.cpp.
std::vector<llvm::cl::SubCommand *> getCommands();
/// Returns null for an unknown name.
llvm::cl::SubCommand *findCommand(llvm::StringRef name);

/// Options that are shown, sorted by name. LLVM's libraries register more.
std::vector<llvm::cl::Option *> getOptions(llvm::cl::SubCommand &command);
/// Returns "IN", "A B" or "[NAME|FILE...]"; empty without positional arguments.
std::string getPositionals(llvm::cl::SubCommand &command);
/// Returns true if the option is on or off and takes no value.
bool isFlag(const llvm::cl::Option &option);
/// Returns "--name=VALUE", or "-o OUT" for an option of one letter.
std::string getSpelling(const llvm::cl::Option &option);

/// Parses the command line. Returns an exit code if no command is to be run:
/// after help or an error, which have been printed.
std::optional<ExitCode> parseCommandLine(int argc, const char *const *argv);

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_COMMANDLINE_H
