//===- Main.cpp - the commute tool ------------------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
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

static constexpr char overview[] =
    "Commute optimizes tensor-parallel programs captured from PyTorch.\n\n"
    "  commute show IN.pt2             describe a graph\n"
    "  commute opt IN.pt2 -o OUT.pt2   optimize a graph\n"
    "  commute verify A.pt2 B.pt2      check that two graphs compute the same\n"
    "  commute diff A.pt2 B.pt2        list what differs between two graphs\n"
    "  commute run IN.pt2              run a graph on several ranks\n"
    "  commute estimate IN.pt2         predict the time of a step on a target\n"
    "  commute explain IN.pt2          say what opt does, what not, and why\n"
    "  commute passes                  list the passes of opt\n"
    "  commute targets                 list the known machines\n"
    "  commute calibrate               measure this machine as a target\n\n"
    "Exit codes: 0 success, 1 the requested property does not hold, 2 bad\n"
    "usage or input, 3 an internal error of Commute, 4 not proven within the\n"
    "budget.\n\n"
    "Files of kind .pt2 and .mlir may come from untrusted sources. Read\n"
    ".mlirbc only from trusted ones: MLIR's bytecode reader is not hardened\n"
    "against hostile files.\n";

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  static ExitCode exitCode = BadInput;
  llvm::install_bad_alloc_error_handler(exitWithoutMemory, &exitCode);
  llvm::cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "commute " << COMMUTE_VERSION << '\n';
  });
  // Hide the options that LLVM's libraries register.
  for (auto &[name, option] : llvm::cl::getRegisteredOptions())
    if (name != "help" && name != "version")
      option->setHiddenFlag(llvm::cl::ReallyHidden);

  llvm::SmallVector<std::unique_ptr<Command>, 8> commands;
  commands.push_back(createCalibrateCommand());
  commands.push_back(createDiffCommand());
  commands.push_back(createEstimateCommand());
  commands.push_back(createExplainCommand());
  commands.push_back(createOptCommand());
  commands.push_back(createPassesCommand());
  commands.push_back(createRunCommand());
  commands.push_back(createShowCommand());
  commands.push_back(createTargetsCommand());
  commands.push_back(createVerifyCommand());

  if (argc == 1) {
    llvm::errs() << overview;
    return BadInput;
  }
  if (!llvm::cl::ParseCommandLineOptions(argc, argv, overview, &llvm::errs()))
    return BadInput;
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
  llvm::WithColor::error(llvm::errs(), "commute")
      << "no command given; try 'commute --help'\n";
  return BadInput;
}
