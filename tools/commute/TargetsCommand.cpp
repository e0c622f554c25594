//===- TargetsCommand.cpp - commute targets ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "JsonOutput.h"
#include "SafeOutput.h"
#include "Units.h"

#include "commute/Target/Target.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

namespace {
class TargetsCommand : public Command {
public:
  bool isChosen() const override { return bool(command); }
  llvm::Expected<ExitCode> run() override;

private:
  cl::SubCommand command{"targets",
                         "List the machines that programs are priced for, with "
                         "the source of every number"};
  cl::list<std::string> names{cl::Positional, cl::sub(command),
                              cl::desc("[NAME|FILE...]")};
  cl::opt<bool> json{"json", cl::sub(command),
                     cl::desc("Print JSON; of one target, in the format of "
                              "target files")};
};
} // namespace

static void printNumber(llvm::StringRef what, const llvm::Twine &number,
                        llvm::StringRef source, llvm::raw_ostream &os) {
  os << llvm::formatv("  {0,-22}", what) << number << "\n      " << source
     << '\n';
}

static std::string formatPercent(double fraction) {
  return llvm::formatv("{0:f0} %", 100 * fraction).str();
}

static void printLines(const target::CollectiveModel &collectives,
                       llvm::raw_ostream &os) {
  for (tp::CommunicationKind kind :
       {tp::CommunicationKind::AllReduce, tp::CommunicationKind::AllGather,
        tp::CommunicationKind::ReduceScatter, tp::CommunicationKind::AllToAll})
    for (const target::CollectiveLine &line : collectives.getLines(kind)) {
      std::string points;
      for (auto [bytes, seconds] : line.points)
        points += (points.empty() ? "; " : ", ") + formatBytes(bytes) + " " +
                  formatSeconds(seconds);
      printNumber((getName(kind) + " of " + llvm::Twine(line.groupSize)).str(),
                  formatSeconds(line.latencySeconds) + " + bytes / " +
                      formatScaled(line.bytesPerSecond, "B/s") + points,
                  line.source, os);
    }
}

static void print(const target::Target &target, llvm::raw_ostream &os) {
  os << target.name << ": " << target.description << '\n';
  auto print = [&](llvm::StringRef what, const std::string &number,
                   const target::Quantity &quantity) {
    printNumber(what, number, quantity.source, os);
  };
  auto rate = [](const target::Quantity &quantity, llvm::StringRef unit) {
    return formatScaled(quantity.value, unit);
  };
  print("devices", std::to_string(int64_t(target.devices.value)),
        target.devices);
  print("memory", formatScaled(target.memoryBytes.value, "B"),
        target.memoryBytes);
  print("memory bandwidth", rate(target.memoryBytesPerSecond, "B/s"),
        target.memoryBytesPerSecond);
  print("memory efficiency", formatPercent(target.memoryEfficiency.value),
        target.memoryEfficiency);
  print("kernel overhead", formatSeconds(target.kernelOverheadSeconds.value),
        target.kernelOverheadSeconds);
  print("transfer overhead",
        formatSeconds(target.transferOverheadSeconds.value),
        target.transferOverheadSeconds);
  print("vector rate", rate(target.vectorFlopsPerSecond, "FLOP/s"),
        target.vectorFlopsPerSecond);
  for (const auto &[name, quantity] : target.matmulFlopsPerSecond)
    print("matmul rate, " + name, rate(quantity, "FLOP/s"), quantity);
  std::string points;
  for (auto [seconds, fraction] : target.matmulEfficiency.points)
    points += (points.empty() ? "" : ", ") + formatSeconds(seconds) + " " +
              formatPercent(fraction);
  printNumber("matmul efficiency", "at seconds of the peak rate: " + points,
              target.matmulEfficiency.source, os);
  printLines(target.collectives, os);
  if (target.network) {
    print("network latency",
          formatSeconds(target.network->latencySeconds.value),
          target.network->latencySeconds);
    print("network bandwidth", rate(target.network->bytesPerSecond, "B/s"),
          target.network->bytesPerSecond);
  }
}

llvm::Expected<ExitCode> TargetsCommand::run() {
  std::vector<target::Target> targets;
  for (const std::string &name : names) {
    llvm::Expected<target::Target> target = target::loadTarget(name);
    if (!target)
      return target.takeError();
    targets.push_back(std::move(*target));
  }
  bool listsAll = names.empty();
  std::string localPath = target::getLocalTargetPath();
  bool hasLocal = llvm::sys::fs::exists(localPath);
  if (listsAll) {
    targets = target::getBuiltinTargets().vec();
    if (hasLocal) {
      llvm::Expected<target::Target> local = target::loadTarget("local");
      if (!local)
        return local.takeError();
      targets.push_back(std::move(*local));
    }
  }
  if (json && names.size() == 1) {
    // In the format of files, to be edited.
    printJson(std::move(*targets.front().toJson().getAsObject()));
    return Success;
  }
  if (json) {
    llvm::json::Array array;
    for (const target::Target &target : targets)
      array.push_back(target.toJson());
    printJson(llvm::json::Object{{"targets", std::move(array)}});
    return Success;
  }
  llvm::interleave(
      targets, safeOuts(),
      [&](const target::Target &target) { print(target, safeOuts()); }, "\n");
  if (listsAll)
    safeOuts() << "\nThe default target is " << target::defaultTargetName
               << ". The target 'local' is "
               << (hasLocal ? ""
                            : "not calibrated yet: 'commute calibrate' "
                              "measures this machine and writes ")
               << localPath << ".\n";
  return Success;
}

std::unique_ptr<Command> tool::createTargetsCommand() {
  return std::make_unique<TargetsCommand>();
}
