//===- RunReport.cpp - output of commute run --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RunReport.h"

#include "commute/Runtime/Safetensors.h"

#include "llvm/Support/Format.h"

#include <cstring>

using namespace commute;
using namespace commute::tool;

static bool areEqual(const runtime::TensorValue &a,
                     const runtime::TensorValue &b) {
  return a->getSizes() == b->getSizes() && a->getKind() == b->getKind() &&
         std::memcmp(a->getData(), b->getData(), a->getNumBytes()) == 0;
}

RunSummary tool::summarize(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                           llvm::ArrayRef<std::string> assumptions) {
  RunSummary summary;
  summary.numRanks = outcomes.size();
  summary.assumptions = assumptions.vec();
  for (const runtime::RankOutcome &outcome : outcomes)
    summary.seconds = std::max(summary.seconds, outcome.seconds.count());
  for (auto [index, first] : llvm::enumerate(outcomes.front().outputs)) {
    OutputSummary &output = summary.outputs.emplace_back();
    output.name = "output" + std::to_string(index);
    if (!first)
      continue;
    output.dtype = runtime::getSafetensorsName(first->getKind()).str();
    output.sizes = first->getSizes().vec();
    output.isEqualOnAllRanks =
        llvm::all_of(outcomes, [&](const runtime::RankOutcome &outcome) {
          return areEqual(first, outcome.outputs[index]);
        });
  }
  return summary;
}

void tool::printElements(llvm::ArrayRef<runtime::RankOutcome> outcomes,
                         llvm::raw_ostream &os) {
  for (const runtime::RankOutcome &outcome : outcomes)
    for (auto [index, output] : llvm::enumerate(outcome.outputs)) {
      if (!output)
        continue;
      os << "rank" << outcome.rank << ".output" << index << ' '
         << runtime::getSafetensorsName(output->getKind()) << ' '
         << runtime::formatSizes(output->getSizes()) << ':';
      auto print = [&](auto zero, const char *format) {
        std::vector<decltype(zero)> numbers(output->getNumElements());
        runtime::loadElements(output->getKind(), output->getData(),
                              numbers.size(), numbers.data());
        for (auto number : numbers)
          os << ' ' << llvm::format(format, number);
      };
      if (runtime::isFloat(output->getKind()))
        print(double(), "%.9g");
      else
        print(int64_t(), "%ld");
      os << '\n';
    }
}

void tool::print(const RunSummary &summary, llvm::raw_ostream &os) {
  os << "ran on " << summary.numRanks
     << (summary.numRanks == 1 ? " rank" : " ranks") << " in "
     << llvm::format("%.3f", summary.seconds * 1e3) << " ms\n";
  for (const OutputSummary &output : summary.outputs) {
    os << "  " << output.name << ": ";
    if (output.dtype.empty()) {
      os << "not a tensor\n";
      continue;
    }
    os << output.dtype << ' ' << runtime::formatSizes(output.sizes);
    if (summary.numRanks > 1)
      os << (output.isEqualOnAllRanks ? ", equal on all ranks"
                                      : ", differs between ranks");
    os << '\n';
  }
  if (summary.assumptions.empty())
    return;
  os << "assumptions about random inputs without stated placements:\n";
  for (const std::string &assumption : summary.assumptions)
    os << "  " << assumption << '\n';
}

llvm::json::Object tool::toJson(const RunSummary &summary) {
  llvm::json::Array outputs;
  for (const OutputSummary &output : summary.outputs)
    outputs.push_back(
        llvm::json::Object{{"name", output.name},
                           {"dtype", output.dtype},
                           {"shape", llvm::json::Array(output.sizes)},
                           {"equal_on_all_ranks", output.isEqualOnAllRanks}});
  return llvm::json::Object{
      {"ranks", static_cast<int64_t>(summary.numRanks)},
      {"seconds", summary.seconds},
      {"outputs", std::move(outputs)},
      {"assumptions", llvm::json::Array(summary.assumptions)}};
}
