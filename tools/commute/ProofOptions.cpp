//===- ProofOptions.cpp - budget of a proof ---------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "ProofOptions.h"

#include "CommandHelp.h"
#include "OutputSettings.h"
#include "Progress.h"
#include "SafeOutput.h"

#include "commute/Support/Memory.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace commute;
using namespace commute::tool;
namespace cl = llvm::cl;

ProofOptions::ProofOptions(cl::SubCommand &command)
    : time("proof-time", cl::sub(command), cl::cat(getProofCategory()),
           cl::value_desc("TIME"), cl::init("60s"),
           cl::desc("Processor time limit of a proof, such as 500ms, 60s "
                    "(default) or 5min; beyond it, the verdict is 'not proven' "
                    "and the exit code 4")),
      memory("proof-memory", cl::sub(command), cl::cat(getProofCategory()),
             cl::value_desc("SIZE"),
             cl::desc("Memory limit of a proof, such as 512MiB or 8GiB "
                      "(default: 4GiB, or half of what is free if that is "
                      "less); beyond it, the verdict is 'not proven' and the "
                      "exit code 4")) {}

/// Parses a number followed by a unit, and returns it times the value of the
/// unit. `getFactor` returns 0 for an unknown unit.
static std::optional<double>
parse(llvm::StringRef text,
      llvm::function_ref<double(llvm::StringRef)> getFactor) {
  size_t end = text.find_first_not_of("0123456789.");
  double number;
  if (text.substr(0, end).getAsDouble(number))
    return std::nullopt;
  double factor = getFactor(end == llvm::StringRef::npos ? llvm::StringRef()
                                                         : text.substr(end));
  double value = number * factor;
  if (factor == 0 || !std::isfinite(value) || value < 0 || value > 0x1p62)
    return std::nullopt;
  return value;
}

/// Shows how far a proof has come: on a terminal as a bar, else in a line every
/// ten seconds.
static std::function<void(const equivalence::ProofProgress &)> showProgress() {
  auto stage = std::make_shared<std::unique_ptr<Progress>>();
  auto nextLine = std::make_shared<double>(10);
  return [=](const equivalence::ProofProgress &progress) {
    if (progress.isDone) {
      stage->reset();
      return;
    }
    if (!*stage)
      *stage = std::make_unique<Progress>("proving");
    std::string rounds = llvm::formatv("{0} of {1} rounds", progress.numRounds,
                                       progress.numPlannedRounds)
                             .str();
    (*stage)->update(progress.numPlannedRounds > 0
                         ? double(progress.numRounds) /
                               progress.numPlannedRounds
                         : 0,
                     rounds);
    if (isQuiet() || llvm::sys::Process::StandardErrIsDisplayed() ||
        progress.seconds < *nextLine)
      return;
    *nextLine = progress.seconds + 10;
    safeErrs() << llvm::formatv("proof: {0:f0} s, ", progress.seconds) << rounds
               << '\n';
  };
}

llvm::Error ProofOptions::apply(equivalence::VerifyOptions &options) const {
  std::optional<double> seconds = parse(time, [](llvm::StringRef unit) {
    return llvm::StringSwitch<double>(unit)
        .Case("ms", 1e-3)
        .Cases({"", "s"}, 1)
        .Case("min", 60)
        .Case("h", 3600)
        .Default(0);
  });
  if (!seconds)
    return llvm::createStringError("--proof-time=" + time +
                                   ": expected a time such as 500ms, 60s or "
                                   "5min");
  std::optional<double> bytes =
      parse(memory.empty() ? "0B" : memory.c_str(), [](llvm::StringRef unit) {
        return llvm::StringSwitch<double>(unit)
            .Cases({"", "B"}, 1)
            .Case("KiB", 0x1p10)
            .Case("MiB", 0x1p20)
            .Case("GiB", 0x1p30)
            .Case("kB", 1e3)
            .Case("MB", 1e6)
            .Case("GB", 1e9)
            .Default(0);
      });
  if (!bytes || (memory.getNumOccurrences() > 0 && memory.empty()))
    return llvm::createStringError("--proof-memory=" + memory +
                                   ": expected a size such as 512MiB or 4GiB");
  options.onProgress = showProgress();
  options.maxSeconds = *seconds;
  if (memory.empty())
    return llvm::Error::success();
  options.maxBytes = static_cast<int64_t>(*bytes);
  return llvm::Error::success();
}

std::string
ProofOptions::describeRemedy(const equivalence::VerifyResult &result) {
  if (result.exceeds == equivalence::Exceeded::Time)
    return "--proof-time raises the budget";
  if (result.exceeds != equivalence::Exceeded::Memory)
    return {};
  // Leave room for what follows.
  constexpr int64_t unit = int64_t(1) << 30;
  int64_t advised = (result.neededBytes / unit + 1) * 2;
  int64_t free = getAvailableMemory();
  if (free / unit < advised)
    return llvm::formatv("a proof of more would take {0} GiB or more, and this "
                         "machine has {1} MiB free",
                         advised, free >> 20);
  return llvm::formatv("--proof-memory={0}GiB raises the budget, of {1} GiB "
                       "that are free",
                       advised, free / unit);
}
