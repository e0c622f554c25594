//===- CalibrateCommand.cpp - commute calibrate -----------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "OptionParsers.h"
#include "Progress.h"
#include "SafeOutput.h"

#include "commute/Calibration/Calibrate.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"

#include <thread>

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class CalibrateCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  llvm::Expected<int64_t> getRanks() const;
  llvm::Error write(const target::Target &target) const;

  cl::SubCommand command{"calibrate",
                         "Measure this machine and write it as a target"};
  cl::opt<std::string> output{
      "o", cl::sub(command), cl::value_desc("FILE.json"),
      cl::desc("Where to write (default: the file of the target 'local')")};
  NumberOption<int64_t> ranks{
      "ranks", cl::sub(command), cl::value_desc("N"), cl::init(0),
      cl::desc("Measure with this many ranks at once (default: one per core, 2 "
               "to 8; under mpirun, its processes)")};
  cl::opt<bool> quick{
      "quick", cl::sub(command),
      cl::desc(
          "Measure tiny sizes once, only to check that calibration works")};
};
} // namespace

llvm::Expected<int64_t> CalibrateCommand::getRanks() const {
  constexpr int64_t largest = 64;
  std::optional<int64_t> processes = runtime::MpiWorld::getStartedProcesses();
  if (ranks.getNumOccurrences() == 0 && !processes)
    return std::clamp<int64_t>(std::thread::hardware_concurrency(), 2, 8);
  int64_t count = ranks.getNumOccurrences() > 0 ? int64_t(ranks) : *processes;
  if (count < 2 || count > largest)
    return llvm::createStringError(
        (ranks.getNumOccurrences() > 0 ? "--ranks=" : "processes of mpirun: ") +
        llvm::Twine(count) + ": expected 2 to " + llvm::Twine(largest));
  if (processes && count != *processes)
    return llvm::createStringError("--ranks=" + llvm::Twine(count) +
                                   ": mpirun started " +
                                   llvm::Twine(*processes) + " processes");
  return count;
}

llvm::Error CalibrateCommand::write(const target::Target &target) const {
  std::string path =
      output.empty() ? target::getLocalTargetPath() : output.getValue();
  if (output.empty())
    if (std::error_code error = llvm::sys::fs::create_directories(
            llvm::sys::path::parent_path(path)))
      return llvm::createStringError(path + ": " + error.message());
  auto writeText = [&](llvm::raw_ostream &os) -> llvm::Error {
    os << llvm::formatv("{0:2}", target.toJson()) << '\n';
    return llvm::Error::success();
  };
  if (llvm::Error error = llvm::writeToOutput(path, writeText))
    return error;
  if (path != "-")
    safeOuts() << "wrote " << path
               << "; use it with --target=" << (output.empty() ? "local" : path)
               << '\n';
  return llvm::Error::success();
}

llvm::Expected<ExitCode> CalibrateCommand::run() {
  if (!output.empty() && output != "-" &&
      !llvm::StringRef(output).ends_with(".json"))
    return llvm::createStringError(
        "-o " + output + ": the name of a target file must end with .json");
  llvm::Expected<int64_t> numRanks = getRanks();
  if (!numRanks)
    return numRanks.takeError();
  std::unique_ptr<runtime::MpiWorld> processes;
  if (runtime::MpiWorld::isStartedByMpi()) {
    auto joined = runtime::MpiWorld::join(
        llvm::to_vector(llvm::seq<int64_t>(0, *numRanks)),
        std::chrono::seconds(300));
    if (!joined)
      return joined.takeError();
    processes = std::move(*joined);
  }
  bool isFirst = !processes || processes->getRank() == 0;
  unsigned cores = std::thread::hardware_concurrency();
  // Under mpirun, the processes may be on several hosts.
  if (!processes && cores > 0 && *numRanks > int64_t(cores))
    llvm::WithColor::note(llvm::errs(), "commute")
        << *numRanks << " ranks share " << cores
        << (cores == 1 ? " core" : " cores")
        << ", which estimates do not account for\n";
  // Only the first process has something to show.
  auto stage = isFirst ? std::make_unique<Progress>("calibrating") : nullptr;
  auto progress = [&](double part, llvm::StringRef what) {
    if (stage)
      stage->update(part, what);
  };
  calibration::CalibrationOptions options{*numRanks, quick};
  llvm::Expected<std::optional<target::Target>> target =
      calibration::calibrate(options, processes.get(), progress);
  stage.reset();
  if (!target) {
    if (!processes)
      return target.takeError();
    llvm::errs() << "commute: error: " + llvm::toString(target.takeError()) +
                        "\n";
    processes->abort(PropertyFails);
  }
  if (*target)
    if (llvm::Error error = write(**target))
      return std::move(error);
  return Success;
}

std::unique_ptr<Command> tool::createCalibrateCommand() {
  return std::make_unique<CalibrateCommand>();
}
