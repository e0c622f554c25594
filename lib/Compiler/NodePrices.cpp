//===- NodePrices.cpp - prices of the nodes of a graph ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Compiler/NodePrices.h"

#include "commute/Dialect/TPDialect.h"
#include "commute/Report/RemarkCollector.h"

#include <set>

using namespace mlir;
using namespace commute;
using namespace commute::compiler;

/// Returns the time of an op, or nullopt if a size is unknown.
static std::optional<double> getSeconds(Operation *op,
                                        const target::PriceModel &model,
                                        double communicationScale) {
  auto collective = dyn_cast<tp::CollectiveOpInterface>(op);
  if (!collective || communicationScale == 1)
    return model.getSeconds(op);
  std::optional<tp::Communication> communication = collective.getCommunication(
      [&](StringRef name) { return model.getSize(name); });
  if (!communication)
    return std::nullopt;
  // A fused op is not a transfer alone.
  if (communication->chunkWork)
    return model.getSeconds(op);
  communication->bytes = static_cast<int64_t>(
      static_cast<double>(communication->bytes) * communicationScale);
  return model
      .getCommunicationPrice(*communication, collective.getCollectiveGroup())
      .getSeconds();
}

llvm::Expected<std::map<std::string, double>>
compiler::priceNodes(const LoadedProgram &program, const target::Target &target,
                     double communicationScale) {
  llvm::Expected<func::FuncOp> function = getMain(program);
  if (!function)
    return function.takeError();
  target::PriceModel model(target, target::getStatedSizes(program.getModule()));
  std::map<std::string, double> prices;
  std::set<std::string> unknown;
  for (Operation &op : function->getFunctionBody().front()) {
    std::string node, file;
    unsigned line = 0;
    report::describeLocation(op.getLoc(), node, file, line);
    if (node.empty() || op.hasTrait<OpTrait::IsTerminator>())
      continue;
    std::optional<double> seconds =
        isa<tp::EvaluationOpInterface>(op)
            ? getSeconds(&op, model, communicationScale)
            : std::nullopt;
    if (!seconds)
      unknown.insert(node);
    else if (*seconds > 0)
      prices[node] += *seconds;
  }
  for (const std::string &node : unknown)
    prices.erase(node);
  return prices;
}
