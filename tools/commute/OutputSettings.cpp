//===- OutputSettings.cpp - how much is printed -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OutputSettings.h"

#include "CommandHelp.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

using namespace commute;
namespace cl = llvm::cl;

static bool quiet = false, verbose = false;

void tool::declareOutputOptions() {
  static cl::opt<bool, true> quietOption{
      "quiet", cl::sub(cl::SubCommand::getAll()), cl::location(quiet),
      cl::cat(getOutputCategory()), cl::desc("Print only errors")};
  static cl::opt<bool, true> verboseOption{
      "v", cl::sub(cl::SubCommand::getAll()), cl::location(verbose),
      cl::cat(getOutputCategory()),
      cl::desc("Print all of alike sites one by one, and the time of each "
               "stage on standard error")};
  // https://no-color.org: any value that is not empty.
  if (std::optional<std::string> value = llvm::sys::Process::GetEnv("NO_COLOR");
      value && !value->empty())
    llvm::WithColor::setAutoDetectFunction(
        [](const llvm::raw_ostream &) { return false; });
}

bool tool::isQuiet() { return quiet; }
bool tool::isVerbose() { return verbose; }
