//===- OperatorRanks.cpp - tensor ranks that operators accept ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "OperatorRanks.h"

#include "llvm/ADT/Twine.h"

using namespace commute;
using namespace commute::vocabulary;
using archive::Argument;
using llvm::StringLiteral;
using llvm::StringRef;

namespace {
struct RankRule {
  StringLiteral target;
  /// If the argument is a list, the rule holds for every tensor in it.
  StringLiteral argument;
  size_t min;
  size_t max;
};
} // namespace

static constexpr RankRule rules[] = {
    {"aten.mm.default", "self", 2, 2},
    {"aten.mm.default", "mat2", 2, 2},
    {"aten.bmm.default", "self", 3, 3},
    {"aten.bmm.default", "mat2", 3, 3},
    {"aten.addmm.default", "self", 0, 2},
    {"aten.addmm.default", "mat1", 2, 2},
    {"aten.addmm.default", "mat2", 2, 2},
    {"aten.baddbmm.default", "self", 0, 3},
    {"aten.baddbmm.default", "batch1", 3, 3},
    {"aten.baddbmm.default", "batch2", 3, 3},
    {"aten.linear.default", "weight", 1, 2},
    {"aten.linear.default", "bias", 0, 1},
    {"aten._scaled_mm.default", "self", 2, 2},
    {"aten._scaled_mm.default", "mat2", 2, 2},
    {"aten._scaled_mm.default", "scale_a", 0, 2},
    {"aten._scaled_mm.default", "scale_b", 0, 2},
    {"aten._scaled_mm.default", "bias", 1, 1},
    {"aten._scaled_mm_v2.default", "self", 2, 2},
    {"aten._scaled_mm_v2.default", "mat2", 2, 2},
    {"aten._scaled_mm_v2.default", "bias", 1, 1},
    {"aten.t.default", "self", 0, 2},
    {"aten.embedding.default", "weight", 2, 2},
    {"aten.index_select.default", "index", 0, 1},
    {"symm_mem.fused_all_gather_matmul.default", "A", 2, SIZE_MAX},
    {"symm_mem.fused_all_gather_matmul.default", "Bs", 2, 2},
    {"symm_mem.fused_all_gather_scaled_matmul.default", "A", 2, SIZE_MAX},
    {"symm_mem.fused_all_gather_scaled_matmul.default", "Bs", 2, 2},
    {"symm_mem.fused_matmul_reduce_scatter.default", "A", 2, SIZE_MAX},
    {"symm_mem.fused_matmul_reduce_scatter.default", "B", 2, 2},
    {"symm_mem.fused_scaled_matmul_reduce_scatter.default", "A", 2, SIZE_MAX},
    {"symm_mem.fused_scaled_matmul_reduce_scatter.default", "B", 2, 2},
};

std::string vocabulary::findRankProblem(
    const archive::Node &node,
    llvm::function_ref<std::optional<size_t>(StringRef)> getRank) {
  StringRef target = node.target;
  if (!target.consume_front("torch.ops."))
    return {};
  std::string problem;
  for (const RankRule &rule : rules) {
    const Argument *argument =
        rule.target == target ? node.find(rule.argument) : nullptr;
    if (!argument)
      continue;
    argument->forEachValue([&](const Argument &value) {
      std::optional<size_t> rank = getRank(value.text);
      if (!problem.empty() || !rank || (*rank >= rule.min && *rank <= rule.max))
        return;
      std::string taken = std::to_string(rule.min);
      if (rule.max == SIZE_MAX)
        taken = "at least " + taken;
      else if (rule.max != rule.min)
        taken += " to " + std::to_string(rule.max);
      problem = ("argument " + rule.argument + " has " + llvm::Twine(*rank) +
                 " dims, but the operator takes " + taken)
                    .str();
    });
  }
  return problem;
}
