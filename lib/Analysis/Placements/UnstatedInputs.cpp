//===- UnstatedInputs.cpp - inputs of unknown placement -------------------===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Analysis/Placements/UnstatedInputs.h"

#include "commute/Support/Quoted.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::PlacementKind;

SmallVector<BlockArgument>
analysis::findUnstatedInputs(Value value, tp::GroupAttr group,
                             const PlacementAnalysis &placements) {
  constexpr size_t mostValues = 256, mostInputs = 8;
  SmallVector<BlockArgument> inputs;
  llvm::SmallSetVector<Value, 16> reached;
  reached.insert(value);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (next == mostValues)
      return {};
    Value own = reached[next];
    PlacementKind kind = placements.getPlacement(own, group).getKind();
    if (kind == PlacementKind::Replicated)
      continue;
    if (kind != PlacementKind::Varying)
      return {};
    if (auto argument = dyn_cast<BlockArgument>(own)) {
      if (!isa<func::FuncOp>(argument.getOwner()->getParentOp()) ||
          placements.getInputs().isStated(argument.getArgNumber(), group) ||
          inputs.size() == mostInputs)
        return {};
      inputs.push_back(argument);
      continue;
    }
    // The result of an op that differs between ranks whatever its operands are.
    bool isOwn =
        llvm::all_of(own.getDefiningOp()->getOperands(), [&](Value operand) {
          return placements.getPlacement(operand, group).getKind() ==
                 PlacementKind::Replicated;
        });
    if (isOwn)
      return {};
    for (Value operand : own.getDefiningOp()->getOperands())
      reached.insert(operand);
  }
  return inputs;
}

/// Returns true if an op reduces a dim of the operand together with those of
/// other operands, as products do.
static bool isContracted(Operation *op, unsigned operand) {
  auto ruled = dyn_cast<tp::DimensionRuleOpInterface>(op);
  if (!ruled)
    return false;
  tp::DimensionRule rule = ruled.getDimensionRule();
  auto hasFactor = [&](unsigned index, unsigned factor) {
    return llvm::any_of(rule.operands[index], [&](const auto &dim) {
      return llvm::is_contained(dim, factor);
    });
  };
  for (auto [factor, facts] : llvm::enumerate(rule.factors)) {
    if (facts.kind != tp::Factor::Kind::Reduction ||
        !hasFactor(operand, factor))
      continue;
    for (unsigned other = 0; other < rule.operands.size(); ++other)
      if (other != operand && hasFactor(other, factor))
        return true;
  }
  return false;
}

MissingStatement analysis::describeStatement(ArrayRef<BlockArgument> inputs,
                                             tp::GroupAttr group) {
  MissingStatement missing;
  missing.inputs.assign(inputs.begin(), inputs.end());
  SmallVector<std::string> shown, patterns;
  for (BlockArgument input : inputs) {
    std::string name = getPlacedName(input);
    shown.push_back(quoted(name));
    patterns.push_back(llvm::all_of(name,
                                    [](char c) {
                                      return llvm::isAlnum(c) || c == '_' ||
                                             c == '.';
                                    })
                           ? name
                           : llvm::Regex::escape(name));
  }
  missing.text = "nothing states the placement of " + llvm::join(shown, ", ");
  std::string pattern = patterns.size() == 1
                            ? patterns.front()
                            : "(" + llvm::join(patterns, "|") + ")";
  std::string option = pattern + "=replicated@" + group.getKey();
  missing.remedy = (inputs.size() == 1
                        ? "if it is equal on all ranks, state that with "
                        : "if they are equal on all ranks, state that with ") +
                   ("--input-placement='" + option + "'");
  missing.option = RemedyOption{"input-placement", option};
  return missing;
}

std::optional<MissingStatement>
analysis::findMissingStatement(OpOperand &operand, tp::GroupAttr group,
                               const PlacementAnalysis &placements) {
  SmallVector<BlockArgument> inputs =
      findUnstatedInputs(operand.get(), group, placements);
  if (inputs.empty())
    return std::nullopt;
  MissingStatement missing = describeStatement(inputs, group);
  missing.isOfProduct =
      isContracted(operand.getOwner(), operand.getOperandNumber());
  return missing;
}
