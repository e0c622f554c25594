//===- RowRules.cpp - what ops do with rows of their operands ---*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "Placements/RowRules.h"

using namespace mlir;
using namespace commute;
using namespace commute::analysis;
using tp::DimensionRule;

static llvm::StringRef describe(RefusalCode code) {
  switch (code) {
  case RefusalCode::Output:
    return "returns it, and outputs of the graph are not sharded";
  case RefusalCode::Collective:
    return "is a collective that exchanges rows between ranks";
  case RefusalCode::OfRank:
    return "differs between ranks, so its input must be gathered first";
  case RefusalCode::WholeRows:
    return "uses every row, so its input must be gathered first";
  case RefusalCode::MinorDim:
    return "merges the dim with an outer one, so a block of its rows would "
           "not be contiguous";
  case RefusalCode::TwoDims:
    return "would need two dims of one tensor to be sharded";
  case RefusalCode::Unpaddable:
    return "merges the dim with others, so its rows cannot be padded";
  default:
    return "is opaque, so its input must be gathered first";
  }
}

Refusal analysis::refuseRows(Operation *op, RefusalCode code) {
  return {op, code, describe(code).str()};
}

/// Whether every backend can combine the reductions of shards of rows.
static bool canAllReduce(Operation *op, tp::ReductionKind kind) {
  bool areFloats = llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa<FloatType>(tensor.getElementType()) &&
           tp::isStaticDense(tensor);
  });
  return areFloats &&
         (kind == tp::ReductionKind::Sum || kind == tp::ReductionKind::Max ||
          kind == tp::ReductionKind::Min);
}

Legal<unsigned>
analysis::findRowFactor(Operation *op, const DimensionRule &rule,
                        const DimensionRule::TensorFactors &tensor,
                        unsigned dim) {
  std::optional<unsigned> factor = DimensionRule::getMajorFactor(tensor, dim);
  if (!factor || rule.factors[*factor].kind != tp::Factor::Kind::Parallel ||
      rule.factors[*factor].isFixed)
    return refuseRows(op, RefusalCode::WholeRows);
  auto check = [&](const DimensionRule::TensorFactors &other,
                   bool isResult) -> Legal<> {
    unsigned count = 0;
    for (const DimensionRule::DimFactors &factors : other) {
      auto *found = llvm::find(factors, *factor);
      if (found == factors.end())
        continue;
      if (found != factors.begin())
        return refuseRows(op, RefusalCode::MinorDim);
      ++count;
    }
    if (count > 1)
      return refuseRows(op, RefusalCode::TwoDims);
    if (count == 0 && isResult)
      return refuseRows(op, RefusalCode::WholeRows);
    return {};
  };
  for (const DimensionRule::TensorFactors &other : rule.operands)
    if (Legal<> legal = check(other, /*isResult=*/false); !legal)
      return std::move(legal.getRefusal());
  for (const DimensionRule::TensorFactors &other : rule.results)
    if (Legal<> legal = check(other, /*isResult=*/true); !legal)
      return std::move(legal.getRefusal());
  return *factor;
}

std::optional<unsigned>
analysis::findReducedFactor(Operation *op, const DimensionRule &rule,
                            const DimensionRule::TensorFactors &tensor,
                            unsigned dim) {
  std::optional<unsigned> factor = DimensionRule::getMajorFactor(tensor, dim);
  if (!factor || rule.factors[*factor].kind != tp::Factor::Kind::Reduction ||
      rule.factors[*factor].isFixed || isa<tp::GroupOpInterface>(op) ||
      !canAllReduce(op, *rule.factors[*factor].reduction))
    return std::nullopt;
  SmallVector<bool> summands;
  for (const DimensionRule::TensorFactors &other : rule.operands) {
    unsigned count = 0;
    for (const DimensionRule::DimFactors &factors : other)
      if (auto *found = llvm::find(factors, *factor); found != factors.end()) {
        if (found != factors.begin())
          return std::nullopt;
        ++count;
      }
    if (count > 1)
      return std::nullopt;
    summands.push_back(count == 0);
  }
  // An operand without rows, such as a bias, would be added on every rank.
  auto ruled = cast<tp::DimensionRuleOpInterface>(op);
  if (llvm::is_contained(summands, true) && ruled.addsOperands(summands))
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
