//===- RankDataflow.cpp - steps of all ranks ----------------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RankDataflow.h"

using namespace mlir;
using namespace commute;
using namespace commute::refinement;

RankDataflow::RankDataflow(const std::vector<JoinedRank> &ranks,
                           const RankValues &values) {
  auto addStep = [&](size_t rank, Value value, size_t position) {
    const RankValues::Node *node = values.find(rank, value);
    if (node)
      stepOf[{rank, value}] =
          &steps.emplace_back(Step{rank, value, node, {}, {}, position});
  };
  for (auto [index, rank] : llvm::enumerate(ranks)) {
    auto function = const_cast<func::FuncOp &>(rank.function);
    for (BlockArgument argument : function.getArguments())
      addStep(index, argument, 0);
    size_t position = 0;
    for (Operation &op : function.getBody().front().without_terminator()) {
      ++position;
      for (Value result : op.getResults())
        addStep(index, result, position);
    }
  }
  // Ranks use values of others, so that all steps are known first.
  for (Step &step : steps) {
    auto addOperand = [&](size_t rank, Value operand) {
      Step *own = find(rank, operand);
      if (!own)
        return;
      step.operands.push_back(own);
      own->users.push_back(&step);
    };
    JoinedRank::Sources sources = ranks[step.rank].sources.lookup(step.value);
    step.isReceived = sources && isa<tp::CallOp>(step.getOp());
    if (sources)
      for (auto [rank, operand] : *sources)
        addOperand(rank, operand);
    else if (Operation *op = step.getOp())
      for (Value operand : op->getOperands())
        addOperand(step.rank, operand);
  }
}
