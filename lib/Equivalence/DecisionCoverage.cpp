//===- DecisionCoverage.cpp - outcomes that drawn integers had --*- C++ -*-===//
//
// Part of Commute. Licensed under the Apache License v2.0, see LICENSE.
//
//===----------------------------------------------------------------------===//

#include "DecisionCoverage.h"

#include "Decisions.h"
#include "FieldFunctions.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace commute;
using namespace commute::equivalence;
using tp::MapFunction;

/// Visits the pairs of elements of two operands. Returns false if they are
/// broadcast along different dims: these are tables of positions, which decide
/// nothing about one number.
template <typename Visitor>
static bool forEachPair(const FieldTensor &a, const FieldTensor &b,
                        Visitor visit) {
  size_t countA = a.elements.size(), countB = b.elements.size();
  if (countA != 1 && countB != 1 && a.getCounts() != b.getCounts())
    return false;
  // One element beside none are no pair.
  for (size_t index = 0; index < (countA == 1 ? countB : countA); ++index)
    visit(a.elements[countA == 1 ? 0 : index],
          b.elements[countB == 1 ? 0 : index]);
  return true;
}

void DecisionCoverage::noteComparison(Outcomes &outcomes, const FieldTensor &a,
                                      const FieldTensor &b) {
  if (!forEachPair(a, b, [&](uint64_t x, uint64_t y) {
        uint64_t difference = x - y;
        outcomes.isEqual |= difference == 0;
        outcomes.isAbove |= difference == 1;
        outcomes.isBelow |= difference == ~uint64_t(0);
        outcomes.isFar |= difference != 0;
      }))
    outcomes.isBelow = outcomes.isEqual = outcomes.isAbove = outcomes.isFar =
        true;
}

void DecisionCoverage::noteNumbers(Outcomes &outcomes, const FieldTensor &a,
                                   const FieldTensor &b,
                                   const ScalarContext &scalars) {
  if (outcomes.isUnknown)
    return;
  auto noteDifference = [&](double difference) {
    auto above = outcomes.differences.lower_bound(difference);
    if (above != outcomes.differences.end()) {
      if (*above == difference)
        return;
      outcomes.step = std::min(outcomes.step, *above - difference);
    }
    if (above != outcomes.differences.begin())
      outcomes.step = std::min(outcomes.step, difference - *std::prev(above));
    if (outcomes.differences.size() < maxDifferences)
      outcomes.differences.insert(above, difference);
  };
  bool areAlongSameDims = forEachPair(a, b, [&](uint64_t x, uint64_t y) {
    if (outcomes.isUnknown)
      return;
    std::optional<double> first = scalars.getKnownNumber(x);
    std::optional<double> second = scalars.getKnownNumber(y);
    if (first && second && std::isfinite(*first) && std::isfinite(*second))
      noteDifference(*first - *second);
    else
      outcomes.isUnknown = true;
  });
  outcomes.isUnknown |= !areAlongSameDims;
}

void DecisionCoverage::noteArithmetic(Outcomes &outcomes, MapFunction function,
                                      const FieldTensor &a,
                                      const FieldTensor &b,
                                      const FieldTensor &result) {
  size_t index = 0;
  if (outcomes.isWrapped)
    return;
  bool areAlongSameDims = forEachPair(a, b, [&](uint64_t x, uint64_t y) {
    uint64_t exact = function == MapFunction::Add   ? x + y
                     : function == MapFunction::Sub ? x - y
                                                    : x * y;
    if (index < result.elements.size())
      outcomes.isWrapped |= result.elements[index] != exact;
    ++index;
  });
  outcomes.isWrapped |= !areAlongSameDims;
}

void DecisionCoverage::noteTruth(Outcomes &outcomes, unsigned index,
                                 const FieldTensor &values) {
  for (uint64_t element : values.elements) {
    // Unknown truth values stand for both.
    outcomes.isTrue[index] |= element != 0;
    outcomes.isFalse[index] |= element != 1;
  }
}

void DecisionCoverage::noteExtreme(tp::ReduceOp op,
                                   ArrayRef<FieldValue> operands,
                                   const ScalarContext &scalars) {
  Outcomes &outcomes = noted[op];
  llvm::SmallPtrSet<const FieldTensor *, 4> seen;
  bool isMaximum = op.getKind() == tp::ReductionKind::Max;
  for (const FieldValue &operand : operands)
    if (!outcomes.elements.isGivenUp() && seen.insert(operand.get()).second)
      forEachReduced(*operand, op.getDims(), cells(op.getInput()),
                     [&](const ReducedElements &elements) {
                       outcomes.elements.noteExtreme(elements,
                                                     operand->getElementType(),
                                                     isMaximum, scalars);
                     });
}

/// Returns the sum that computes a count, which may be cast or reshaped
/// afterwards; null if none does.
static tp::ReduceOp findCount(Value value) {
  Operation *op = value.getDefiningOp();
  while (isa_and_nonnull<tp::CastOp, tp::ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto reduce = dyn_cast_or_null<tp::ReduceOp>(op);
  return reduce && reduce.getKind() == tp::ReductionKind::Sum ? reduce
                                                              : tp::ReduceOp();
}

void DecisionCoverage::noteCounts(Outcomes &outcomes, tp::MapOp op,
                                  unsigned operand, size_t rank,
                                  const FieldTensor &count,
                                  const FieldTensor &limit) {
  tp::ReduceOp reduce = findCount(op.getOperand(operand));
  auto known = reduce ? counted.find(reduce) : counted.end();
  if (known == counted.end() || outcomes.elements.isGivenUp())
    return;
  auto comparison = tp::getComparison(op.getFunction());
  if (operand == 1)
    comparison = tp::getComparison(comparison->mirrored);
  size_t numLimits = limit.elements.size(), index = 0;
  forEachReduced(*known->second[rank], reduce.getDims(),
                 cells(reduce.getInput()),
                 [&](const ReducedElements &elements) {
                   size_t own = index++, other = numLimits == 1 ? 0 : own;
                   if (own >= count.elements.size() || other >= numLimits)
                     return;
                   auto distance = static_cast<int64_t>(count.elements[own] -
                                                        limit.elements[other]);
                   outcomes.elements.noteCount(elements, distance, *comparison);
                 });
}

void DecisionCoverage::note(Operation *op, ArrayRef<RankValues> operands,
                            ArrayRef<RankValues> results,
                            const ScalarContext &scalars) {
  if (auto reduce = dyn_cast<tp::ReduceOp>(op)) {
    Type type = getElementTypeOrSelf(reduce.getInput());
    if (reduce.getKind() == tp::ReductionKind::Max ||
        reduce.getKind() == tp::ReductionKind::Min)
      noteExtreme(reduce, operands.front(), scalars);
    else if (!isFieldType(type))
      counted[op] = operands.front();
    return;
  }
  auto map = dyn_cast<tp::MapOp>(op);
  Decision decision = map ? getDecision(map) : Decision::None;
  if (decision == Decision::None)
    return;
  Outcomes &outcomes = noted[op];
  llvm::SmallPtrSet<const FieldTensor *, 4> seen;
  for (size_t rank = 0; rank < results.front().size(); ++rank) {
    if (!seen.insert(results.front()[rank].get()).second)
      continue;
    const FieldTensor &a = *operands[0][rank], &b = *operands[1][rank];
    const FieldTensor &result = *results.front()[rank];
    switch (decision) {
    case Decision::None:
      break;
    case Decision::Comparison:
      noteComparison(outcomes, a, b);
      noteCounts(outcomes, map, 0, rank, a, b);
      noteCounts(outcomes, map, 1, rank, b, a);
      break;
    case Decision::ComparisonOfFloats:
      noteNumbers(outcomes, a, b, scalars);
      break;
    case Decision::Conjunction:
    case Decision::Disjunction:
      noteTruth(outcomes, 0, a);
      noteTruth(outcomes, 1, b);
      noteTruth(outcomes, 2, result);
      break;
    case Decision::Arithmetic:
      noteArithmetic(outcomes, map.getFunction(), a, b, result);
      break;
    }
  }
}
