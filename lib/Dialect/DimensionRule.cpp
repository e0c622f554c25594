//===- DimensionRule.cpp - how an op treats dimensions ----------*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "commute/Dialect/DimensionRule.h"

#include "commute/Dialect/TPDialect.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace commute::tp;

/// Returns i, j, ..., z, then f18, f19, ..., as index names in papers.
static std::string getFactorName(unsigned index) {
  if (index < 18)
    return std::string(1, static_cast<char>('i' + index));
  return "f" + std::to_string(index);
}

void DimensionRule::print(llvm::raw_ostream &os) const {
  auto printTensor = [&](const TensorFactors &tensor) {
    os << '[';
    llvm::interleaveComma(tensor, os, [&](const DimFactors &dim) {
      if (dim.empty())
        os << '1';
      llvm::interleave(
          dim, os, [&](unsigned factor) { os << getFactorName(factor); }, ".");
    });
    os << ']';
  };
  os << '(';
  llvm::interleaveComma(operands, os, printTensor);
  os << ") -> (";
  llvm::interleaveComma(results, os, printTensor);
  os << ") {";
  llvm::interleaveComma(llvm::enumerate(factors), os, [&](auto item) {
    os << getFactorName(item.index()) << '=';
    if (ShapedType::isDynamic(item.value().size))
      os << '?';
    else
      os << item.value().size;
  });
  os << '}';
  auto printKind = [&](Factor::Kind kind, StringRef name) {
    auto ofKind =
        llvm::make_filter_range(llvm::enumerate(factors), [kind](auto item) {
          return item.value().kind == kind;
        });
    if (ofKind.empty())
      return;
    os << ' ' << name << "={";
    llvm::interleaveComma(ofKind, os, [&](auto item) {
      os << getFactorName(item.index());
      if (item.value().reduction)
        os << ": " << stringifyReductionKind(*item.value().reduction);
    });
    os << '}';
  };
  printKind(Factor::Kind::Reduction, "reduction");
  printKind(Factor::Kind::Whole, "whole");
  auto fixed = llvm::make_filter_range(
      llvm::enumerate(factors), [](auto item) { return item.value().isFixed; });
  if (fixed.empty())
    return;
  os << " fixed={";
  llvm::interleaveComma(fixed, os,
                        [&](auto item) { os << getFactorName(item.index()); });
  os << '}';
}

std::optional<unsigned>
DimensionRule::getMajorFactor(const TensorFactors &tensor, unsigned dim) {
  if (dim >= tensor.size() || tensor[dim].empty())
    return std::nullopt;
  return tensor[dim].front();
}

DimensionRuleBuilder::DimensionRuleBuilder(Operation *op) : op(op) {
  auto getEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return DimensionRule::TensorFactors(tensor ? tensor.getRank() : 0);
  };
  for (Type type : op->getOperandTypes())
    rule.operands.push_back(getEmpty(type));
  for (Type type : op->getResultTypes())
    rule.results.push_back(getEmpty(type));
}

unsigned
DimensionRuleBuilder::addFactor(Factor::Kind kind, int64_t size,
                                std::optional<ReductionKind> reduction) {
  assert((kind == Factor::Kind::Reduction) == reduction.has_value() &&
         "exactly the reduction factors have a reduction kind");
  rule.factors.push_back({kind, size, reduction});
  return rule.factors.size() - 1;
}

void DimensionRuleBuilder::mapOperand(unsigned operand, unsigned dim,
                                      unsigned factor) {
  assert(factor < rule.factors.size() && "the factor must be added first");
  assert(dim < rule.operands[operand].size() && "the operand has no such dim");
  rule.operands[operand][dim].push_back(factor);
}

void DimensionRuleBuilder::mapResult(unsigned result, unsigned dim,
                                     unsigned factor) {
  assert(factor < rule.factors.size() && "the factor must be added first");
  assert(dim < rule.results[result].size() && "the result has no such dim");
  rule.results[result][dim].push_back(factor);
}

void DimensionRuleBuilder::addPointwise(
    std::optional<ArrayRef<unsigned>> operands) {
  auto resultType = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<unsigned> all =
      llvm::to_vector(llvm::seq<unsigned>(0, op->getNumOperands()));
  for (unsigned dim = 0; dim < resultType.getRank(); ++dim) {
    int64_t size = resultType.getDimSize(dim);
    unsigned factor = addParallel(size);
    mapResult(0, dim, factor);
    for (unsigned operand : operands.value_or(all)) {
      auto type = dyn_cast<RankedTensorType>(op->getOperand(operand).getType());
      if (!type)
        continue;
      int64_t operandDim = int64_t(dim) - resultType.getRank() + type.getRank();
      if (operandDim < 0 || (type.getDimSize(operandDim) == 1 && size != 1))
        continue;
      mapOperand(operand, operandDim, factor);
    }
  }
}

int64_t commute::tp::getUnitSize(ArrayRef<int64_t> values) {
  int64_t unit = 0;
  for (int64_t value : values) {
    if (ShapedType::isDynamic(value))
      return ShapedType::kDynamic;
    unit = std::gcd(unit, value);
  }
  return unit;
}

void DimensionRuleBuilder::mapUnits(DimensionRule::DimFactors &dim,
                                    int64_t size, unsigned unit) {
  int64_t unitSize = rule.factors[unit].size;
  if (ShapedType::isDynamic(unitSize) || ShapedType::isDynamic(size) ||
      unitSize == 0) {
    dim.push_back(addWhole(size));
    return;
  }
  if (size != unitSize)
    dim.push_back(addFixed(size / unitSize));
  dim.push_back(unit);
}

void DimensionRuleBuilder::mapOperandUnits(unsigned operand, unsigned dim,
                                           unsigned unit) {
  auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
  mapUnits(rule.operands[operand][dim], type.getDimSize(dim), unit);
}

void DimensionRuleBuilder::mapResultUnits(unsigned result, unsigned dim,
                                          unsigned unit) {
  auto type = cast<RankedTensorType>(op->getResult(result).getType());
  mapUnits(rule.results[result][dim], type.getDimSize(dim), unit);
}
