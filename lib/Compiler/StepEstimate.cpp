//===- StepEstimate.cpp - one predicted step --------------------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/StepEstimate.h"

#include "commute/Analysis/MainFunction.h"
#include "commute/Compiler/RankPrograms.h"
#include "commute/Dialect/NodeName.h"
#include "commute/Report/RemarkCollector.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace commute;
using namespace commute::compiler;
namespace json = llvm::json;

static std::vector<OpKindSummary>
summarizeKinds(llvm::ArrayRef<target::OpEstimate> ops) {
  std::map<std::string, OpKindSummary> kinds;
  std::map<std::string, std::map<target::Bound, double>> secondsByBound;
  for (const target::OpEstimate &op : ops) {
    std::string name = getKindName(op.op);
    OpKindSummary &kind = kinds[name];
    kind.name = name;
    ++kind.count;
    double seconds = op.price.getSeconds();
    kind.seconds += seconds;
    kind.flops += op.matmulFlops + op.elementwiseFlops;
    kind.memoryBytes += op.memoryBytes;
    kind.wireBytes += op.wireBytes;
    kind.isGuess |= op.isGuess;
    secondsByBound[name][op.price.bound] += seconds;
  }
  std::vector<OpKindSummary> sorted;
  for (auto &[name, kind] : kinds) {
    double most = -1;
    for (auto [bound, seconds] : secondsByBound[name])
      if (seconds > most) {
        most = seconds;
        kind.bound = bound;
      }
    sorted.push_back(std::move(kind));
  }
  // Break ties by name.
  llvm::sort(sorted, [](const OpKindSummary &lhs, const OpKindSummary &rhs) {
    return std::tie(rhs.seconds, lhs.name) < std::tie(lhs.seconds, rhs.name);
  });
  return sorted;
}

EstimateSummary compiler::summarize(target::Estimate estimate,
                                    const target::Target &target,
                                    const target::SizeTable &sizes) {
  EstimateSummary summary;
  summary.targetName = target.name;
  summary.targetDescription = target.description;
  summary.deviceBytes = target.memoryBytes.value;
  summary.sizes = sizes;
  summary.kinds = summarizeKinds(estimate.ops);
  if (estimate.peakOp)
    summary.peakPlace = report::describeLocation(estimate.peakOp->getLoc());
  summary.estimate = std::move(estimate);
  return summary;
}

json::Object compiler::toJson(const EstimateSummary &summary) {
  const target::Estimate &estimate = summary.estimate;
  json::Array kinds;
  for (const OpKindSummary &kind : summary.kinds)
    kinds.push_back(json::Object{{"op", kind.name},
                                 {"count", kind.count},
                                 {"seconds", kind.seconds},
                                 {"flops", kind.flops},
                                 {"memory_bytes", kind.memoryBytes},
                                 {"wire_bytes", kind.wireBytes},
                                 {"bound", getName(kind.bound)},
                                 {"is_guess", kind.isGuess}});
  json::Object sizes;
  for (const auto &[symbol, value] : summary.sizes)
    sizes[symbol] = value;
  json::Value replicated = nullptr;
  if (summary.replicated)
    replicated = toJson(*summary.replicated);
  return json::Object{
      {"target", summary.targetName},
      {"is_default_target", summary.isDefaultTarget},
      {"sizes", std::move(sizes)},
      {"step_seconds", estimate.stepSeconds},
      {"compute_seconds", estimate.computeSeconds},
      {"communication_seconds", estimate.communicationSeconds},
      {"exposed_communication_seconds", estimate.exposedSeconds},
      {"matmul_flops", estimate.matmulFlops},
      {"elementwise_flops", estimate.elementwiseFlops},
      {"memory_bytes", estimate.memoryBytes},
      {"wire_bytes", estimate.wireBytes},
      {"peak_activation_bytes", estimate.peakActivationBytes},
      {"peak_activation_place", summary.peakPlace},
      {"weight_bytes", estimate.weightBytes},
      {"input_bytes", estimate.inputBytes},
      {"replicated", std::move(replicated)},
      {"notes", json::Array(summary.notes)},
      {"ops", std::move(kinds)}};
}

llvm::Error compiler::checkSymbol(const LoadedProgram &program,
                                  llvm::StringRef symbol) {
  llvm::Expected<mlir::func::FuncOp> function = getMain(program);
  if (!function)
    return function.takeError();
  std::vector<llvm::StringRef> symbols = target::getSizeSymbols(*function);
  if (llvm::is_contained(symbols, symbol))
    return llvm::Error::success();
  return llvm::createStringError(
      program.origin + " has no symbolic size '" + symbol +
      (symbols.empty() ? "'; all of its sizes are numbers"
                       : "'; it has " + llvm::join(symbols, ", ")));
}

llvm::Expected<StepEstimate> compiler::estimateStep(
    const LoadedProgram &program, const target::Target &target,
    const target::SizeTable &sizes,
    llvm::function_ref<std::string(llvm::StringRef)> spellSize) {
  StepEstimate result;
  mlir::ModuleOp module = program.getModule();
  // All ranks run the same ops.
  if (!program.ranks.empty()) {
    result.moduleOfRank = getModuleOfRank(program, 0);
    module = *result.moduleOfRank;
  }
  llvm::Expected<mlir::func::FuncOp> main = getMain(program);
  if (!main)
    return main.takeError();
  result.function = analysis::getMain(module);
  target::SizeTable stated = target::getStatedSizes(program.getModule());
  for (const auto &[symbol, value] : sizes)
    stated[symbol] = value;
  // Omit values of symbols that the program does not have.
  target::SizeTable values;
  for (llvm::StringRef symbol : target::getSizeSymbols(result.function)) {
    auto found = stated.find(symbol.str());
    if (found == stated.end())
      return llvm::createStringError(
          program.origin + ": the value of size " + symbol +
          " is unknown; give one, for example " + spellSize(symbol));
    values.insert(*found);
  }
  target::PriceModel model(target, values);
  llvm::Expected<target::Estimate> estimate =
      target::estimate(result.function, model);
  if (!estimate)
    return llvm::createStringError(program.origin + ": " +
                                   llvm::toString(estimate.takeError()));
  result.summary = summarize(std::move(*estimate), target, values);
  // The merged program knows what differs between ranks.
  result.summary.replicated = findReplicatedWork(*main, model);
  result.summary.notes = program.distributed.notes;
  return result;
}
