//===- EstimateReport.cpp - output of commute estimate ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "EstimateReport.h"

#include "Units.h"

#include "commute/Dialect/NodeName.h"
#include "commute/Report/ChromeTrace.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/Support/FormatVariadic.h"

using namespace commute;
using namespace commute::compiler;
using namespace commute::tool;
namespace json = llvm::json;

static void printLine(llvm::raw_ostream &os, llvm::StringRef what,
                      const llvm::Twine &text) {
  os << llvm::formatv("  {0,-20}", what) << text << '\n';
}

static void printKinds(llvm::ArrayRef<OpKindSummary> kinds,
                       llvm::raw_ostream &os) {
  size_t width = 2;
  double total = 0;
  for (const OpKindSummary &kind : kinds) {
    width = std::max(width, kind.name.size());
    total += kind.seconds;
  }
  auto printRow = [&](llvm::StringRef name, const llvm::Twine &count,
                      const llvm::Twine &time, const llvm::Twine &share,
                      const llvm::Twine &rate, const llvm::Twine &bound) {
    os << "  " << name << std::string(width - name.size(), ' ')
       << llvm::formatv("{0,7}{1,13}{2,7}  {3,-15}{4}", count.str(), time.str(),
                        share.str(), rate.str(), bound.str())
       << '\n';
  };
  printRow("op", "count", "time", "share", "rate", "bound by");
  for (const OpKindSummary &kind : kinds) {
    std::string share, rate;
    llvm::raw_string_ostream(share)
        << llvm::format("%.0f %%", 100 * kind.seconds / total);
    if (kind.bound == target::Bound::Communication)
      rate = formatScaled(kind.wireBytes / kind.seconds, "B/s");
    else if (kind.bound == target::Bound::Compute)
      rate = formatScaled(kind.flops / kind.seconds, "FLOP/s");
    else
      rate = formatScaled(kind.memoryBytes / kind.seconds, "B/s");
    printRow(kind.name, llvm::Twine(kind.count), formatSeconds(kind.seconds),
             share, rate,
             getName(kind.bound) + (kind.isGuess ? " (a guess)" : ""));
  }
}

void tool::print(const EstimateSummary &summary, llvm::raw_ostream &os) {
  const target::Estimate &estimate = summary.estimate;
  os << "one step on " << summary.targetName
     << (summary.isDefaultTarget ? " (the default target)" : "") << ", "
     << summary.targetDescription << ":\n";
  printLine(os, "time", formatSeconds(estimate.stepSeconds));
  printLine(os, "compute", formatSeconds(estimate.computeSeconds));
  std::string exposed = formatSeconds(estimate.communicationSeconds);
  llvm::raw_string_ostream exposedText(exposed);
  exposedText << ", exposed " << formatSeconds(estimate.exposedSeconds);
  if (estimate.stepSeconds > 0)
    exposedText << llvm::format(" (%.0f %% of the step)",
                                100 * estimate.exposedSeconds /
                                    estimate.stepSeconds);
  printLine(os, "communication", exposed);
  printLine(os, "arithmetic",
            formatScaled(estimate.matmulFlops, "FLOP") +
                " in matrix products, " +
                formatScaled(estimate.elementwiseFlops, "FLOP") + " elsewhere");
  printLine(os, "traffic",
            formatBytes(estimate.memoryBytes) + " of memory, " +
                formatBytes(estimate.wireBytes) + " sent by each rank");
  printLine(os, "activations",
            "at most " + formatBytes(estimate.peakActivationBytes) +
                (summary.peakPlace.empty() ? "" : ", at " + summary.peakPlace));
  printLine(os, "weights, inputs",
            formatBytes(estimate.weightBytes) + ", " +
                formatBytes(estimate.inputBytes));
  if (estimate.weightBytes + estimate.inputBytes +
          estimate.peakActivationBytes >
      summary.deviceBytes)
    printLine(os, "",
              "which exceeds the " + formatBytes(summary.deviceBytes) +
                  " of memory of a device");
  if (summary.replicated && summary.replicated->numReplicatedOps > 0)
    printLine(os, "replicated", describe(*summary.replicated));
  if (summary.replicated && summary.replicated->isMost())
    for (const std::string &note : summary.notes)
      printLine(os, "", note);
  for (const auto &[symbol, value] : summary.sizes)
    printLine(os, "with size", symbol + " = " + llvm::Twine(value));
  if (summary.kinds.empty())
    return;
  os << '\n';
  printKinds(summary.kinds, os);
  if (llvm::any_of(summary.kinds,
                   [](const OpKindSummary &kind) { return kind.isGuess; }))
    os << "  a guess: Commute does not know what this operator computes, "
          "and prices one read\n  of its operands and one write of its "
          "results\n";
}

/// Returns the node and the Python line of an op.
static std::pair<std::string, std::string> getPlace(mlir::Operation *op) {
  std::string node, file;
  unsigned line = 0;
  report::describeLocation(op->getLoc(), node, file, line);
  return {node, file.empty() ? "" : file + ":" + std::to_string(line)};
}

static std::string toText(mlir::TypeRange types) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(types, os);
  return text;
}

llvm::Error tool::writeTrace(llvm::StringRef path,
                             const EstimateSummary &summary) {
  const target::Estimate &estimate = summary.estimate;
  llvm::DenseMap<mlir::Operation *, const target::OpEstimate *> estimates;
  for (const target::OpEstimate &op : estimate.ops)
    estimates[op.op] = &op;
  std::vector<report::TraceEvent> events;
  for (const target::LaneEvent &event : estimate.events) {
    const target::OpEstimate &op = *estimates.lookup(event.op);
    auto [node, source] = getPlace(event.op);
    report::TraceEvent &entry = events.emplace_back();
    entry.category = getKindName(event.op);
    entry.name = node.empty() ? entry.category : node;
    if (event.isCopy)
      entry.name = "reordering copy: " + entry.name;
    entry.lane = static_cast<unsigned>(event.lane);
    entry.startSeconds = event.startSeconds;
    entry.seconds = event.seconds;
    json::Object &arguments = entry.arguments;
    arguments["op"] = entry.category;
    arguments["operands"] = toText(event.op->getOperandTypes());
    arguments["results"] = toText(event.op->getResultTypes());
    arguments["bound"] = event.isCopy ? "memory" : getName(op.price.bound);
    if (op.matmulFlops + op.elementwiseFlops > 0)
      arguments["flops"] = op.matmulFlops + op.elementwiseFlops;
    if (op.memoryBytes > 0)
      arguments["memory_bytes"] = op.memoryBytes;
    if (op.wireBytes > 0)
      arguments["wire_bytes"] = op.wireBytes;
    if (op.isGuess)
      arguments["is_guess"] = true;
    if (!source.empty())
      arguments["source"] = source;
  }
  return report::writeChromeTrace(
      path, "one rank on " + summary.targetName + " (estimate)",
      {"compute", "communication"}, std::move(events));
}
