//===- Main.cpp - the commute tool ------------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "CommandLine.h"
#include "Commands.h"
#include "OutputSettings.h"
#include "SafeOutput.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <unistd.h>

using namespace commute::tool;

/// Large or malicious graphs may need more memory than there is. LLVM's default
/// handler would abort with a stack trace, as for a defect.
[[noreturn]] static void exitWithoutMemory(void *exitCode, const char *, bool) {
  static constexpr char message[] =
      "commute: error: the program needs more memory than this process may "
      "use\n";
  ssize_t ignored = write(STDERR_FILENO, message, sizeof(message) - 1);
  (void)ignored;
  _exit(*static_cast<ExitCode *>(exitCode));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  static ExitCode exitCode = BadInput;
  llvm::install_bad_alloc_error_handler(exitWithoutMemory, &exitCode);
  // Hide the options that LLVM's libraries register.
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "version")
      option->setHiddenFlag(llvm::cl::ReallyHidden);

  declareOutputOptions();
  llvm::SmallVector<std::unique_ptr<Command>, 16> commands;
  commands.push_back(createCalibrateCommand());
  commands.push_back(createCompletionCommand());
  commands.push_back(createDiffCommand());
  commands.push_back(createEstimateCommand());
  commands.push_back(createExplainCommand());
  commands.push_back(createManualCommand());
  commands.push_back(createOptCommand());
  commands.push_back(createPassesCommand());
  commands.push_back(createRunCommand());
  commands.push_back(createShowCommand());
  commands.push_back(createTargetsCommand());
  commands.push_back(createVerifyCommand());
  commands.push_back(createVocabulariesCommand());

  if (std::optional<ExitCode> code = parseCommandLine(argc, argv))
    return *code;
  for (const std::unique_ptr<Command> &command : commands) {
    if (!command->isChosen())
      continue;
    llvm::Expected<ExitCode> code = command->run();
    if (code)
      return *code;
    llvm::WithColor::error(llvm::errs(), "commute");
    safeErrs() << llvm::toString(code.takeError()) << '\n';
    return BadInput;
  }
  llvm_unreachable("the command line selects one of the commands");
}
