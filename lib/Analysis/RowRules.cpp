//===- RowRules.cpp - what ops do with rows of their operands ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "RowRules.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

std::string analysis::describe(const RowRefusal &refusal) {
  switch (refusal.reason) {
  case RowRefusal::Opaque:
    return "is opaque, so its input must be gathered first";
  case RowRefusal::Output:
    return "returns it, and outputs of the graph are not sharded";
  case RowRefusal::Collective:
    return "is a collective that exchanges rows between ranks";
  case RowRefusal::OfRank:
    return "differs between ranks, so its input must be gathered first";
  case RowRefusal::WholeRows:
    return "uses every row, so its input must be gathered first";
  case RowRefusal::MinorDim:
    return "merges the dim with an outer one, so a block of its rows would "
           "not be contiguous";
  case RowRefusal::TwoDims:
    return "would need two dims of one tensor to be sharded";
  case RowRefusal::Varying:
    return "uses operand " + std::to_string(refusal.operand) +
           ", which is not known to be replicated; if it is, declare that with "
           "--input-placement";
  case RowRefusal::Indivisible:
    if (ShapedType::isDynamic(refusal.rows))
      return "has a number of rows that is not known to be divisible by " +
             std::to_string(refusal.ranks) + " ranks";
    return "has " + std::to_string(refusal.rows) +
           " rows, which are not divisible by " +
           std::to_string(refusal.ranks) + " ranks";
  case RowRefusal::Unpaddable:
    return "merges the dim with others, so its rows cannot be padded";
  }
  llvm_unreachable("all reasons are listed");
}

std::optional<unsigned>
analysis::findRowFactor(const DimensionRule &rule,
                        const DimensionRule::TensorFactors &tensor,
                        unsigned dim, RowRefusal &refusal) {
  std::optional<unsigned> factor = DimensionRule::getMajorFactor(tensor, dim);
  refusal.reason = RowRefusal::WholeRows;
  if (!factor || rule.factors[*factor].kind != tp::Factor::Kind::Parallel ||
      rule.factors[*factor].isFixed)
    return std::nullopt;
  auto check = [&](const DimensionRule::TensorFactors &other, bool isResult) {
    unsigned count = 0;
    for (const DimensionRule::DimFactors &factors : other) {
      auto *found = llvm::find(factors, *factor);
      if (found == factors.end())
        continue;
      if (found != factors.begin()) {
        refusal.reason = RowRefusal::MinorDim;
        return false;
      }
      ++count;
    }
    if (count > 1)
      refusal.reason = RowRefusal::TwoDims;
    return count == 1 || (count == 0 && !isResult);
  };
  for (const DimensionRule::TensorFactors &other : rule.operands)
    if (!check(other, /*isResult=*/false))
      return std::nullopt;
  for (const DimensionRule::TensorFactors &other : rule.results)
    if (!check(other, /*isResult=*/true))
      return std::nullopt;
  return factor;
}

std::optional<unsigned>
analysis::findRowDim(const DimensionRule::TensorFactors &tensor,
                     unsigned factor) {
  for (unsigned dim = 0; dim < tensor.size(); ++dim)
    if (DimensionRule::getMajorFactor(tensor, dim) == factor)
      return dim;
  return std::nullopt;
}

bool analysis::hasRowsEverywhere(Operation *op, const DimensionRule &rule,
                                 Value value, unsigned dim, unsigned factor) {
  for (auto [operand, tensor] :
       llvm::zip_equal(op->getOperands(), rule.operands))
    if (operand == value &&
        DimensionRule::getMajorFactor(tensor, dim) != factor)
      return false;
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), rule.results))
    if (result == value && DimensionRule::getMajorFactor(tensor, dim) != factor)
      return false;
  return true;
}
