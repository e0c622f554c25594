//===- Commands.h - the commands of the commute tool ------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#ifndef COMMUTE_TOOLS_COMMUTE_COMMANDS_H
#define COMMUTE_TOOLS_COMMUTE_COMMANDS_H

#include "llvm/Support/Error.h"

namespace commute::tool {

/// Exit codes of the tool.
enum ExitCode {
  Success = 0,
  /// The requested property does not hold.
  PropertyFails = 1,
  BadInput = 2,
  /// A defect of Commute; a reproducer was written.
  InternalError = 3,
  /// No verdict within the budget.
  NotDecided = 4,
};

/// A subcommand. Its constructor declares its options.
class Command {
public:
  virtual ~Command() = default;
  /// Returns true if the command line selects this command.
  virtual bool isChosen() const = 0;
  /// Runs the command. An error means bad usage or bad input.
  virtual llvm::Expected<ExitCode> run() = 0;
};

std::unique_ptr<Command> createCalibrateCommand();
std::unique_ptr<Command> createCompletionCommand();
std::unique_ptr<Command> createDiffCommand();
std::unique_ptr<Command> createEstimateCommand();
std::unique_ptr<Command> createExplainCommand();
std::unique_ptr<Command> createManualCommand();
std::unique_ptr<Command> createOptCommand();
std::unique_ptr<Command> createPassesCommand();
std::unique_ptr<Command> createRunCommand();
std::unique_ptr<Command> createShowCommand();
std::unique_ptr<Command> createTargetsCommand();
std::unique_ptr<Command> createVerifyCommand();
std::unique_ptr<Command> createVocabulariesCommand();

} // namespace commute::tool

#endif // COMMUTE_TOOLS_COMMUTE_COMMANDS_H
